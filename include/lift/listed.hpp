// Lists in texts: messages, argument lists, descriptors.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace lift {

// What `text` (a function or a member) gives for each element, with the separator between them.
template <class Range, class Text>
std::string listed(const Range& range, Text&& text, std::string_view separator = ", ") {
  std::string list;
  bool isFirst = true;
  for (const auto& element : range) {
    if (!isFirst) list += separator;
    isFirst = false;
    list += std::invoke(text, element);
  }
  return list;
}

}  // namespace lift
