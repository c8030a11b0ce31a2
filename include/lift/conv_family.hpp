// Families of implementations: strategies that derive low-level programs from a layer's Listing 3.
//
//   const ConvVariant v = deriveConv(spec, "blocked");
//   const kernel::Plan plan = compileConv(v, v.defaults);
//
// A variant is one program with tunables; a configuration gives them values. All variants of a layer compute the same
// function of weights, biases and input in the layouts asked for, and are compiled with weights and biases as
// constants: what depends on them alone is prepared once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lift/codegen.hpp"
#include "lift/conv.hpp"
#include "lift/rewrite.hpp"

namespace lift {

struct ConvFamily {
  std::string_view name;
  std::string_view meaning;  // one line
};
const std::vector<ConvFamily>& convFamilies();

using ConvConfig = std::map<std::string, std::int64_t>;  // values of tunables by name

struct ConvVariant {
  ConvSpec spec;
  ConvLayouts layouts;  // of configured programs; `source` and `program` have the natural ones
  std::string family;
  Program source;                  // Listing 3, with the tunables and conditions of `program`
  Program program;                 // derived from it; symbolic in its tunables
  rewrite::Derivation derivation;  // from `source` to `program`
  ConvConfig defaults;             // valid for the layer, good on a processor with 512-bit vectors
};

// `family` is a name of convFamilies(); throws UserError (usage) otherwise.
ConvVariant deriveConv(const ConvSpec& spec, std::string_view family, const ConvLayouts& layouts = {});

// The variant's program at a configuration: values that the configuration leaves out are the default's. Throws
// UserError (usage) for a name that is no tunable of the variant, UserError (program) naming the condition that the
// values break.
Program configured(const ConvVariant& variant, const ConvConfig& config);

// The parameters of a layer that stay from call to call.
std::vector<std::string> convConstants();

// `options.constants` are the layer's.
kernel::Plan compileConv(const ConvVariant& variant, const ConvConfig& config, CompileOptions options = {},
                         CompileReport* report = nullptr);

}  // namespace lift
