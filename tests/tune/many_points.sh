#!/usr/bin/env bash
# Random points of all families of many problems, of sizes that divide nothing: none may fail to build, be wrong, hang or
# crash. Usage: many_points.sh LIFTC SOURCE FOLDER POINTS [SEED [DEVICE]]; POINTS of each problem; prints how many of
# which status there were. Started again, it goes on where it was.
set -euo pipefail
liftc=$1 source=$2 work=$3 points=$4 seed=${5:-1} device=${6:-emulator}
problems=(
  "--conv ic3ih7iw13oc5kh3ph1" "--conv mb2ic4ih9oc6kh3sh2ph1" "--conv ic5ih11iw6oc7kh1ph0" "--conv ic2ih12oc3kh5ph2"
  "--conv g3ic6ih8iw5oc9kh3ph1" "--conv g4ic4ih10oc4kh3ph1" "--conv ic3ih13oc4kh3dh1ph2" "--conv ic16ih7oc16kh3ph1"
  "--conv ic8ih6iw14oc12kh2ph0" "--conv ic3ih15oc8kh7sh2ph3"
  "--op conv3d ic3id4ih5iw7oc4kd3kh3pd1ph1" "--op conv3d ic2id5ih4oc3kd2kh2pd0ph0"
  "--op deconv ic3ih5iw7oc4kh4sh2ph1" "--op deconv ic4ih6oc3kh3sh1ph1"
  "--op gemm m13n17k11" "--op gemm b3m7n5k9" "--op gemm m32n24k16" "--op gemm m1n33k20"
  "--op gemv m23k37" "--op gemv m64k5" "--op bilinear i5j6k7l8" "--op bcm n5p2q3b4" "--op shift mb1c6h7w9k3p1"
  "$source/examples/matmul_tiled.lift --size n=12 --size m=20 --size k=15"
)
mkdir -p "$work"
for problem in "${problems[@]}"; do
  read -ra words <<< "$problem"
  timeout $((600 + 6 * points)) "$liftc" tune "${words[@]}" --device "$device" --explorer random --seed "$seed" --points "$points" \
    --db "$work/points.db" --quiet > "$work/log" 2>&1 || { echo "liftc tune $problem: $(tail -3 "$work/log")"; exit 1; }
done
"$liftc" db export --db "$work/points.db" | grep '"stage":"sweep"' > "$work/points.jsonl"
echo "$(wc -l < "$work/points.jsonl") points of ${#problems[@]} problems, seed $seed:"
grep -o '"status":"[a-z_]*"' "$work/points.jsonl" | sort | uniq -c
bad=$(grep -E '"status":"(wrong|build_error|build_timeout|run_timeout|crash)"' "$work/points.jsonl" || true)
[[ -z $bad ]] || { echo "$bad" | head -5; exit 1; }
(($(wc -l < "$work/points.jsonl") >= 3 * ${#problems[@]}))
