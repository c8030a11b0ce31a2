// Crashes of drivers.
#pragma once

namespace lift::liftc {

// From now on, where a signal like SIGSEGV ends the process while a driver builds or runs kernels, says so first.
void tellOfDriverCrashes();

}  // namespace lift::liftc
