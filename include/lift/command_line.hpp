// liftc's command line, for programs that add operators of their own:
//
//   int main(int argc, char** argv) {
//     lift::registerOperator(maxPool());
//     return lift::commandLine(argc, argv);
//   }
//
// Such a program has all of liftc's subcommands, and `op`, `tune`, `bench` and `explain` know its operators. (The
// tuner measures in processes of the same program.)
#pragma once

namespace lift {

// Returns the exit status: 0 done, 1 the program or data is wrong, 2 usage, 3 device or driver, 4 results wrong.
int commandLine(int argc, char** argv);

}  // namespace lift
