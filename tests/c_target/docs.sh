#!/usr/bin/env bash
# docs.sh LIFTC SOURCE CC: the example of docs/c_target.md, with OpenMP and without.
set -euo pipefail
liftc=$1 source=$2 cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
sed -n '/^```c$/,/^```$/p' "$source/docs/c_target.md" | sed '/^```/d' >main.c
"$liftc" compile "$source/examples/dot.lift" --target c -o . >/dev/null
for flags in "-fopenmp -march=native" "-std=c11 -pedantic-errors"; do
  # shellcheck disable=SC2086
  "$cc" -O3 -Wall -Wextra -Werror $flags main.c dot.c -o main -lm
  [ "$(./main)" = "dot = 2000" ]
done
