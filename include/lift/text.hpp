// The text language: parsing of .lift files.
#pragma once

#include <filesystem>
#include <string>

#include "lift/syntax.hpp"

namespace lift {

// Parses a file of definitions; reports as many errors as it can find (recovering at the next definition).
Module parseModule(const SourceFile& file);

// The definitions of prelude.lift (map2D, slide2D, pad2D, …), compiled into the library; parsed once.
const Module& prelude();

// Parse and infer. `entry` as in infer(). readProgram throws UserError when the file cannot be read; "-" reads stdin.
Program parseProgram(const SourceFile& file, const std::string& entry = {});
Program readProgram(const std::filesystem::path& path, const std::string& entry = {});

}  // namespace lift
