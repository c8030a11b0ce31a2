#!/usr/bin/env bash
# The long form of what scripts/test.sh runs a sample of: 20,000 random programs and all small ones, interpreter against
# emulator; 9,000 whose parts are derived; 1,000 random programs on PoCL and 200 under Oclgrind; 5,000 points of the
# tuner's; every case of tests that take a share (LIFT_SAMPLE), every seeded fault among them. Prints seeds and counts.
# The fuzzers have a script of their own: tests/fuzz/run.sh.
# tests/long.sh [BUILD [SEED]]; needs scripts/build.sh release first.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
seed=${2:-1}
echo "long: seed $seed"
# In ten processes, since terms and sizes are interned for as long as a process lives.
for part in {0..9}; do
  LIFT_DIFF_COUNT=2000 LIFT_TEST_SEED=$seed$part "$build/test_differential" "random programs*"
done
"$build/test_differential" "all small programs*"
for part in {0..9}; do LIFT_TEST_SEED=$seed$part "$build/test_operators" "random *"; done
export LIFT_TEST_SEED=$seed
LIFTC_PLATFORM="Portable Computing Language" LIFT_DIFF_CL_COUNT=1000 "$build/test_differential_cl"
LIFT_DIFF_CL_COUNT=200 tests/oclgrind.sh "$build/test_differential_cl"
# More than 5,000 points of the tuner's, of which none may fail to build or be wrong.
"$PWD/tests/tune/many_points.sh" "$build/liftc" "$PWD" "$build/cases/tune/long" 220 "$seed"
# Of what a run of the tests takes a share, all.
export LIFT_SAMPLE=all
"$build/test_conv" "every step of a derivation*,families read and write tensors in*"
"$build/test_operators" "parts of symbolic sizes*"
for test in programs_cl operators_cl; do LIFTC_PLATFORM="Portable Computing Language" "$build/test_$test"; done
# Which random judge meets a rare fault depends on the sample: the table of faults is for the default one.
LIFTC_PLATFORM="Portable Computing Language" env -u LIFT_TEST_SEED "$build/test_faults"
