// Kernels and plans: what the code generator produces and what every device consumes.
//
// A kernel is plain data: a small imperative tree over flat buffers of scalars, its arguments and its NDRange. The
// OpenCL printer, the emulator and the counters read the same tree. Memory indices are symbolic integers (Nat) in
// units of scalars; sizes that are not constant appear as variables of role `size` and become kernel arguments.
// Nothing here knows of terms.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lift/image_layout.hpp"
#include "lift/nat.hpp"
#include "lift/node.hpp"
#include "lift/ops.hpp"
#include "lift/scalar.hpp"
#include "lift/source.hpp"

namespace lift::kernel {

// ---------------------------------------------------------------------------------------------------- declarations

enum class AddressSpace : std::uint8_t { global, local, priv, constant };

// A register value: a scalar (width 1) or an OpenCL vector of width 2, 3, 4, 8 or 16.
// f16 never appears here: it is a storage type, loads widen to f32 and stores narrow.
struct ValueType {
  Scalar scalar = Scalar::f32;
  int width = 1;
  friend bool operator==(ValueType, ValueType) = default;
};

using BufferId = std::uint32_t;  // index into Kernel::buffers
using VarId = std::uint32_t;     // index into Kernel::variables

// A flat array. Global ones are kernel arguments; local ones are declared at the top of the kernel; private ones where
// their Allocate statement stands; constant ones are tables of `values` that the program contains. `width` > 1 is a
// private array of vectors: indices are then in units of vectors.
struct Buffer {
  std::string name;
  Scalar scalar = Scalar::f32;
  int width = 1;
  AddressSpace space = AddressSpace::global;
  Nat count;                          // elements
  bool readOnly = false;              // global only: printed const
  std::vector<ScalarValue> values{};  // constant only
  bool isImage = false;               // global only, see ImageLayout; a kernel reads all of it or stores to it
};

struct Variable {
  std::string name;
  ValueType type;
};

// ----------------------------------------------------------------------------------------------------- expressions

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;  // never null, immutable, may be shared

struct Literal {
  ScalarValue value;
};  // splat when the type is a vector
struct Index {
  Nat value;
};  // an index as an i32 value
struct VarRef {
  VarId variable;
};
struct Load {
  BufferId buffer;
  Nat index;
};  // type().width consecutive scalars from `index`
struct Operation {
  Op op;
  std::vector<ExprPtr> args;
};  // all args of the expression's width
struct Convert {
  ExprPtr value;
};  // lane-wise conversion to type().scalar
struct Splat {
  ExprPtr value;
};  // scalar to every lane
struct Lane {
  ExprPtr vector;
  int lane;
};
struct AnyLane {
  ExprPtr vector;
};  // bool: whether a lane of a vector of booleans holds
struct MakeVector {
  std::vector<ExprPtr> lanes;
};
enum class Relation : std::uint8_t { less, lessEqual, equal, notEqual };
bool holds(std::int64_t lhs, Relation relation, std::int64_t rhs);
struct Comparison {
  Nat lhs;
  Relation relation;
  Nat rhs;

  friend bool operator==(const Comparison&, const Comparison&) = default;
};
struct Test {
  std::vector<Comparison> all;
};  // bool: the conjunction; empty is true
struct Choose {
  ExprPtr condition, then, otherwise;
};  // evaluates only the chosen side (C's ?:); scalar condition

struct Expr {
  ValueType type;
  std::variant<Literal, Index, VarRef, Load, Operation, Convert, Splat, Lane, AnyLane, MakeVector, Test, Choose> node;
};

// ------------------------------------------------------------------------------------------------------ statements

struct Stmt;
using Block = std::vector<Stmt>;

struct Declare {
  VarId variable;
  std::optional<ExprPtr> value;
};
struct Assign {
  VarId variable;
  ExprPtr value;
};
struct AssignLane {
  VarId variable;
  int lane;
  ExprPtr value;
};
struct DeclareIndex {
  NatVar variable;
  ExprPtr value;
};  // names an integer for use inside Nats
// Of the value's width consecutive scalars. `streams`: past the caches, on targets that can; of vectors only.
// `update`: put together with what is there by that operation, at once, whatever other work-items do there by the same
// one; of numbers of 32 bits in local or global memory (isAtomic).
struct Store {
  BufferId buffer;
  Nat index;
  ExprPtr value;
  bool streams = false;
  std::optional<Op> update = {};
};
// Asks for the cache line of global memory that holds an element, which is going to be stored to. A hint: any index may
// be given, also one of no element.
struct Prefetch {
  BufferId buffer;
  Nat index;
};
struct Allocate {
  BufferId buffer;
};  // private array, uninitialised
// Runs `body` for index = 0 … count-1. Sequential loops run in order. The others are distributed over the NDRange in
// dimension `dim`: group loops over work-groups, local loops over the work-items of a group, global loops over all
// work-items; id, id + n, id + 2n, … where n is the number of groups, local size, or global size.
enum class LoopKind : std::uint8_t { sequential, group, local, global };
// What is proved about the number of iterations one work-item makes of a parallel loop.
enum class Trip : std::uint8_t { any, atMostOnce, exactlyOnce };
struct For {
  NatVar index;
  Nat count;
  LoopKind kind = LoopKind::sequential;
  int dim = 0;
  Trip trip = Trip::any;
  int unroll = 0;  // sequential: 0 as the compiler likes, 1 never, n by n, -1 completely (before printing)
  Block body;
  std::optional<VarId> running = {};  // sequential: a bool that ends the loop when an iteration leaves it false
};
struct If {
  ExprPtr condition;
  Block then;
  Block otherwise;
};
struct Barrier {
  bool local = false;
  bool global = false;
};
// The variable's values in all work-items of the group are put together by the operation, which is associative and
// commutative, and are its value in each. All of them reach it. `parts`: local memory for one value of each.
struct Combine {
  VarId variable;
  Op op;
  BufferId parts;
};
struct Comment {
  std::string text;
};
// The program or its data is wrong: records the site, the value (an i32) and what it was held against in the kernel's
// buffer of faults, unless there is one already. The kernel goes on.
struct Fault {
  int site;  // of Plan::sites, counted from 1
  ExprPtr value;
  Nat bound;
};

struct Stmt {
  std::variant<Declare, Assign, AssignLane, DeclareIndex, Store, Prefetch, Allocate, For, If, Barrier, Combine, Comment,
               Fault>
      node;
};

// --------------------------------------------------------------------------------------------------------- kernels

// Launch geometry; sizes may be symbolic. `global` is in work-items and a multiple of `local`.
struct NDRange {
  std::array<Nat, 3> global{Nat(1), Nat(1), Nat(1)};
  std::array<Nat, 3> local{Nat(1), Nat(1), Nat(1)};
};

struct Kernel {
  std::string name;
  std::vector<Buffer> buffers;
  std::vector<Variable> variables;
  std::vector<BufferId> arguments;  // global buffers, in argument order
  std::vector<NatVar> sizes;        // int arguments after the buffers
  Block body;
  NDRange range;
  bool storesOnce = false;              // an element of a buffer that is never read is stored by one work-item only
  std::optional<BufferId> faults = {};  // three i32: site, value, bound of the first Fault; -1 before
};

// ----------------------------------------------------------------------------------------------------------- plans

// A device buffer of a plan. Inputs and outputs are leaves of the program's parameters and result: a tuple of arrays
// has one buffer per component, named "x.0", "x.1".
struct PlanBuffer {
  enum class Role : std::uint8_t { input, output, temporary };
  std::string name;
  Scalar scalar = Scalar::f32;
  std::vector<Nat> shape;  // vectors are a trailing dimension
  Role role = Role::temporary;
  bool isImage = false;  // temporaries only
  Nat count() const;     // product of the shape
};

struct Launch {
  int kernel = 0;              // index into Plan::kernels
  std::vector<int> arguments;  // indices into Plan::buffers, one per kernel argument
};

// Where a kernel may find the program or its data wrong; "{}" in the message are the value and the bound of the Fault.
struct Site {
  Span span;
  std::string message;
};

// Launches [first, last), run `count` times. After each time the two buffers of a pair change places: what was written
// as the second is read as the first. Both are temporaries of one shape.
struct LaunchLoop {
  // What the launches in front of number `at` leave in a temporary of one bool; where it is false, the loop ends there.
  struct Condition {
    std::size_t at = 0;  // first < at <= last
    int buffer = 0;
  };
  std::size_t first = 0;
  std::size_t last = 0;
  Nat count;  // with a condition, at most so many times
  std::vector<std::pair<int, int>> swaps;
  std::optional<Condition> condition = {};
};

struct Plan {
  std::string name;
  std::vector<NatVar> sizes;  // symbolic sizes that callers bind (inferred from input shapes where possible)
  std::vector<PlanBuffer> buffers;
  std::vector<Kernel> kernels;
  std::vector<std::string> sources;  // what is compiled, one per kernel: OpenCL C, or C (CompileTarget::isC)
  std::vector<Launch> preparation;   // run once per set of weights
  std::vector<Launch> launches;      // run per call, in order
  std::vector<LaunchLoop> loops;     // of `launches`; in order of their beginnings, outer ones before inner ones
  std::vector<Site> sites;           // of the kernels' Faults
  std::optional<int> faults = {};    // the buffer that they are recorded in, an output whose every byte starts as 0xFF
};

// Calls `launch` with the position of each launch in the order in which they run, `swap` for what loops exchange, and
// `holds` for what the buffer of a condition holds then.
void forEachLaunch(std::size_t launches, const std::vector<LaunchLoop>& loops,
                   const std::function<std::int64_t(Nat)>& evaluate, const std::function<void(std::size_t)>& launch,
                   const std::function<void(int, int)>& swap, const std::function<bool(int)>& holds);
// How often each launch of a call runs, where conditions hold to the end.
std::vector<double> timesOfLaunches(const Plan& plan, const std::function<std::int64_t(Nat)>& evaluate);

// ------------------------------------------------------------------------------------------------- building blocks

ExprPtr literal(ScalarValue value, int width = 1);
ExprPtr index(Nat value);
ExprPtr ref(VarId variable, ValueType type);
ExprPtr load(BufferId buffer, Nat at, ValueType type);
ExprPtr operation(Op op, std::vector<ExprPtr> args);  // result type from the table
ExprPtr test(std::vector<Comparison> all);
ExprPtr choose(ExprPtr condition, ExprPtr then, ExprPtr otherwise);
ExprPtr splat(ExprPtr value, int width);
ExprPtr lane(ExprPtr vector, int lane);
ExprPtr anyLane(ExprPtr vector);  // of booleans
ExprPtr makeVector(std::vector<ExprPtr> lanes);
bool isSameLiteral(const ExprPtr& a, const ExprPtr& b);  // both are literals, of one type and value
ExprPtr convertTo(ExprPtr value, Scalar to);             // to f16: a conversion to f32, f16 being a storage type only

// The builders check types (InternalError). Ids count up in the order of declaration.
BufferId addBuffer(Kernel& kernel, Buffer buffer);  // a global one also becomes the next argument
VarId addVariable(Kernel& kernel, std::string name, ValueType type);

// ------------------------------------------------------------------------------------------------- whole kernels

// Throws InternalError that says what is wrong: types and widths of expressions, ids out of range, variables and
// buffers used outside the scope of their one declaration, index variables that nothing in scope defines.
void verify(const Kernel& kernel);

// OpenCL C 1.2. Deterministic; names derive from those in the kernel. Index arithmetic is `int` where no constant
// bound exceeds it: with symbolic sizes, buffers must have fewer than 2^31 elements (`checkSizes`).
// Throws UserError for what the language cannot say: a local or private array of symbolic size, an access of an image
// that is no whole texel.
struct OpenclOptions {
  // Vectors of 2, 4, 8 and 16 at places of global memory that are proved to be aligned are accessed as such, not by
  // vload, which some compilers of GPUs (Mali's, Adreno's, NVIDIA's) turn into a load of each element.
  bool alignedVectors = false;
};
std::string printOpenCL(const Kernel& kernel, const OpenclOptions& options = {});

// The kernels as functions of C11 with the vector extensions of GCC and Clang, static ones of the names given. Each
// takes the kernel's arguments and runs all its work-items, sharing independent loops among threads where OpenMP is on.
// Throws UserError (status program) for a kernel that is no plain C.
struct CKernels {
  std::string text;  // with the includes, types and functions that they need
  std::vector<std::string> names;
};
CKernels printC(const std::vector<Kernel>& kernels);
// Why not: its work-items wait for each other in the middle of their work, or keep values from one parallel loop to the
// next. Empty for a kernel that is plain C.
std::string whyNotC(const Kernel& kernel);

// What the kernel asks of a device, besides its work-groups: bytes of local memory of each of these, and arithmetic
// in a scalar type that not all devices have, f64 or h16.
Nat localBytes(const Kernel& kernel);
bool computesIn(const Kernel& kernel, Scalar scalar);

// The identifier nearest to `wish` that OpenCL C and its headers leave free; valid names of kernels are those it keeps.
std::string openclIdentifier(std::string_view wish);

// What must fit an `int`, too, where it is of the kernel's sizes: upper bounds of what its indices clamp, divide or
// compare, which may lie beyond all buffers.
std::vector<Nat> boundsOfIndices(const Kernel& kernel);

// Throws UserError unless a binding of the symbolic sizes fits the `int` arguments and indices of the printed kernel.
void checkSizes(const Kernel& kernel, const std::map<NatVar, std::int64_t>& sizes);

}  // namespace lift::kernel
