// Walks over types as they are written. The bounds of `nat` are left out: they are no part of a type of values.
#pragma once

#include "lift/syntax.hpp"

namespace lift::detail {

// Calls onSize(SynPtr&) and onType(SynTypePtr&) on what a type is made of; of one that is not const they may be
// replaced.
template <class T, class OnSize, class OnType>
void forEachPart(T& type, OnSize&& onSize, OnType&& onType) {
  const auto elements = [&](auto& size, auto& element) {
    onSize(size);
    onType(element);
  };
  if (auto* vector = as<SynType::Vector>(type)) elements(vector->width, vector->element);
  if (auto* array = as<SynType::Array>(type)) elements(array->length, array->element);
  if (auto* function = as<SynType::Function>(type)) {
    onType(function->parameter);
    onType(function->result);
  }
  if (auto* tuple = as<SynType::Tuple>(type))
    for (auto& component : tuple->components) onType(component);
}

// Calls onName(const Syn&) on the names in a size.
template <class OnName>
void forEachName(const Syn& size, OnName&& onName) {
  if (is<Syn::Name>(size)) onName(size);
  if (const auto* call = as<Syn::Call>(size))
    for (const auto& a : call->arguments) forEachName(*a.value, onName);
}

// The same for the sizes in a type, and onType(text) on the names of types.
template <class OnName, class OnType>
void forEachName(const SynType& type, OnName&& onName, OnType&& onType) {
  if (const auto* name = as<SynType::Name>(type)) onType(name->text);
  forEachPart(
      type, [&](const SynPtr& size) { forEachName(*size, onName); },
      [&](const SynTypePtr& part) { forEachName(*part, onName, onType); });
}

}  // namespace lift::detail
