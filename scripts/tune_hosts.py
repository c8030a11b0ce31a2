#!/usr/bin/env python3
"""Measures points of a problem on the workers of a dask.distributed cluster, into one tuning database.

  dask-scheduler &                                          # on one host
  dask-worker tcp://HOST:8786 --nthreads 1 --no-nanny &     # on each host with a device
  scripts/tune_hosts.py --scheduler tcp://HOST:8786 --points 300 --db tune.db --liftc build/liftc -- --conv ic64ih56oc64kh3ph1

The points are those of `liftc tune --dry-run`, in chunks; every worker measures its chunks by a `liftc tune-worker` of
its own (crashes and hangs of points cost no more than in `liftc tune`), and records tell device and host. What a worker
had not handed in when it was lost, others measure. Records are imported when they arrive: started again after any end,
the script measures what is missing. liftc must be the same on all hosts, at the same path.
"""
import argparse
import json
import os
import subprocess
import sys

worker = None  # the process of this dask worker, kept from chunk to chunk


def measure(command, points):
    """On a worker: the lines of a database that tell of these points."""
    global worker
    if worker is None or worker.poll() is not None:
        worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        worker.head = []
    worker.stdin.write(json.dumps({"points": points}) + "\n")
    worker.stdin.flush()
    lines, records = [], 0
    while records < len(points):
        line = worker.stdout.readline()
        if not line:
            raise RuntimeError(f"`{' '.join(command)}` ended with status {worker.wait()}")
        if json.loads(line)["kind"] == "measurement":
            records += 1
            lines.append(line)
        else:
            worker.head.append(line)  # once, at its start: what the records refer to
    return worker.head + lines


def output(command):
    """What a command of liftc prints; where it fails it has said why."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return done.stdout


def known(liftc, db):
    """The points that the database has: of which problem, which; of whichever device."""
    if not os.path.exists(db):
        return set()
    rows = [json.loads(line) for line in output([liftc, "db", "export", "--db", db]).splitlines()]
    return {(r["problem"], key(r)) for r in rows if r["kind"] == "measurement" and r["stage"] == "sweep"}


def key(point):
    return point["family"] + " " + json.dumps(point["config"], sort_keys=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--scheduler", required=True, help="address of the dask scheduler, tcp://HOST:PORT")
    p.add_argument("--db", required=True, help="tuning database")
    p.add_argument("--liftc", default="liftc", help="the compiler, on all hosts")
    p.add_argument("--points", type=int, default=300)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--chunk", type=int, default=8, help="points that a worker takes at once, and that its loss delays")
    p.add_argument("problem", nargs="+", help="-- and what names the problem, as for `liftc tune`")
    o = p.parse_args()
    try:
        from distributed import Client, as_completed
    except ImportError:
        sys.exit("tune_hosts: dask.distributed is missing (Debian: python3-distributed)")

    answer = json.loads(output([o.liftc, "tune", *o.problem, "--dry-run", "--json", "--points", str(o.points), "--seed",
                                str(o.seed)]))
    have = known(o.liftc, o.db)
    todo = [q for q in answer["points"] if (answer["problem"], key(q)) not in have]
    chunks = [todo[i:i + o.chunk] for i in range(0, len(todo), o.chunk)]
    print(f"{len(answer['points'])} points, {len(answer['points']) - len(todo)} of them known", flush=True)
    with Client(o.scheduler) as client:
        # A chunk whose workers were lost is tried elsewhere; dask gives up on one that three workers die of.
        tasks = [client.submit(measure, [o.liftc, "tune-worker", *o.problem], c, pure=False, retries=2) for c in chunks]
        measured, lost = 0, 0
        for task in as_completed(tasks):
            if task.status != "finished":
                lost += 1
                print(f"a chunk is lost: {task.exception()}", file=sys.stderr, flush=True)
                continue
            lines = task.result()
            subprocess.run([o.liftc, "db", "import", "/dev/stdin", "--db", o.db], check=True, input="".join(lines), text=True,
                           stdout=subprocess.DEVNULL)
            measured += sum('"kind":"measurement"' in line for line in lines)
            print(f"{measured}/{len(todo)}", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
