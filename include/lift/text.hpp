// The text language: parsing of .lift files.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "lift/syntax.hpp"

namespace lift {

// What an import of `path`, written at `span`, stands for.
using Importer = std::function<std::shared_ptr<const Module>(const std::string& path, Span span)>;

// Parses a file of definitions; reports as many errors as it can find (recovering at the next definition).
Module parseModule(const SourceFile& file, const Importer& importer = {});

// The definitions of prelude.lift (map2D, slide2D, pad2D, …), compiled into the library; parsed once.
const Module& prelude();

// Parse and infer. `entry` as in infer(). Imports are relative to the file that they stand in. readProgram throws
// UserError when the file cannot be read; "-" reads stdin.
Program parseProgram(const SourceFile& file, const std::string& entry = {});
Program readProgram(const std::filesystem::path& path, const std::string& entry = {});

}  // namespace lift
