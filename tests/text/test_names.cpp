// Names mean what they say where they are written; what is used twice is there once; a mistake is one message.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/interpreter.hpp"
#include "lift/text.hpp"
#include "refusals.hpp"

using namespace lift;

namespace {

std::vector<const SourceFile*> allPrograms() {
  std::vector<const SourceFile*> files;
  for (const char* folder : {LIFT_SOURCE_DIR "/tests/programs", LIFT_SOURCE_DIR "/examples"})
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".lift")
        files.push_back(addSource(entry.path().filename().string(), readFile(entry.path()).value()));
  REQUIRE(files.size() > 30);
  return files;
}

// The text with every name changed, comments aside.
std::string renamed(const std::string& text, const std::function<std::string(const std::string&)>& rename) {
  const auto inName = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '\''; };
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (text.compare(i, 2, "--") == 0) {
      end = std::min(text.find('\n', i), text.size());
      out += text.substr(i, end - i);
    } else if (inName(text[i])) {
      while (end < text.size() && inName(text[end])) ++end;
      const std::string word = text.substr(i, end - i);
      out += std::isdigit(static_cast<unsigned char>(word[0])) ? word : rename(word);
    } else {
      out += text[i];
    }
    i = end;
  }
  return out;
}

std::set<std::string> namesIn(const std::string& text) {
  std::set<std::string> names;
  renamed(text, [&](const std::string& name) {
    names.insert(name);
    return name;
  });
  return names;
}

// What `prefix` was put before, but for index functions: these are no definitions, reverse is one besides.
std::string withIndexFunctions(const std::string& text, const std::string& prefix) {
  return std::regex_replace(text, std::regex("reorder\\(" + prefix), "reorder(");
}

// Names that a text gives to its own parameters, and of named arguments: name: type, name = value.
std::set<std::string> boundIn(const std::string& text) {
  std::set<std::string> names;
  const std::regex binder("([A-Za-z_][A-Za-z0-9_']*)\\s*(:|=(?![=>]))");
  for (std::sregex_iterator m(text.begin(), text.end(), binder), none; m != none; ++m) names.insert((*m)[1]);
  return names;
}

std::string canonical(Program program) {
  program.name = "main";
  return print(program, Names::canonical);
}

std::set<std::string> definitionsOf(const Module& module) {
  std::set<std::string> names;
  for (const Definition& d : module.definitions) names.insert(d.name);
  return names;
}

std::vector<double> valuesOf(const std::string& text) {
  std::vector<double> values;
  for (const auto& [name, tensor] : interpret(parseProgram(*addSource("names.lift", text)), {}))
    for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.get(i));
  return values;
}

std::vector<Diagnostic> errorsOf(const std::string& text) {
  return test::diagnosticsOf([&] { parseProgram(*addSource("mistake.lift", text)); });
}

}  // namespace

TEST_CASE("a name means what it says where it is written") {
  // The prelude has a relu, too, and uses add, map and transpose.
  const std::string xs = "def xs = generate(4, fun i => f32(i) - 2.0)\n";
  const std::vector<double> expected{-20, -10, 0, 10};
  for (const char* use :
       {"map2D(relu, split(2, xs)) |> join", "map(relu, xs)", "let g = relu in split(2, xs) |> map2D(g) |> join",
        "twice(relu, xs)", "xs |> split(2) |> map2D(by(10.0)) |> join", "split(2, xs) |> map2D(f = relu) |> join"})
    CHECK(valuesOf(
              xs +
              "def relu(x) = x * 10.0\ndef by(k, x) = k * x\ndef twice(relu, xs) = map2D(relu, split(2, xs)) |> join\n"
              "def add(a, b) = a\ndef map2D'(f) = f\ndef transpose(x) = 1\ndef main = " +
              use) == expected);
  CHECK(valuesOf("def add(a, b) = a * b\ndef main = (2 + 3, add(2, 3), reduce(1, add, generate(3, fun i => i + 1)))") ==
        std::vector<double>{5, 6, 6});
}

TEST_CASE("renaming all definitions of a program and of the prelude changes nothing") {
  const std::string& preludeText = prelude().definitions.front().span.file->text;
  const std::set<std::string> inPrelude = definitionsOf(prelude());
  const std::string otherText =
      renamed(preludeText, [&](const std::string& name) { return inPrelude.count(name) ? "p'" + name : name; });
  const Module otherPrelude = parseModule(*addSource("renamed-prelude.lift", withIndexFunctions(otherText, "p'")));
  for (const SourceFile* file : allPrograms()) {
    INFO(file->name);
    const Program before = parseProgram(*file);
    const std::set<std::string> own = definitionsOf(parseModule(*file));
    const std::set<std::string> bound = boundIn(file->text);
    const std::string text = renamed(file->text, [&](const std::string& name) {
      if (own.count(name)) return "u'" + name;
      return inPrelude.count(name) && !bound.count(name) ? "p'" + name : name;
    });
    const Program after =
        infer(parseModule(*addSource(file->name, withIndexFunctions(text, "p'"))), otherPrelude, "u'" + before.name);
    CHECK(canonical(after) == canonical(before));
  }
}

TEST_CASE("definitions that a program does not use hide nothing from the prelude") {
  std::set<std::string> hidden = definitionsOf(prelude());
  for (int i = 0; i < primCount; i++) hidden.emplace(info(static_cast<Prim>(i)).name);
  for (int i = 0; i < opCount; i++) hidden.emplace(info(static_cast<Op>(i)).name);
  for (const char* reserved : {"let", "if", "true", "false"}) hidden.erase(reserved);
  for (const SourceFile* file : allPrograms()) {
    INFO(file->name);
    const std::set<std::string> used = namesIn(file->text);
    std::string text;
    for (const std::string& name : hidden)
      if (!used.count(name)) text += "def " + name + "(x) = 0\n";
    const Program before = parseProgram(*file);
    CHECK(canonical(parseProgram(*addSource(file->name, text + file->text), before.name)) == canonical(before));
  }
}

TEST_CASE("a definition of several parameters is a function of their tuple") {
  const std::string defs =
      "def xs = generate(3, fun i => i + 1)\n"
      "def f(acc, x) = acc * 2 + x\n"
      "def g(a, b, c) = 100 * a + 10 * b + c\n"
      "def pairs = zip(xs, xs)\n"
      "def main = ";
  using V = std::vector<double>;
  CHECK(valuesOf(defs + "reduce(0, f, xs)") == V{11});
  CHECK(valuesOf(defs + "scan(0, f, xs)") == V{1, 4, 11});
  CHECK(valuesOf(defs + "map(f, pairs)") == V{3, 6, 9});
  CHECK(valuesOf(defs + "zipWith(f, xs, xs)") == V{3, 6, 9});
  CHECK(valuesOf(defs + "map(g(1), pairs)") == V{111, 122, 133});
  CHECK(valuesOf(defs + "map(g(1, 2), xs)") == V{121, 122, 123});
  CHECK(valuesOf(defs + "map(g, zip(xs, xs, xs))") == V{111, 222, 333});
  CHECK(valuesOf(defs + "generate2D(2, 2, f)") == V{0, 1, 2, 3});
  CHECK(valuesOf(defs + "generate2D(2, 2, add)") == V{0, 1, 1, 2});
  CHECK(valuesOf(defs + "map(fun p => f(p), pairs)") == V{3, 6, 9});
  CHECK(valuesOf(defs + "f((3, 4))") == V{10});
  CHECK(valuesOf(defs + "(f(3))(4)") == V{10});
  CHECK(valuesOf(defs + "map(concat, zip(split(1, xs), split(1, xs))) |> join") == V{1, 1, 2, 2, 3, 3});
}

TEST_CASE("sizes of a definition follow from linear lengths, where there are any") {
  // By trying all sizes: a*n + b = length.
  int solved = 0, refused = 0;
  for (int a = 1; a <= 4; a++)
    for (int b = -2; b <= 3; b++)
      for (int length = 1; length <= 14; length++) {
        const std::string parameter = fmt::format("{} * n {} {}", a, b < 0 ? "-" : "+", std::abs(b));
        const std::string text = fmt::format(
            "def f(xs: [{}]f32): [n]f32 = fill(n, xs[0])\ndef main(xs: [{}]f32) = f(xs)", parameter, length);
        INFO(text);
        int n = 1;
        while (n <= 16 && a * n + b != length) n++;
        if (n <= 16) {
          solved++;
          CHECK(parseProgram(*addSource("sizes.lift", text)).result().str() == fmt::format("[{}]f32", n));
        } else {
          refused++;
          const std::vector<Diagnostic> found = errorsOf(text);
          REQUIRE(found.size() == 1);
          CHECK(found[0].hint.find("no size n has") == 0);
        }
      }
  CHECK(solved > 100);
  CHECK(refused > 100);
  const auto signature = [](const std::string& parameter, const std::string& arguments, const std::string& use) {
    const Program p = parseProgram(*addSource(
        "sizes.lift", "def f(" + parameter + "): [n]f32 = fill(n, 0.0)\ndef main(" + arguments + ") = f(" + use + ")"));
    std::string text = p.result().str();
    for (const SizeCondition& c : p.conditions)
      if (c.origin.find(" = ") != std::string::npos) text += "; " + c.str() + " (" + c.origin + ")";
    return text;
  };
  CHECK(signature("xs: [2 * n]f32", "xs: [2 * (h + 1)]f32", "xs") == "[h + 1]f32");
  CHECK(signature("xs: [2 * n][n + 1]f32", "xs: [4 * h][2 * h + 1]f32", "xs") == "[2*h]f32");
  CHECK(signature("ys: [m]f32, xs: [n * m]f32", "h: nat, ys: [k]f32, xs: [h * k * 3]f32", "ys, xs") == "[3*h]f32");
  CHECK(signature("xs: [n * m]f32, ys: [m]f32", "xs: [12]f32, ys: [4]f32", "xs, ys") == "[3]f32");
  CHECK(signature("xs: [2 * n]f32", "xs: [h]f32", "xs") == "[h/2]f32; 2 | h (2*n = h at sizes.lift:2:26)");
  CHECK(signature("xs: [n + 3]f32", "xs: [h]f32", "xs") == "[h - 3]f32; 1 <= h - 3 (n + 3 = h at sizes.lift:2:26)");
  // What is demanded of the sizes suffices for what follows from it.
  CHECK(parseProgram(*addSource("sizes.lift",
                                "def twice(xs: [2 * n]f32): [2 * n]f32 = map(square, xs)\n"
                                "def main(xs: [h]f32): [h]f32 = zipWith(add, xs, twice(twice(xs)))"))
            .conditions.size() == 1);
}

TEST_CASE("a function of a tuple, local or a definition, takes the components as arguments") {
  const std::string defs = "def h((a, (b, c))) = 100 * a + 10 * b + c\ndef main = ";
  using V = std::vector<double>;
  CHECK(valuesOf(defs + "let f = fun (a, b) => 10 * a + b in f(1, 2)") == V{12});
  CHECK(valuesOf(defs + "let f = fun (a, b) => 10 * a + b in f((1, 2)) + f(b = 3, 4)") == V{12 + 43});
  CHECK(valuesOf(defs + "let f = fun (a, (b, c)) => 10 * a + b - c in let g = f in g(1, (2, 3))") == V{9});
  CHECK(valuesOf(defs + "let f = fun (xs, k) => map(fun x => x + k, xs) in f(split(1, [1, 2]) |> join, 3)") == V{4, 5});
  CHECK(valuesOf(defs + "3 |> (fun (a, b) => 10 * a + b)(2)") == V{23});
  CHECK(valuesOf(defs + "let f = fun (g, (a, b)) => g(a) - b in f(fun x => 10 * x, (2, 3)) + f(g = abs, (2, 3))") ==
        V{17 - 1});
  CHECK(valuesOf(defs + "(fun (a, b) => 10 * a + b)(2, 3)") == V{23});
  CHECK(valuesOf(defs + "h(1, (2, 3)) + h((4, (5, 6)))") == V{123 + 456});
}

TEST_CASE("what a program uses twice is elaborated once and computed once") {
  // Each would take 2^200 steps as a tree.
  const auto chain = [](const std::string& first, const std::string& next, const std::string& last) {
    std::string text = fmt::format(fmt::runtime(first), 0);
    for (int i = 1; i <= 200; ++i) text += fmt::format(fmt::runtime(next), i, i - 1);
    return text + fmt::format(fmt::runtime(last), 200);
  };
  const std::string main = "def main(xs: [2]f32) = map(d{}, xs)";
  const std::vector<std::string> programs{
      chain("def d{}(x) = x * 0.5\n", "def d{0}(x) = (d{1}(x) + d{1}(x)) * 0.5\n", main),
      chain("def d{}(x) = x * 0.5\n", "def d{0}(x) = if x > {0}.0 then d{1}(x) else d{1}(x) - 1.0\n", main),
      chain("def d{} = 0.5\n", "def d{0} = d{1} * d{1}\n", "def main(xs: [2]f32) = map(fun x => x + d{}, xs)"),
      chain("def d{}(x) = x * 0.5\n", "def d{0}(x) = d{1}(x + 1.0) * 0.5\n", main),
      chain("def d{}(xs) = map(sqrt, xs)\n", "def d{0}(xs) = zipWith(min, d{1}(xs), d{1}(xs))\n",
            "def main(xs: [2]f32) = d{}(xs)"),
      chain("def d{}(f, x) = f(x)\n", "def d{0}(f, x) = d{1}(f, x) - d{1}(f, x)\n",
            "def main(xs: [2]f32) = map(d{}(sqrt), xs)"),
      chain("def main(xs: [2]f32) = let d{} = fun x => x * 0.5 in\n", "let d{0} = fun x => d{1}(x) - d{1}(x) in\n",
            "map(d{}, xs)"),
  };
  for (const std::string& text : programs) {
    const Program program = parseProgram(*addSource("chain.lift", text));
    verify(program);
    const std::string printed = print(program);  // indentation aside, in proportion to the text
    CHECK(std::count_if(printed.begin(), printed.end(), [](char c) { return c != ' '; }) < 8 * std::ssize(text));
    CHECK(interpret(program, {{"xs", Tensor(Scalar::f32, {2})}}).at("out").size() == 2);
  }
}

TEST_CASE("what is printed reads back and prints the same") {
  std::vector<const SourceFile*> files = allPrograms();
  for (const char* text : {"def main = generate(3, id)", "def sum(xs: [n]f32, k: nat) = reduce(f32(k), add, xs)",
                           "def two(x) = (x, x + 1.0)\ndef main(x: f32) = (two(sqrt(x)).0 + two(sqrt(x)).1)"})
    files.push_back(addSource("print.lift", text));
  for (const SourceFile* file : files) {
    INFO(file->name);
    const Program program = parseProgram(*file);
    const std::string text = print(program);
    const Program again = parseProgram(*addSource("printed.lift", text));
    CHECK(print(again) == text);
    CHECK(canonical(again) == canonical(program));
  }
}

TEST_CASE("a printed program has its own name, unless that would hide a primitive of its text") {
  const auto printed = [](const char* text) { return print(parseProgram(*addSource("print.lift", text))); };
  CHECK(printed("def dot(x: [n]f32) = sum(x)").substr(0, 8) == "def dot(");
  CHECK(printed("def reduce'(x: [n]f32) = sum(x)").substr(0, 12) == "def reduce'(");
  CHECK(printed("def reduce(x: [n]f32) = sum(x)").substr(0, 12) == "def reduce'(");
}

TEST_CASE("inputs keep their names in print, unless these would hide what the text says") {
  const auto inputs = [](const std::string& text) {
    const Program program = parseProgram(*addSource("print.lift", text)),
                  again = parseProgram(*addSource("printed.lift", print(program)));
    CHECK(print(again, Names::canonical) == print(program, Names::canonical));
    std::string names;
    for (const Expr p : again.parameters) names += (names.empty() ? "" : " ") + p.name();
    return names;
  };
  CHECK(inputs("def main(xs: [n]f32, at: [m]i32, zip: f32) = map(fun i => xs[i] * zip, at)") == "xs at zip");
  CHECK(inputs("def f = zip\ndef main(zip: [n]f32, add: f32) = map(fun (a, b) => a + b * add, f(zip, zip))") ==
        "x add");
  CHECK(inputs("def main(max: f32, min: f32) = if max > min then max else min") == "max min");
}

TEST_CASE("another name for what only moves data costs no let") {
  CHECK(print(parseProgram(*addSource("print.lift",
                                      "def f((a, b)) = a * b\n"
                                      "def main(p: ((f32, f32), f32)) = f(p.0)")))
            .find("let") == std::string::npos);
}

TEST_CASE("a mistake is one error, at a place of the user's") {
  const std::vector<std::string> programs{
      "def main(xs: [n]f32): f32 = sum(xs) + true",
      "def main(xs: [n]f32): [n]f32 = map(foo, xs)",
      "def f(a, b) = a + b\n"
      "def main(xs: [n]f32): [n]f32 = map(f, xs)",
      "def main(xs: [n][m]f32): [n][m]f32 = map2D(fun x => x + 1i32, xs)",
      "def main(xs: [n]f32): f32 = maximum(map(fun (a, b) => a, xs))",
      "def main(xs: [n]f32, ys: [m]f32): [n]f32 = zipWith(add, xs, ys)",
      "def main(xs: [n]f32): f32 = let a = xs.1 in a + a * 2.0",
      "def main(xs: [n]f32): f32 = reduce(0, add, xss)",
      "def main(xs: [n]i32): f32 = sum(xs)",
      "def main(xs: [n]i32): f32 = average(xs)",
      "def main(xs: [n]f32): [n]f32 = map2D(sqrt, xs)",
      "def main(xs: [h][w]f32): [h]f32 = map(fun row => row * 2.0, xs)",
      "def main(xs: [h][w]f32) = slide2D(3, 3, xs)",
      "def main(xs: [h][w]f32) = slide2D(3, 3, 1, 1, 1, xs)",
      "def main(xs: [h][w]f32) = pad2D(1, 1, 1, 1, true, xs)",
      "def main(xs: [h]f32) = pad2D(1, 1, 1, 1, 0.0, xs)",
      "def main(xs: [n]f32) = reduce(add, 0.0, xs)",
      "def main(xs: [n]f32) = map(xs, sqrt)",
      "def main(xs: [n]f32) = xs + xs",
      "def main(xs: [n]f32) = xs * 2.0",
      "def main(xs: [n]f32) = scan(add, xs)",
      "def main(xs: [n]f32) = if xs then 1 else 2",
      "def main(xs: [n]f32) = map(fun x => if x then 1.0 else 2.0, xs)",
      "def main(xs: [n]f32) = let (a, b) = xs in a + b",
      "def main(xs: [n]f32) = generate(n, fun i => xs[i] + i)",
      "def main(xs: [n]f32) = generate(m, fun i => xs[i])",
      "def main(xs: [n]f32) = generate2D(n, n, fun i => xs[i])",
      "def main(xs: [n]f32) = xs[1.5]",
      "def main(xs: [n]f32) = xs[0][1]",
      "def main(xs: [n]f32) = (xs(0), 1)",
      "def main(xs: [n]f32) = sqrt(xs)",
      "def main(x: i32) = sqrt(x)",
      "def main(x: f32) = bitAnd(x, 1)",
      "def main(xs: [n]f32): [m]f32 = xs",
      "def main(xs: [n]f32): f32 = xs",
      "def main(xs: [n]f32): [n]i32 = map(sqrt, xs)",
      "def main(xs: [n]f32) = split(k, xs)",
      "def main(xs: [8]f32) = split(3, xs) |> map(sum)",
      "def main(xs: [n]f32) = iterate(3, fun x => x[0], xs)",
      "def main(xs: [n]f32) = zip(xs, 3)",
      "def main(xs: [n]f32) = unzip(xs)",
      "def main(xs: [n]flot) = xs",
      "def half(x: i32) = x / 2\n"
      "def main(xs: [n]f32) = map(half, xs)",
      "def half(x) = x / 2i32\n"
      "def main(xs: [n]f32) = (map(half, xs), map(half, xs), map(half, map(half, xs)))",
      "def norm(xs) = sqrt(sum(map(fun x => x * y, xs)))\n"
      "def main(xs: [n]f32) = (norm(xs), norm(map(sqrt, xs)), norm(xs) + 1.0)",
      "def blur(img) = img |> pad2D(1,1,1,1,0.0) |> slide2D(3,3,1,1) |> map2D(fun w => reduce(0.0, add, w) / 9.0)\n"
      "def main(img: [h][w]f32): [h][w]f32 = blur(img)",
      "def main(xs: [n]f32) = reduce(0.0, fun acc => acc, xs)",
      "def main(xs: [n]f32) = reduce(0.0, fun (acc, x, y) => acc + x, xs)",
      "def main(xs: [n]f32) = map(fun x => undefined1 + x, xs) |> sum",
      "def main(xs: [n]f32, ys: [n]i32) = zipWith(mul, xs, ys)",
      "def main(xs: [n]f32, ys: [n]i32) = dotProduct(xs, ys)",
      "def main(a: [n][k]f32, b: [k][m]f32) = map(fun row => map(fun col => dotProduct(row, col), b), a)",
      "def main(xs: [n]f32) = transpose(xs)",
      "def main(xs: [n]f32) = join(xs)",
      "def main(xs: [n]f32) = take(xs, 3)",
      "def main(xs: [n]f32) = fill(xs, 0)",
      "def main(xs: [n]f32) = let m = maximum(xs) in map(fun x => exp(x - m) / sum(x), xs)",
      "def main(xs: [n][3]f32) = map(fun (x, y, z) => sqrt(x*x + y*y + z*z), xs)",
      "def main(xs: [n](f32, f32)) = map(fun p => p.x * p.y, xs)",
      "def main(xs: [n](f32, f32)) = map(fun p => p.2, xs)",
      "def main(xs: [n]f32) = map(map(sqrt), xs)",
      "def main(xs: [n]f32) = reduce2D(0.0, add, xs)",
      "def main(xs: [4]f32) = xs[7]",
      "def main(xs: [n]f32): f32 = let s = sum(xs, 0) in s",
      "def main(xs: [n]f32) = map(fun x => pow(x), xs)",
      "def main(xs: [n]f32) = sum(xs) |> map(sqrt)",
      "def main(xs: [n]f32) = map(fun i => xs[i], generate(n, id)) |> zip(xs) |> map(fun (a, b, c) => a)",
  };
  REQUIRE(programs.size() >= 40);
  for (const std::string& text : programs) {
    INFO(text);
    const std::vector<Diagnostic> errors = errorsOf(text);
    INFO(render(errors));
    CHECK(errors.size() == 1);
    for (const Diagnostic& e : errors) {
      CHECK(e.span.file->name == "mistake.lift");
      for (const Diagnostic& note : e.notes) CHECK(note.span.file->name == "mistake.lift");
    }
  }
}
