#!/usr/bin/env bash
# Three workers measure the points of one problem into one database; one of them is killed amid its points, and none is
# lost. Usage: hosts.sh LIFTC SOURCE FOLDER
set -euo pipefail
liftc=$1 source=$2 work=$3
for python in python3 /usr/bin/python3 none; do
  "$python" -c 'import distributed' 2> /dev/null && break
done
[[ $python != none ]] || { echo "skipped: dask.distributed is missing (scripts/setup.sh tests)"; exit 77; }
rm -rf "$work" && mkdir -p "$work"
cd "$work"
problem=("$source/examples/matmul_tiled.lift" --size n=16 --size m=16 --size k=8 --device emulator)

started=()
trap 'kill -9 "${started[@]}" 2> /dev/null || true' EXIT
"$python" -m distributed.cli.dask_scheduler --host 127.0.0.1 --port 0 --no-dashboard --scheduler-file scheduler.json \
  > scheduler.log 2>&1 &
started+=($!)
until [[ -s scheduler.json ]]; do sleep 0.1; done
address=$(grep -o 'tcp://[0-9.:]*' scheduler.json | head -1)
for i in 1 2 3; do
  "$python" -m distributed.cli.dask_worker "$address" --nthreads 1 --no-nanny --no-dashboard --name "worker$i" \
    > "worker$i.log" 2>&1 &
  started+=($!)
done
victim=${started[1]}

tune() { "$python" "$source/scripts/tune_hosts.py" --scheduler "$address" --db tune.db --liftc "$liftc" --chunk 3 \
           --points 24 -- "${problem[@]}"; }
tune > tune.log 2>&1 &
driver=$!
started+=($driver)
# The victim has a chunk of its own when its process to measure in has started.
until pgrep -P "$victim" > /dev/null; do sleep 0.02; kill -0 $driver; done
kill -9 "$victim"
wait $driver || { cat tune.log; exit 1; }
cat tune.log

points() { "$liftc" db export --db tune.db | grep '"stage":"sweep"'; }
echo "measured $(points | wc -l), by workers on: $(points | grep -o ' on [^"]*' | sort | uniq -c)"
[[ $(points | wc -l) == 24 ]]
[[ $(points | grep -c '"status":"ok"') == 24 ]]
[[ $(points | grep -c " on $(hostname)\"") == 24 ]]
"$liftc" tune "${problem[@]}" --dry-run --json --points 24 | grep -q '"problem"'
tune > again.log 2>&1
grep -q '24 points, 24 of them known' again.log
