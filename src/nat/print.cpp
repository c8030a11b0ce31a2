// The text of a Nat: ordinary infix, read back by the parser.
#include <fmt/format.h>

#include <iterator>

#include "polynomial.hpp"

namespace lift {

using namespace detail;

namespace {

class Printer {
 public:
  std::string text;

  void sum(std::span<const NatTerm> terms) {
    if (terms.empty()) text += '0';
    bool first = true;
    const auto part = [&](const NatTerm& t, bool negative) {
      if (negative) {
        text += first ? "-" : " - ";
      } else if (!first) {
        text += " + ";
      }
      term(t, first && negative);
      first = false;
    };
    for (const NatTerm& t : terms)
      if (t.coefficient > 0) part(t, false);
    for (const NatTerm& t : terms)
      if (t.coefficient < 0) part(t, true);
  }

 private:
  // Without its sign; a sign before it binds more tightly than / and %.
  void term(const NatTerm& t, bool isSigned) {
    const std::uint64_t magnitude =
        t.coefficient < 0 ? -static_cast<std::uint64_t>(t.coefficient) : static_cast<std::uint64_t>(t.coefficient);
    const bool alone = t.monomial->factorCount <= 1 && magnitude == 1;
    if (t.monomial == one()) {
      number(magnitude);
    } else if (alone) {
      isSigned ? operand(t.monomial->factorData[0]) : atom(t.monomial->factorData[0]);
    } else {
      bool first = magnitude == 1;
      if (!first) number(magnitude);
      for (Node factor : t.monomial->factors()) {
        if (!first || magnitude != 1) text += first ? "" : "*";
        first = false;
        operand(factor);
      }
    }
  }

  void number(std::uint64_t value) { fmt::format_to(std::back_inserter(text), "{}", value); }

  void atom(Node node) {
    switch (node->kind) {
      case Nat::Kind::variable: text += node->variableData->name; break;
      case Nat::Kind::floorDiv: binary(node, "/"); break;
      case Nat::Kind::mod: binary(node, " % "); break;
      default:
        text += node->kind == Nat::Kind::min ? "min(" : "max(";
        sum(node->left->terms());
        text += ", ";
        sum(node->right->terms());
        text += ')';
    }
  }

  void binary(Node node, const char* symbol) {
    operand(node->left);
    text += symbol;
    operand(node->right);
  }

  void operand(Node node) {
    const bool simple = node->kind == Nat::Kind::variable || node->kind == Nat::Kind::min ||
                        node->kind == Nat::Kind::max || (node->isConstant() && node->constantValue() >= 0);
    if (!simple) text += '(';
    sum(node->terms());
    if (!simple) text += ')';
  }
};

// (n + 2)/4 - 1 is written (n - 2)/4: for the reader, a constant goes back into the numerator it was taken from.
Poly withConstantsInside(Node node) {
  Poly terms = polyOf(node);
  if (constantTerm(terms) >= 0) return terms;
  for (NatTerm& term : terms) {
    if (term.coefficient != 1 || term.monomial->kind != Nat::Kind::floorDiv) continue;
    const Node x = term.monomial->left;
    const Node d = term.monomial->right;
    const Poly shifted = add(x->terms(), scale(d->terms(), constantTerm(terms)));
    if (shifted.size() > x->termCount || (d->isConstant() && constantTerm(x->terms()) <= 0)) continue;
    if (!d->isConstant() && shifted.size() == x->termCount) continue;
    term.monomial = internOperation(Nat::Kind::floorDiv, internTerms(shifted), d);
    terms.resize(terms.size() - 1);
    break;
  }
  return terms;
}

}  // namespace

std::string Nat::str() const {
  Printer printer;
  printer.sum(withConstantsInside(node_));
  return std::move(printer.text);
}

}  // namespace lift
