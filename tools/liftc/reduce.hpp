// liftc reduce.
#pragma once

#include "cli/cli.hpp"

namespace liftc {

void addReduce(cli::App& app, int& status);

}  // namespace liftc
