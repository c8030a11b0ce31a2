#!/usr/bin/env bash
# A sweep that is killed at random moments and started again ends with exactly the points of an uninterrupted one, and
# measures none twice. Usage: kill_and_resume.sh LIFTC SOURCE FOLDER [SEED]
set -euo pipefail
liftc=$1 source=$2 work=$3
RANDOM=${4:-$$}
echo "seed of the moments: ${4:-$$}"
rm -rf "$work" && mkdir -p "$work"
export XDG_CACHE_HOME=$work/cache POCL_CACHE_DIR=$work/pocl
tune() { "$liftc" tune "$source/examples/matmul_tiled.lift" --size n=32 --size m=32 --size k=16 --points 20 --seed 7 "$@"; }
points() { "$liftc" db export --db "$1" | grep '"stage":"sweep"' | sed 's/.*"config":\({[^}]*}\).*/\1/' | sort; }

tune --db "$work/whole.db" --quiet > /dev/null
for attempt in 1 2 3 4 5; do
  tune --db "$work/killed.db" 2> "$work/log.$attempt" > /dev/null &
  sleep "$((RANDOM % 2)).$((RANDOM % 10))"
  kill -9 $! 2> /dev/null || echo "attempt $attempt had ended"
  wait $! 2> /dev/null || true
  [[ -e $work/killed.db ]] && echo "after attempt $attempt: $(points "$work/killed.db" | wc -l) points"
done
tune --db "$work/killed.db" 2> "$work/log.last" > "$work/result"
cat "$work/result"

[[ $(points "$work/whole.db" | wc -l) == 20 ]]
diff <(points "$work/whole.db") <(points "$work/killed.db")
# A line of progress that is not "(known)" tells of a point measured then, after it was committed.
twice=$(grep -hv '(known)' "$work"/log.* | sed 's/.*program \([^ ]*\).*/\1/' | sort | uniq -d)
[[ -z $twice ]] || { echo "measured twice: $twice"; exit 1; }
grep -q '(known)' "$work/log.last"  # else nothing was resumed
# No worker outlives its parent.
sleep 0.5
! pgrep -f "tune-worker.*$source/examples/matmul_tiled.lift" > /dev/null
