#!/usr/bin/env bash
# run.sh [SECONDS [NAME…]]: builds the fuzzers with clang (preset `fuzz`; scripts/setup.sh fuzz installs it) and runs them
# one after the other, each so many seconds (600), with the kept corpus. BUILD=FOLDER takes those that are built there. What they find lies in build-fuzz; new inputs that cover more are added to tests/fuzz/corpus by
# `build-fuzz/fuzz_NAME -merge=1 tests/fuzz/corpus/NAME build-fuzz/corpus/NAME`.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build-fuzz} seconds=${1:-600}
shift || true
names=("$@")
((${#names[@]})) || names=(program npy npz image conv tuning)
[[ -n ${BUILD:-} ]] || scripts/build.sh fuzz "${names[@]/#/fuzz_}"
for name in "${names[@]}"; do
  new=$build/corpus/$name
  mkdir -p "$new"
  more=()
  [[ $name == program ]] && more=(tests/programs)
  [[ $name == conv ]] && more=(shapes)
  echo "fuzz: $name for $seconds s"
  # What is interned stays: no search for leaks after each run.
  "$build/fuzz_$name" -detect_leaks=0 -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=4096 -print_final_stats=1 \
    -artifact_prefix="$build/fuzz_${name}_" "$new" "tests/fuzz/corpus/$name" "${more[@]}" 2>"$build/fuzz_$name.log" ||
    { tail -50 "$build/fuzz_$name.log"; exit 1; }
  grep -E "^(Done|stat::number_of_executed|stat::peak)" "$build/fuzz_$name.log"
done
