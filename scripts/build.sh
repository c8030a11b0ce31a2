#!/usr/bin/env bash
# Configures and builds one preset of CMakePresets.json: scripts/build.sh PRESET [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:+$CCACHE_SLOPPINESS,}pch_defines,time_macros  # for precompiled headers
fi

targets=()
if (($# > 0)); then targets=(--target "$@"); fi

echo "build: preset $preset${*:+, only $*}"
cmake --preset "$preset" --log-level=WARNING "${launcher[@]}"
cmake --build --preset "$preset" "${targets[@]}"
