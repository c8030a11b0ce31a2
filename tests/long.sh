#!/usr/bin/env bash
# The long form of what scripts/test.sh runs a sample of: 20,000 random programs, interpreter against emulator.
# tests/long.sh [BUILD [SEED]]; needs scripts/build.sh release first.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build} seed=${2:-1}
echo "long: 20000 random programs, seed $seed"
LIFT_DIFF_COUNT=20000 LIFT_DIFF_SEED=$seed "$build/test_differential"
