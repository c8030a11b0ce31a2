// The language embedded in C++: functions, operators and lambdas that build programs.
//
//   using namespace lift::dsl;
//   const E n = size("n");
//   lift::Program dot = program("dot", {{"x", array(n, f32)}, {"y", array(n, f32)}}, [](E x, E y) {
//     return zip(x, y) | map([](E a, E b) { return a * b; }) | reduce(0, add);
//   });
//
// Everything has its name of the text language, except where C++ has words of its own: operators, get(), as().
// Functions may be given fewer arguments than they take and the last one by `|`. What a program means, its errors
// included, is decided by inference as for text; diagnostics name the C++ line.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lift/syntax.hpp"

namespace lift::dsl {

class E;
class T;

// A line of C++ source. (std::source_location is missing in clang 14.)
struct Where {
  const char* file;
  int line;
  static constexpr Where current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};
// The position of the line; its text is shown if the file can be read where the program runs.
Span spanOf(Where where);

namespace detail {
inline constexpr int mostParameters = 16;

template <class F, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_r_v<E, F, decltype((void(I), std::declval<E>()))...>;
}
// The number of expressions that f takes, at least `N`; -1 if none fits.
template <class F, int N>
constexpr int parametersOf() {
  if constexpr (N > mostParameters)
    return -1;
  else if constexpr (takes<F>(std::make_index_sequence<static_cast<std::size_t>(N)>()))
    return N;
  else
    return parametersOf<F, N + 1>();
}
}  // namespace detail

// A C++ function of expressions; of two or more, it becomes a function of a tuple.
template <class F>
concept Body = !std::convertible_to<F, E> && (detail::parametersOf<F, 1>() > 0);

// An argument: an expression, a number or a C++ function, with the line where it is handed over.
class At {
 public:
  At() = default;  // none
  template <class V>
  requires std::convertible_to<V, E> At(V&& value, Where where = Where::current());  // NOLINT
  template <Body F>
  At(const F& f, Where where = Where::current());  // NOLINT

  bool given() const { return syntax_ != nullptr; }
  const SynPtr& syntax() const { return syntax_; }
  const std::string& name() const { return name_; }
  Where where() const { return where_; }
  Span span() const { return spanOf(where_); }

 private:
  friend At arg(std::string name, At value);

  SynPtr syntax_;
  std::string name_;
  Where where_{"", 0};
};

// A named argument: reduce(arg("init", 0), arg("f", add), xs).
At arg(std::string name, At value);

namespace detail {
// Of the language's own, whatever the program defines.
E operation(const char* name, const At& a, const At& b = {}, const At& c = {});
}  // namespace detail

// What has a name in the language: a primitive, an operation, a definition of the prelude.
class Named {
 public:
  constexpr explicit Named(const char* name) : name_(name) {}
  const char* name() const { return name_; }

  E operator()(At a, At b = {}, At c = {}, At d = {}, At e = {}, At f = {}, At g = {}, At h = {}) const;

 private:
  const char* name_;
};

// A scalar type; applied to a value, the conversion to it.
class ScalarType {
 public:
  constexpr explicit ScalarType(Scalar scalar) : scalar_(scalar) {}
  Scalar scalar() const { return scalar_; }

  E operator()(At value) const;

 private:
  Scalar scalar_;
};

// An expression.
class E {
 public:
  template <std::integral I>
  E(I value, Where where = Where::current())  // NOLINT: literals are written as they are
  : E(std::is_same_v<I, bool> ? boolean(static_cast<bool>(value), where)
                              : integer(static_cast<std::int64_t>(value), where)) {}
  E(double value, Where where = Where::current());           // NOLINT: of the type that its use asks for
  E(float value, Where where = Where::current());            // NOLINT: f32
  E(Nat size, Where where = Where::current());               // NOLINT
  E(Expr term, Where where = Where::current());              // NOLINT
  E(Named name, Where where = Where::current());             // NOLINT
  E(ScalarType conversion, Where where = Where::current());  // NOLINT
  explicit E(SynPtr syntax) : syntax_(std::move(syntax)) {}

  const SynPtr& syntax() const { return syntax_; }

  E operator()(At a, At b = {}, At c = {}, At d = {}, At e = {}, At f = {}, At g = {}, At h = {}) const;
  E operator[](At index) const;
  E get(int component, Where where = Where::current()) const;
  E as(const T& type, Where where = Where::current()) const;

  friend E operator|(At in, At function);  // the pipe: function(in)
  friend E operator+(At a, At b) { return detail::operation("add", a, b); }
  friend E operator-(At a, At b) { return detail::operation("sub", a, b); }
  friend E operator*(At a, At b) { return detail::operation("mul", a, b); }
  friend E operator/(At a, At b) { return detail::operation("div", a, b); }
  friend E operator%(At a, At b) { return detail::operation("mod", a, b); }
  friend E operator<(At a, At b) { return detail::operation("lt", a, b); }
  friend E operator<=(At a, At b) { return detail::operation("le", a, b); }
  friend E operator>(At a, At b) { return detail::operation("gt", a, b); }
  friend E operator>=(At a, At b) { return detail::operation("ge", a, b); }
  friend E operator==(At a, At b) { return detail::operation("eq", a, b); }
  friend E operator!=(At a, At b) { return detail::operation("ne", a, b); }
  friend E operator&&(At a, At b) { return detail::operation("and", a, b); }
  friend E operator||(At a, At b) { return detail::operation("or", a, b); }
  friend E operator-(At a) { return detail::operation("neg", a); }
  friend E operator!(At a) { return detail::operation("not", a); }

 private:
  static E integer(std::int64_t value, Where where);
  static E boolean(bool value, Where where);

  SynPtr syntax_;
};

namespace detail {
E lambda(int parameters, const std::function<E(const std::vector<E>&)>& body, Where where);
E bind(const SynPtr& value, int parameters, const std::function<E(const std::vector<E>&)>& body, Where where);

template <class F, std::size_t... I>
E spread(const F& f, const std::vector<E>& x, std::index_sequence<I...>) {
  return f(x[I]...);
}
template <Body F>
E callWith(const F& f, const std::vector<E>& x) {
  return spread(f, x, std::make_index_sequence<static_cast<std::size_t>(parametersOf<F, 1>())>());
}
}  // namespace detail

template <Body F>
E fun(const F& f, Where where = Where::current()) {
  return detail::lambda(
      detail::parametersOf<F, 1>(), [&](const std::vector<E>& x) { return detail::callWith(f, x); }, where);
}

template <class V>
requires std::convertible_to<V, E> At::At(V&& value, Where where) : where_(where) {
  // Handed on with the line, where the conversion notes one.
  if constexpr (std::is_constructible_v<E, V&&, Where>)
    syntax_ = E(std::forward<V>(value), where).syntax();
  else
    syntax_ = static_cast<E>(std::forward<V>(value)).syntax();
}

template <Body F>
At::At(const F& f, Where where) : syntax_(fun(f, where).syntax()), where_(where) {}

// let x = value in body(x); a body of two or more parameters takes the tuple apart.
template <Body F>
E let(At value, const F& body, Where where = Where::current()) {
  return detail::bind(
      value.syntax(), detail::parametersOf<F, 1>(), [&](const std::vector<E>& x) { return detail::callWith(body, x); },
      where);
}

E name(std::string text, Where where = Where::current());
inline E size(std::string text, Where where = Where::current()) { return name(std::move(text), where); }
// An array literal: arrayOf({1.0, 2.0, 3.0}), nested arrayOf({arrayOf({1, 2}), arrayOf({3, 4})}).
E arrayOf(std::initializer_list<At> elements, Where where = Where::current());
E tuple(At a, At b, At c = {}, At d = {}, At e = {}, At f = {}, At g = {}, At h = {});
// Whatever has a name, for example a definition of the prelude: call("slide2D", 3, 3, 1, 1, xs).
E call(std::string function, At a, At b = {}, At c = {}, At d = {}, At e = {}, At f = {}, At g = {}, At h = {},
       Where where = Where::current());

// --- Types ----------------------------------------------------------------------------------------------------------

class T {
 public:
  T(ScalarType scalar, Where where = Where::current());  // NOLINT
  T(Type type, Where where = Where::current());          // NOLINT: without type variables
  explicit T(SynTypePtr syntax) : syntax_(std::move(syntax)) {}
  const SynTypePtr& syntax() const { return syntax_; }

 private:
  SynTypePtr syntax_;
};

T array(At length, const T& element);
T array(At rows, At columns, const T& element);
T array(At planes, At rows, At columns, const T& element);
T array(At outermost, At planes, At rows, At columns, const T& element);
T vec(At width, const T& element);
T tuple(std::vector<T> components, Where where = Where::current());
T function(const T& parameter, const T& result, Where where = Where::current());
T typeVariable(std::string name, Where where = Where::current());

inline constexpr ScalarType boolean{Scalar::boolean}, i8{Scalar::i8}, u8{Scalar::u8}, i16{Scalar::i16},
    u16{Scalar::u16}, i32{Scalar::i32}, u32{Scalar::u32}, i64{Scalar::i64}, u64{Scalar::u64}, f16{Scalar::f16},
    h16{Scalar::h16}, f32{Scalar::f32}, f64{Scalar::f64};

// --- Programs -------------------------------------------------------------------------------------------------------

struct Parameter {
  Parameter(std::string name, T type, Where where = Where::current());
  explicit Parameter(std::string name, Where where = Where::current());  // of any type; not of a whole program

  std::string name;
  SynTypePtr type;  // or null
  Where where;
};
Parameter nat(std::string name, Where where = Where::current());  // a size parameter that no array length names
Parameter nat(std::string name, E low, E high, Where where = Where::current());  // in low..high

// tune k in low..high. Used as an expression, its name.
struct Tunable {
  std::string name;
  E low, high;
  Where where;
  operator E() const { return dsl::name(name, where); }  // NOLINT
};
Tunable tune(std::string name, E low, E high, Where where = Where::current());

namespace detail {
Definition definition(std::string name, std::vector<Parameter> parameters, int expected,
                      const std::function<E(const std::vector<E>&)>& body, const T* result, Where where);
template <class F>
Definition definition(std::string name, std::vector<Parameter> parameters, const F& body, const T* result,
                      Where where) {
  constexpr int n = parametersOf<F, 0>();
  static_assert(n >= 0, "the body takes expressions (E) and returns one");
  return definition(
      std::move(name), std::move(parameters), n,
      [&](const std::vector<E>& x) { return spread(body, x, std::make_index_sequence<static_cast<std::size_t>(n)>()); },
      result, where);
}
}  // namespace detail

// def name(parameters) = body, to be used by other definitions.
template <class F>
Definition define(std::string name, std::vector<Parameter> parameters, const F& body, Where where = Where::current()) {
  return detail::definition(std::move(name), std::move(parameters), body, nullptr, where);
}
template <class F>
Definition define(std::string name, std::vector<Parameter> parameters, const T& result, const F& body,
                  Where where = Where::current()) {
  return detail::definition(std::move(name), std::move(parameters), body, &result, where);
}

// The last definition, which may use the others, as a typed program. Throws UserError as infer() does.
Program program(std::vector<Definition> definitions, const std::vector<Tunable>& tunables = {});

// A program of one definition.
template <class F>
requires(!std::convertible_to<F, T>) Program
    program(std::string name, std::vector<Parameter> parameters, const F& body,
            const std::vector<Tunable>& tunables = {}, Where where = Where::current()) {
  return program({detail::definition(std::move(name), std::move(parameters), body, nullptr, where)}, tunables);
}
template <class F>
Program program(std::string name, std::vector<Parameter> parameters, const T& result, const F& body,
                const std::vector<Tunable>& tunables = {}, Where where = Where::current()) {
  return program({detail::definition(std::move(name), std::move(parameters), body, &result, where)}, tunables);
}

// --- Names ----------------------------------------------------------------------------------------------------------

// The rows of the primitives table (primitive.hpp has their types); zip takes two or more arrays.
inline constexpr Named map{"map"}, reduce{"reduce"}, scan{"scan"}, scanExclusive{"scanExclusive"},
    reduceByIndex{"reduceByIndex"}, iterate{"iterate"}, iterateWhile{"iterateWhile"}, id{"id"}, generate{"generate"},
    vectorize{"vectorize"}, zip{"zip"}, unzip{"unzip"}, get{"get"}, split{"split"}, join{"join"}, slide{"slide"},
    slideStrict{"slideStrict"}, pad{"pad"}, padClamp{"padClamp"}, padMirror{"padMirror"}, padWrap{"padWrap"},
    transpose{"transpose"}, reorder{"reorder"}, concat{"concat"}, take{"take"}, drop{"drop"}, at{"at"},
    asVector{"asVector"}, asScalar{"asScalar"}, splat{"splat"}, dot{"dot"}, anyLane{"anyLane"}, mapGlb{"mapGlb"},
    mapWrg{"mapWrg"}, mapLcl{"mapLcl"}, reduceLcl{"reduceLcl"}, reduceByIndexLcl{"reduceByIndexLcl"},
    reduceByIndexGlb{"reduceByIndexGlb"}, mapSeq{"mapSeq"}, mapSeqUnroll{"mapSeqUnroll"}, reduceSeq{"reduceSeq"},
    reduceSeqUnroll{"reduceSeqUnroll"}, scanSeq{"scanSeq"}, scanExclusiveSeq{"scanExclusiveSeq"}, toGlobal{"toGlobal"},
    toImage{"toImage"}, toLocal{"toLocal"}, toPrivate{"toPrivate"};

// Of the type that their place asks for: the least and the greatest value, infinity, a conversion.
inline constexpr Named lowest{"lowest"}, highest{"highest"}, convert{"convert"};
inline constexpr double inf = std::numeric_limits<double>::infinity(),
                        notANumber = std::numeric_limits<double>::quiet_NaN();

// The definitions of the prelude. zipWith, zip2D and their like take any number of arrays.
inline constexpr Named map2D{"map2D"}, map3D{"map3D"}, mapSeq2D{"mapSeq2D"}, mapSeq3D{"mapSeq3D"}, mapGlb2D{"mapGlb2D"},
    mapGlb3D{"mapGlb3D"}, mapWrg2D{"mapWrg2D"}, mapWrg3D{"mapWrg3D"}, mapLcl2D{"mapLcl2D"}, mapLcl3D{"mapLcl3D"},
    zipWith{"zipWith"}, zipWith2D{"zipWith2D"}, zipWith3D{"zipWith3D"}, zip2D{"zip2D"}, zip3D{"zip3D"},
    unzip2D{"unzip2D"}, unzip3D{"unzip3D"}, slide2D{"slide2D"}, slide3D{"slide3D"}, slideStrict2D{"slideStrict2D"},
    slideStrict3D{"slideStrict3D"}, pad2D{"pad2D"}, pad3D{"pad3D"}, pad2DChannels{"pad2DChannels"},
    padClamp2D{"padClamp2D"}, padMirror2D{"padMirror2D"}, padWrap2D{"padWrap2D"}, padClamp3D{"padClamp3D"},
    padMirror3D{"padMirror3D"}, padWrap3D{"padWrap3D"}, crop{"crop"}, crop2D{"crop2D"}, crop3D{"crop3D"},
    length{"length"}, head{"head"}, last{"last"}, tail{"tail"}, init{"init"}, reverse{"reverse"}, rotate{"rotate"},
    repeat{"repeat"}, gather{"gather"}, diff{"diff"}, split2D{"split2D"}, join2D{"join2D"}, flatten{"flatten"},
    flatten2D{"flatten2D"}, flatten3D{"flatten3D"}, tile2D{"tile2D"}, transposeInner{"transposeInner"},
    channelsFirst{"channelsFirst"}, channelsLast{"channelsLast"}, generate2D{"generate2D"}, generate3D{"generate3D"},
    fill{"fill"}, fill2D{"fill2D"}, fill3D{"fill3D"}, indices{"indices"}, enumerate{"enumerate"}, linspace{"linspace"},
    reduce2D{"reduce2D"}, reduce3D{"reduce3D"}, sum{"sum"}, product{"product"}, maximum{"maximum"}, minimum{"minimum"},
    maximumIndexed{"maximumIndexed"}, minimumIndexed{"minimumIndexed"}, argmax{"argmax"}, argmin{"argmin"},
    argmax2D{"argmax2D"}, argmin2D{"argmin2D"}, mean{"mean"}, average{"average"}, variance{"variance"},
    standardDeviation{"standardDeviation"}, all{"all"}, any{"any"}, count{"count"}, histogram{"histogram"},
    cumsum{"cumsum"}, cumprod{"cumprod"}, dotProduct{"dotProduct"}, norm{"norm"}, matmul{"matmul"}, matvec{"matvec"},
    outer{"outer"}, softmax{"softmax"}, pi{"pi"}, square{"square"}, sign{"sign"}, isNaN{"isNaN"},
    isInfinite{"isInfinite"}, clamp{"clamp"}, lerp{"lerp"}, relu{"relu"}, sigmoid{"sigmoid"};

// Index functions of reorder; `transpose` and `reverse` are above.
inline constexpr Named stride{"stride"}, unstride{"unstride"}, shift{"shift"};

// The operations, also those that have an operator: reduce(0, add).
inline constexpr Named add{"add"}, sub{"sub"}, mul{"mul"}, mod{"mod"}, neg{"neg"}, min{"min"}, max{"max"},
    rsqrt{"rsqrt"}, lt{"lt"}, le{"le"}, gt{"gt"}, ge{"ge"}, eq{"eq"}, ne{"ne"}, logicalAnd{"and"}, logicalOr{"or"},
    logicalNot{"not"}, bitAnd{"bitAnd"}, bitOr{"bitOr"}, bitXor{"bitXor"}, bitNot{"bitNot"}, shl{"shl"}, shr{"shr"},
    rotateBits{"rotateBits"}, popcount{"popcount"}, clz{"clz"}, mulHigh{"mulHigh"};

// Those that C has functions of the same name for are functions, or the two would be ambiguous; as arguments they are
// written name("sqrt").
inline E abs(At x) { return detail::operation("abs", x); }
inline E floor(At x) { return detail::operation("floor", x); }
inline E ceil(At x) { return detail::operation("ceil", x); }
inline E round(At x) { return detail::operation("round", x); }
inline E sqrt(At x) { return detail::operation("sqrt", x); }
inline E exp(At x) { return detail::operation("exp", x); }
inline E log(At x) { return detail::operation("log", x); }
inline E sin(At x) { return detail::operation("sin", x); }
inline E cos(At x) { return detail::operation("cos", x); }
inline E tanh(At x) { return detail::operation("tanh", x); }
inline E trunc(At x) { return detail::operation("trunc", x); }
inline E cbrt(At x) { return detail::operation("cbrt", x); }
inline E exp2(At x) { return detail::operation("exp2", x); }
inline E log2(At x) { return detail::operation("log2", x); }
inline E log10(At x) { return detail::operation("log10", x); }
inline E tan(At x) { return detail::operation("tan", x); }
inline E asin(At x) { return detail::operation("asin", x); }
inline E acos(At x) { return detail::operation("acos", x); }
inline E atan(At x) { return detail::operation("atan", x); }
inline E sinh(At x) { return detail::operation("sinh", x); }
inline E cosh(At x) { return detail::operation("cosh", x); }
inline E erf(At x) { return detail::operation("erf", x); }
inline E atan2(At y, At x) { return detail::operation("atan2", y, x); }
inline E pow(At x, At y) { return detail::operation("pow", x, y); }
inline E fma(At a, At b, At c) { return detail::operation("fma", a, b, c); }
inline E div(At a, At b) { return detail::operation("div", a, b); }
// Evaluates one of the two.
inline E ifThenElse(At condition, At ifTrue, At ifFalse) { return detail::operation("if", condition, ifTrue, ifFalse); }
inline E select(At condition, At ifTrue, At ifFalse) { return detail::operation("select", condition, ifTrue, ifFalse); }

}  // namespace lift::dsl
