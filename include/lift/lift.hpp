// Everything: the modules' headers in reading order.
#pragma once

// clang-format off
// support
#include "lift/source.hpp"
#include "lift/diagnostic.hpp"
#include "lift/scalar.hpp"
#include "lift/ops.hpp"
#include "lift/parallel.hpp"
#include "lift/rational.hpp"
#include "lift/integers.hpp"
#include "lift/stopwatch.hpp"
#include "lift/process.hpp"
#include "lift/files.hpp"
#include "lift/free_memory.hpp"
#include "lift/image_layout.hpp"
// nat, tensor
#include "lift/nat.hpp"
#include "lift/nat_code.hpp"
#include "lift/tensor.hpp"
// ir
#include "lift/type.hpp"
#include "lift/primitive.hpp"
#include "lift/expr.hpp"
#include "lift/build.hpp"
#include "lift/terms.hpp"
#include "lift/syntax.hpp"
#include "lift/interning.hpp"
#include "lift/interpreter.hpp"
#include "lift/inputs.hpp"
#include "lift/exact.hpp"
// text
#include "lift/text.hpp"
#include "lift/dsl.hpp"
// rewrite
#include "lift/rewrite.hpp"
#include "lift/rewrite_check.hpp"
#include "lift/strategies.hpp"
#include "lift/accumulation.hpp"
#include "lift/epilogue.hpp"
#include "lift/affine.hpp"
#include "lift/arranged.hpp"
#include "lift/transposition.hpp"
#include "lift/cook_toom.hpp"
// mapping
#include "lift/mapping.hpp"
// constraints, reduce
#include "lift/space.hpp"
#include "lift/reduce.hpp"
// views, kernel, codegen
#include "lift/views.hpp"
#include "lift/kernel.hpp"
#include "lift/kernel_walk.hpp"
#include "lift/kernel_passes.hpp"
#include "lift/plan_memory.hpp"
#include "lift/emulator.hpp"
#include "lift/codegen.hpp"
#include "lift/host_code.hpp"
// runtime, offline, explore
#include "lift/device.hpp"
#include "lift/vector_registers.hpp"
#include "lift/digest.hpp"
#include "lift/explore.hpp"
#include "lift/kernel_header.hpp"
#include "lift/offline.hpp"
// tune, operators
#include "lift/tune_db.hpp"
#include "lift/explorer.hpp"
#include "lift/experience.hpp"
#include "lift/tune.hpp"
#include "lift/tune_report.hpp"
#include "lift/operator.hpp"
#include "lift/parts.hpp"
// conv, bounds, predict, opset, bench, command line
#include "lift/conv.hpp"
#include "lift/conv_program.hpp"
#include "lift/conv_operator.hpp"
#include "lift/bounds.hpp"
#include "lift/predict.hpp"
#include "lift/opset.hpp"
#include "lift/bench.hpp"
#include "lift/command_line.hpp"
// clang-format on
