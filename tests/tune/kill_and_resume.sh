#!/usr/bin/env bash
# A sweep that is killed at random moments and started again ends with exactly the points of an uninterrupted one, and
# measures none twice: of a program with tunables, and of one that says nothing of where it runs.
# Usage: kill_and_resume.sh LIFTC SOURCE FOLDER [SEED]
set -euo pipefail
liftc=$1 source=$2 work=$3 seed=${4:-$$}
RANDOM=$seed
echo "seed of the moments: $seed"
rm -rf "$work" && mkdir -p "$work"
points() { "$liftc" db export --db "$1" | grep '"stage":"sweep"' | sed 's/.*"family":\("[^"]*","config":{[^}]*}\).*/\1/' | sort; }
fresh() { grep -cv '(known)' "$1" || true; }

# killed NAME PROGRAM SIZES…
killed() {
  local name=$1 folder=$work/$1
  shift
  mkdir -p "$folder"
  # The parent's name must be liftc's own, so that `kill $!` kills it and no shell around it.
  local sweep=("$liftc" tune "$@" --points 12 --seed 7 --device emulator)
  "${sweep[@]}" --db "$folder/whole.db" --quiet > /dev/null
  for attempt in 1 2 3 4 5; do
    local log=$folder/log.$attempt
    "${sweep[@]}" --db "$folder/killed.db" 2> "$log" > /dev/null &
    until (($(fresh "$log") > RANDOM % 3)) || ! kill -0 $! 2> /dev/null; do sleep 0.02; done
    sleep "0.0$((RANDOM % 10))"
    kill -9 $! 2> /dev/null || echo "attempt $attempt had ended"
    wait $! 2> /dev/null || true
    echo "$name: after attempt $attempt: $(points "$folder/killed.db" | wc -l) points"
  done
  "${sweep[@]}" --db "$folder/killed.db" 2> "$folder/log.last"

  [[ $(points "$folder/whole.db" | wc -l) == 12 ]]
  diff <(points "$folder/whole.db") <(points "$folder/killed.db")
  # A line of progress that is not "(known)" tells of a point measured then, after it was committed.
  local twice
  twice=$(grep -hv '(known)' "$folder"/log.* | sed 's/^ *[^ ]* *[^ ]* *[^ ]*\( ms\)\{0,1\}  *//; s/  .*//' | sort | uniq -d)
  [[ -z $twice ]] || { echo "measured twice: $twice"; exit 1; }
  grep -q '(known)' "$folder/log.last"  # else nothing was resumed
}

killed tunables "$source/examples/matmul_tiled.lift" --size n=16 --size m=16 --size k=8
cat > "$work/product.lift" << 'END'
def product(a: [n][k]f32, b: [k][m]f32): [n][m]f32 =
  map(fun row => map(fun column => zip(row, column) |> map(fun (x, y) => x * y) |> reduce(0.0, fun (s, v) => s + v),
                     transpose(b)), a)
END
killed unmapped "$work/product.lift" --size n=16 --size m=16 --size k=8
