// Trees whose nodes are one of several kinds: structs with a variant `node`, which may be held by a pointer.
#pragma once

#include <variant>

namespace lift {

// The node as a T, else null: `if (const auto* loop = as<For>(statement))`.
template <class T, class Tree>
auto* as(Tree& tree) {
  if constexpr (requires { tree.node; })
    return std::get_if<T>(&tree.node);
  else
    return std::get_if<T>(&tree->node);
}

template <class T, class Tree>
bool is(const Tree& tree) {
  return as<T>(tree) != nullptr;
}

}  // namespace lift
