// Surface syntax as one line of text with every node spelled out, so that a test compares whole trees.
#pragma once

#include <fmt/format.h>

#include <string>
#include <variant>

#include "lift/syntax.hpp"

namespace lift::test {

std::string show(const Syn& syn);
std::string show(const SynType& type);

inline std::string show(const SynPattern& pattern) {
  std::string text = pattern.name;
  if (!pattern.components.empty()) {
    for (const SynPattern& c : pattern.components) text += (text.empty() ? "" : " ") + show(c);
    text = "(" + text + ")";
  }
  if (pattern.type) text += ":" + show(*pattern.type);
  return text;
}

struct ShowExpr {
  std::string operator()(const Syn::Name& n) const { return n.text; }
  std::string operator()(const Syn::Integer& n) const {
    return fmt::format("{}{}", n.type ? std::string(info(*n.type).name) + ":" : "", n.value);
  }
  std::string operator()(const Syn::Real& n) const {
    return fmt::format("real{}:{}", n.type ? std::string(info(*n.type).name) : "", n.value);
  }
  std::string operator()(const Syn::Boolean& n) const { return n.value ? "#true" : "#false"; }
  std::string operator()(const Syn::Call& n) const {
    std::string text = "(" + show(*n.function);
    for (const Syn::Argument& a : n.arguments) text += " " + (a.name.empty() ? "" : a.name + "=") + show(*a.value);
    return text + ")";
  }
  std::string operator()(const Syn::Fun& n) const { return "(fun " + show(n.parameter) + " " + show(*n.body) + ")"; }
  std::string operator()(const Syn::Tuple& n) const {
    std::string text = "(tuple";
    for (const SynPtr& c : n.components) text += " " + show(*c);
    return text + ")";
  }
  std::string operator()(const Syn::Array& n) const {
    std::string text = "(array";
    for (const SynPtr& x : n.elements) text += " " + show(*x);
    return text + ")";
  }
  std::string operator()(const Syn::Project& n) const {
    return fmt::format("(get {} {})", n.component, show(*n.tuple));
  }
  std::string operator()(const Syn::Subscript& n) const { return "(at " + show(*n.array) + " " + show(*n.index) + ")"; }
  std::string operator()(const Syn::Let& n) const {
    return "(let " + show(n.pattern) + " " + show(*n.value) + " " + show(*n.body) + ")";
  }
  std::string operator()(const Syn::Ascribe& n) const { return "(as " + show(*n.value) + " " + show(*n.type) + ")"; }
  std::string operator()(const Syn::Typed&) const { return "typed"; }
  std::string operator()(const Syn::Size&) const { return "size"; }
};

struct ShowType {
  std::string operator()(const SynType::ScalarName& t) const { return std::string(info(t.scalar).name); }
  std::string operator()(const SynType::Vector& t) const { return "<" + show(*t.width) + ">" + show(*t.element); }
  std::string operator()(const SynType::Array& t) const { return "[" + show(*t.length) + "]" + show(*t.element); }
  std::string operator()(const SynType::Tuple& t) const {
    std::string text;
    for (const SynTypePtr& c : t.components) text += (text.empty() ? "(" : ", ") + show(*c);
    return text + ")";
  }
  std::string operator()(const SynType::Function& t) const {
    return "(" + show(*t.parameter) + " -> " + show(*t.result) + ")";
  }
  std::string operator()(const SynType::Name& t) const { return "'" + t.text; }
  std::string operator()(const SynType::Nat&) const { return "#nat"; }
  std::string operator()(const SynType::Index&) const { return "#index"; }
};

inline std::string show(const Syn& syn) { return std::visit(ShowExpr(), syn.node); }
inline std::string show(const SynType& type) { return std::visit(ShowType(), type.node); }

}  // namespace lift::test
