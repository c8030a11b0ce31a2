#!/usr/bin/env bash
# A sweep that is killed at random moments and started again ends with exactly the points of an uninterrupted one, and
# measures none twice. Usage: kill_and_resume.sh LIFTC SOURCE FOLDER [SEED]
set -euo pipefail
liftc=$1 source=$2 work=$3 seed=${4:-$$}
RANDOM=$seed
echo "seed of the moments: $seed"
rm -rf "$work" && mkdir -p "$work"
# The parent's name must be liftc's own, so that `kill $!` kills it and no shell around it.
sweep=("$liftc" tune "$source/examples/matmul_tiled.lift" --size n=16 --size m=16 --size k=8 --points 12 --seed 7
       --device emulator)
points() { "$liftc" db export --db "$1" | grep '"stage":"sweep"' | sed 's/.*"config":\({[^}]*}\).*/\1/' | sort; }
fresh() { grep -cv '(known)' "$1" || true; }

"${sweep[@]}" --db "$work/whole.db" --quiet > /dev/null
for attempt in 1 2 3 4 5; do
  log=$work/log.$attempt
  "${sweep[@]}" --db "$work/killed.db" 2> "$log" > /dev/null &
  until (($(fresh "$log") > RANDOM % 3)) || ! kill -0 $! 2> /dev/null; do sleep 0.02; done
  sleep "0.0$((RANDOM % 10))"
  kill -9 $! 2> /dev/null || echo "attempt $attempt had ended"
  wait $! 2> /dev/null || true
  echo "after attempt $attempt: $(points "$work/killed.db" | wc -l) points"
done
"${sweep[@]}" --db "$work/killed.db" 2> "$work/log.last"

[[ $(points "$work/whole.db" | wc -l) == 12 ]]
diff <(points "$work/whole.db") <(points "$work/killed.db")
# A line of progress that is not "(known)" tells of a point measured then, after it was committed.
twice=$(grep -hv '(known)' "$work"/log.* | sed 's/.*program \([^ ]*\).*/\1/' | sort | uniq -d)
[[ -z $twice ]] || { echo "measured twice: $twice"; exit 1; }
grep -q '(known)' "$work/log.last"  # else nothing was resumed
