#!/usr/bin/env bash
# measure_defaults.sh [RECORDS]: measures the configurations that ship with liftc (src/tune/defaults.jsonl) for the
# default device once more, and writes them anew: after a change to the kernels of convolutions, so that they are known
# by what is made of them now. Those of other devices stay as they are. RECORDS, what `liftc db export --best` wrote of
# sweeps on the default device, takes the place of what ships for it.
set -euo pipefail
cd "$(dirname "$0")/.."

defaults=src/tune/defaults.jsonl
records=${1:-$defaults}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
field() { sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/"; }
device=$(build/liftc devices --json | grep -m1 '"name"' | sed -E 's/.*"name": "(.*)",?$/\1/')
idIn() { grep -F "\"kind\":\"device\"" "$1" | grep -F "\"name\":\"$device\"" | field id; }

id=$(idIn "$records") || { echo "measure_defaults: $records has nothing of $device" >&2; exit 1; }
shipped=$(idIn "$defaults") || shipped=none
grep -vF -e "\"device\":\"$shipped\"" -e "\"id\":\"$shipped\"" "$defaults" >"$folder/others.jsonl"
build/liftc db import "$folder/others.jsonl" --db "$folder/tune.db"
grep '"kind":"measurement"' "$records" | grep -F "\"device\":\"$id\"" | while read -r row; do
  key=$(field problem <<<"$row")
  label=$(grep -F "\"key\":\"$key\"" "$records" | field label)
  config=$(sed -E 's/.*"config":\{([^}]*)\}.*/\1/; s/"//g; s/:/=/g' <<<"$row")
  build/liftc tune --conv "${key#conv }n\"$label\"" --family "$(field family <<<"$row")" --fix "$config" --points 1 \
    --db "$folder/tune.db" --quiet </dev/null
done
build/liftc db export --db "$folder/tune.db" --best --output "$folder/best.jsonl"
mv "$folder/best.jsonl" "$defaults"
