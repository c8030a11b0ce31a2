// Names of OpenCL's error codes, and what to do about some of them.
#include <fmt/format.h>

#include "cl_bindings.hpp"

namespace lift::runtime {
namespace {

struct Row {
  int code;
  const char* name;
  const char* hint = "";
};

constexpr const char* memoryHint = "another program may be using the device's memory; try a smaller problem";
constexpr const char* driverHint = "`liftc devices` shows which drivers work; clinfo may say why this one does not";

// The codes themselves, not the macros: older headers lack some.
constexpr Row rows[] = {
    {0, "CL_SUCCESS"},
    {-1, "CL_DEVICE_NOT_FOUND", driverHint},
    {-2, "CL_DEVICE_NOT_AVAILABLE", driverHint},
    {-3, "CL_COMPILER_NOT_AVAILABLE", "the driver has no compiler; use another device"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE", memoryHint},
    {-5, "CL_OUT_OF_RESOURCES", "the kernel may need too many registers or too much local memory, or ran too long"},
    {-6, "CL_OUT_OF_HOST_MEMORY", "the host ran out of memory"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-9, "CL_IMAGE_FORMAT_MISMATCH"},
    {-10, "CL_IMAGE_FORMAT_NOT_SUPPORTED"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-12, "CL_MAP_FAILURE"},
    {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", "a kernel failed while it ran"},
    {-15, "CL_COMPILE_PROGRAM_FAILURE"},
    {-16, "CL_LINKER_NOT_AVAILABLE"},
    {-17, "CL_LINK_PROGRAM_FAILURE"},
    {-18, "CL_DEVICE_PARTITION_FAILED"},
    {-19, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"},
    {-30, "CL_INVALID_VALUE"},
    {-31, "CL_INVALID_DEVICE_TYPE"},
    {-32, "CL_INVALID_PLATFORM"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-35, "CL_INVALID_QUEUE_PROPERTIES"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-37, "CL_INVALID_HOST_PTR"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-39, "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR"},
    {-40, "CL_INVALID_IMAGE_SIZE"},
    {-41, "CL_INVALID_SAMPLER"},
    {-42, "CL_INVALID_BINARY"},
    {-43, "CL_INVALID_BUILD_OPTIONS", "the driver does not know one of the build options"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-47, "CL_INVALID_KERNEL_DEFINITION"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-53, "CL_INVALID_WORK_DIMENSION"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-56, "CL_INVALID_GLOBAL_OFFSET"},
    {-57, "CL_INVALID_EVENT_WAIT_LIST"},
    {-58, "CL_INVALID_EVENT"},
    {-59, "CL_INVALID_OPERATION"},
    {-60, "CL_INVALID_GL_OBJECT"},
    {-61, "CL_INVALID_BUFFER_SIZE", memoryHint},
    {-62, "CL_INVALID_MIP_LEVEL"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {-64, "CL_INVALID_PROPERTY"},
    {-65, "CL_INVALID_IMAGE_DESCRIPTOR"},
    {-66, "CL_INVALID_COMPILER_OPTIONS"},
    {-67, "CL_INVALID_LINKER_OPTIONS"},
    {-68, "CL_INVALID_DEVICE_PARTITION_COUNT"},
    {-69, "CL_INVALID_PIPE_SIZE"},
    {-70, "CL_INVALID_DEVICE_QUEUE"},
    {-71, "CL_INVALID_SPEC_ID"},
    {-72, "CL_MAX_SIZE_RESTRICTION_EXCEEDED"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR", driverHint},
    {-9999, "an illegal access of memory (NVIDIA)", "this is a bug of liftc; the emulator device finds the access"},
};

const Row* rowOf(int code) {
  for (const Row& row : rows)
    if (row.code == code) return &row;
  return nullptr;
}

}  // namespace

std::string clErrorName(int code) {
  const Row* row = rowOf(code);
  return fmt::format("{} ({})", row != nullptr ? row->name : "unknown error", code);
}

UserError clFailure(const std::string& doing, const cl::Error& error) {
  const Row* row = rowOf(error.err());
  return {ExitStatus::device,
          fmt::format("cannot {}: {} failed with {}", doing, error.what(), clErrorName(error.err())),
          row != nullptr ? row->hint : ""};
}

}  // namespace lift::runtime
