#!/usr/bin/env bash
# run_example.sh LIFTC FILE ENGINE: runs an example at the sizes of its `-- test:` line on an engine (print, emulator,
# native, opencl, oclgrind) and compares with the interpreter.
set -euo pipefail
liftc=$1 file=$2 engine=$3
read -ra sizes < <(sed -n 's/^-- test: *//p' "$file")
[[ ${#sizes[@]} -gt 0 ]] || { echo "$file has no line '-- test: sizes'"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ $engine == print ]]; then
  "$liftc" print --canonical "$file" >"$work/once.lift"
  "$liftc" print --canonical "$work/once.lift" >"$work/twice.lift"
  diff "$work/once.lift" "$work/twice.lift"
  exit
fi

"$liftc" eval "$file" "${sizes[@]}" --fill random:7 -o "$work/expected.npz" --quiet
case $engine in
  emulator | native) "$liftc" run "$file" "${sizes[@]}" --fill random:7 --device "$engine" --expect "$work/expected.npz" ;;
  opencl) "$liftc" run "$file" "${sizes[@]}" --fill random:7 --expect "$work/expected.npz" ;;
  oclgrind)
    "$(dirname "$0")/../oclgrind.sh" "$liftc" run "$file" "${sizes[@]}" --fill random:7 \
      --build-options -cl-opt-disable --expect "$work/expected.npz"
    ;;
  *) echo "unknown engine $engine"; exit 1 ;;
esac
