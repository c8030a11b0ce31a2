// Private to opset: descriptors that are keys and numbers, "m1024k512".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lift/diagnostic.hpp"

namespace lift::opset {

struct Key {
  std::string_view key, meaning;
  std::int64_t least = 1;
  std::optional<std::int64_t> otherwise = {};  // where it is left out; empty: it must be given
};

// Keys' texts must outlive it.
class Fields {
 public:
  // Reads keys, each with a number, and perhaps a name: n"…". Blanks and `_` between them are ignored. Errors are
  // collected; what is missing is one unless it has a value of its own.
  Fields(std::string_view op, std::string_view text, const std::vector<Key>& keys);

  bool isWritten(std::string_view key) const { return given_.count(key) > 0 && given_.at(key).span; }
  std::int64_t at(std::string_view key) const { return given_.at(key).value; }
  const std::string& name() const { return name_; }

  // An error at a key, or at the whole text where that is not given.
  void error(std::string_view key, std::string message, std::string hint = {});
  void missing(const std::string& what);
  void check();  // throws what was found

 private:
  struct Given {
    std::int64_t value = 0;
    Span span;
  };
  Span span(std::size_t begin, std::size_t end) const;
  std::size_t readName(std::size_t at);
  std::size_t readKey(std::size_t at, std::string_view op, const std::vector<Key>& keys);

  const SourceFile* file_;
  std::map<std::string_view, Given> given_;
  std::string name_;
  std::vector<Diagnostic> errors_;
};

// Elements of an array; an error where there are more than index arithmetic has room for.
void checkElements(Fields& fields, std::string_view array, const std::vector<std::int64_t>& shape);

}  // namespace lift::opset
