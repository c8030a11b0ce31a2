#!/usr/bin/env bash
# Measures the configurations that ship with liftc (src/tune/defaults.jsonl) once more, on the default device, and writes
# them anew: after a change to the kernels of convolutions, so that they are known by what is made of them now.
set -euo pipefail
cd "$(dirname "$0")/.."

defaults=src/tune/defaults.jsonl
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
field() { sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/"; }
grep '"kind":"measurement"' "$defaults" | while read -r row; do
  key=$(field problem <<<"$row")
  label=$(grep -F "\"key\":\"$key\"" "$defaults" | field label)
  config=$(sed -E 's/.*"config":\{([^}]*)\}.*/\1/; s/"//g; s/:/=/g' <<<"$row")
  build/liftc tune --conv "${key#conv }n\"$label\"" --family "$(field family <<<"$row")" --fix "$config" --points 1 \
    --db "$folder/tune.db" --quiet </dev/null
done
build/liftc db export --db "$folder/tune.db" --best --output "$folder/best.jsonl"
mv "$folder/best.jsonl" "$defaults"
