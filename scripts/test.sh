#!/usr/bin/env bash
# Sets up, builds and runs the tests. First those of the language, the rewriter and the kernels under AddressSanitizer and
# UndefinedBehaviorSanitizer, then all tests in the release build, whose summary is the last thing printed. Fails when
# either fails. With --sanitize-all, all tests that need no device run under sanitizers: twice the time.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh tests
sanitized=(support nat tensor ir text rewrite kernel views constraints reduce codegen programs)
if [[ ${1-} == --sanitize-all ]]; then
  scripts/build.sh asan
  chosen=()
else
  scripts/build.sh asan "${sanitized[@]/#/test_}"
  chosen=(--tests-regex "^($(IFS='|' && echo "${sanitized[*]}")):")
fi
scripts/build.sh release

# The processor's OpenCL device, unless the caller wants another one; caches of this run only.
export LIFTC_PLATFORM=${LIFTC_PLATFORM-Portable Computing Language}
export POCL_CACHE_DIR=$PWD/build/test-cache/pocl XDG_CACHE_HOME=$PWD/build/test-cache
mkdir -p "$POCL_CACHE_DIR"

run_tests() { ctest --test-dir "$1" --parallel "$(nproc)" --output-on-failure --no-tests=error "${@:2}"; }

failed=0
echo "test: without a device, under sanitizers"
ulimit -S -s 65536 || true  # KiB; sanitized frames are several times as large, and some tests nest deeply on purpose
# Sweeps over many inputs of what other tests run on a few, and tests about times; the release build runs them all. They
# compile and interpret for minutes, or start hundreds of processes.
sweeps=(
  'kernels are those that are recorded' 'every step of a derivation keeps types' 'derivations of families replay'
  'derivation of a recognised convolution replays' 'random configurations of families'
  'tensors in the layouts of their callers' 'computed of a layer.s outputs' 'that keep the order of sums'
  '^conv: *families of a layer derive the parts' 'every program of the catalogue is right when its parts'
  '^operators: *parts compute what the program does' 'parts of symbolic sizes have families'
  'random products and stencils mean the same' 'the interpreter computes what the references compute'
  'kernels launched with other work-group sizes' 'C computes what the references of the catalogue'
  '^c_target: *every operation means the same in C' '^tune: many points$' '^tune: killed and resumed$'
  '^cli: (print|tune_replay|compile_programs)$' '^bench: compile$' 'cases, made small, on the emulator'
  'no game of pebbles'
)
sweep=$(IFS='|' && echo "${sweeps[*]}")
run_tests build-asan --label-regex '^null$' "${chosen[@]}" --exclude-regex "$sweep" >build-asan/test.log 2>&1 || failed=1
for module in "${sanitized[@]}"; do
  grep -qE "Test +#[0-9]+: $module:" build-asan/test.log && continue
  echo "test: no test of $module ran under sanitizers"
  failed=1
done
grep -A1000 -E '^[0-9]+% tests passed' build-asan/test.log | sed 's/^/asan: /' || true
if ((failed)); then
  cat build-asan/test.log
  echo "test: FAILED under sanitizers"
fi

echo "test: everything"
run_tests build || failed=1
exit "$failed"
