// What libraries of C that run a plan have in common, whoever launches its kernels: names, sizes, temporaries, loops of
// launches. Sizes are int64_t inside, so that expressions over them read as they do in the language; what could exceed
// 64 bits saturates and is then refused as too large.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lift/kernel.hpp"
#include "lift/plan_memory.hpp"

namespace lift::detail {

// Replaces every $KEY.
std::string filled(std::string text, const std::vector<std::pair<std::string, std::string>>& values);
std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");
std::string inComment(std::string text);  // text for a C comment

// Names of parameters: no keywords of C and C++, nor what the generated source has in scope.
class ParameterNames {
 public:
  std::string take(std::string_view wish);
  void reserve(const std::string& name) { taken_.insert(name); }

 private:
  std::set<std::string> taken_;
};

// A Nat as C. `most` bounds the absolute value for all sizes that fit an int; what exceeds 2^60 is computed by the
// helpers `product` and `plus`, which saturate there.
class SizeWriter {
 public:
  explicit SizeWriter(const std::map<NatVar, std::string>& names) : names_(names) {}

  bool usesDivision = false, usesRemainder = false, usesLeast = false, usesGreatest = false, usesProduct = false,
       usesPlus = false;

  std::string operator()(Nat n) { return write(n).text; }

 private:
  static constexpr double limit = 1152921504606846976.0;  // 2^60
  enum class Form : std::uint8_t { sum, product, atom };
  struct Text {
    std::string text;
    double most;
    Form form = Form::atom;
    // As an operand of something that binds as `in` does.
    std::string within(Form in) const { return form < in ? "(" + text + ")" : text; }
  };

  Text call(const char* name, bool& used, Nat n, bool bySecond = false);
  Text write(Nat n);
  Text sum(const Text& a, Nat addend);

  const std::map<NatVar, std::string>& names_;
};

class PlanCode {
 protected:
  // `taken`: names that the source has in scope besides. Throws UserError (usage) for a prefix that names in C cannot
  // begin with.
  PlanCode(const kernel::Plan& plan, const std::string& prefix, const std::vector<std::string>& taken = {});
  virtual ~PlanCode() = default;

  using Buffers = std::vector<std::size_t>;  // of the plan
  Buffers buffersOfRun() const;              // inputs, then outputs
  Buffers buffersOfPreparation() const;

  // One launch of a call, at that indentation.
  virtual std::string launchText(const kernel::Launch& l, const std::string& indent) const = 0;
  virtual std::string successful() const = 0;  // the condition under which a call goes on
  // Leaves the loop where the bool in the buffer is false.
  virtual std::string conditionText(std::size_t buffer, const std::string& indent) const = 0;

  // "int n, int m, " or its like; `after` is what follows each.
  std::string sizes(std::string_view type, std::string_view after) const;
  std::string onlySizes(std::string_view type) const;
  std::string ignored(const std::vector<Nat>& used) const;  // of the sizes, those that are not
  // Parameters that do not fit a line continue below the first.
  static std::string wrapped(const std::string& signature);
  std::string bytesSignature(std::size_t b) const;

  // For comments in headers. `spelled` says how the elements of buffers are.
  std::string aboutBuffers(const std::function<std::string(Scalar)>& spelled) const;
  std::string aboutSizes(std::string_view failure) const;

  // Parts of the source. What uses helpers must be asked for first, so that only those in use are printed.
  std::string helpers(bool bounds) const;  // with the bound of sizes, even where no helper uses it
  // Members of the plan for what is kept between calls; `memory` is the type of an intermediate result's.
  std::string keptMembers(std::string_view memory) const;
  // Functions that make temporaries large enough, of this text, and exchange two, where there are any; `memory` is the
  // type of a constant that holds one.
  std::string temporaries(const std::string& reserve, const std::string& memory) const;
  std::string sizesFit();
  std::string counts();  // a function per loop of launches
  std::string bytes();   // a function per buffer that is checked or allocated
  std::string bytesFunctions() const;
  std::string loopedLaunches() const;  // the launches of a call, in their loops
  std::string prepared() const;        // assignments that note the sizes of preparation
  std::string stale() const;           // whether preparation is to run again

  const kernel::Plan& plan_;
  std::string name_;
  std::map<NatVar, std::string> sizeNames_;
  std::vector<std::string> bufferNames_;
  mutable SizeWriter size_;  // notes what it uses
  kernel::Slots slots_;      // of temporaries
  std::vector<std::size_t> inputs_, outputs_;
  std::set<std::size_t> prepared_;  // inputs of the preparation
  bool usesArrays_ = false;
};

}  // namespace lift::detail
