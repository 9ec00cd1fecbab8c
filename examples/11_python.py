#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a StarPU program (02_cholesky, say) under protection, kills it, looks at what is saved with
NumPy, and resumes it. It needs the module of bindings/python (pip install, or PYTHONPATH), and
networkx for the graph.

    ./11_python.py ./02_cholesky                 # plain is: ./02_cholesky
"""
import shutil
import sys
import tempfile

import starpu_tic

PROGRAM = sys.argv[1:] or ["./02_cholesky"]
KILLED = "line-renamed:3"  # when it has three recovery lines


def look(store):
    line = store.newest()
    print(f"line {line.number}: {line.attributes['tasks_done']} tasks done of "
          f"{line.attributes['tasks_submitted']}, values of {len(line.handles)} handles")
    handle = line.handles[0]
    value = line.array(handle, "float64")
    print(f"handle {handle}: version {line.version(handle)}, shape {value.shape}, "
          f"diagonal from {value[0, 0]:.6g}")

    events = store.events()
    finished = events[events["event"] == "finished"]
    for codelet, seconds in sorted(seconds_of_codelets(events, finished).items()):
        print(f"{codelet}: {len(seconds)} tasks logged, {max(seconds):.6f} s at most", file=sys.stderr)
    print(f"the log holds the results of {len(finished)} tasks", file=sys.stderr)

    try:
        graph = store.graph()
    except ImportError:
        return
    waiting = [node for node, state in graph.nodes(data="state") if state == "created"]
    print(f"graph: {sum(node[0] == 'task' for node in graph)} tasks, {len(waiting)} of them not begun",
          file=sys.stderr)


def seconds_of_codelets(events, finished):
    names = {row["task"]: row["codelet"] for row in events[events["event"] == "created"]}
    seconds = {}
    for row in finished:
        seconds.setdefault(names[row["task"]], []).append(row["seconds"])
    return seconds


def main():
    directory = tempfile.mkdtemp(prefix="starpu-tic-")
    # Every result is logged, so that there is something to look at; "fail" kills the program.
    settings = {"dir": directory, "protocol": "tic+sel", "verify": 0, "every": 20}
    try:
        killed = starpu_tic.run(PROGRAM, fail=KILLED, capture_output=True, **settings)
        print(f"first run: status {killed.status}")
        look(starpu_tic.Store(directory))
        resumed = starpu_tic.run(PROGRAM, capture_output=True, **settings)
        print(f"second run: status {resumed.status}, recovered {resumed.recovered}; "
              f"{resumed.stdout.decode().strip()}")
        executed, submitted = (resumed.statistics["tasks_" + name] for name in ("executed", "submitted"))
        print(f"it executed {executed} of {submitted} tasks", file=sys.stderr)
        return 0 if resumed.status == 0 and executed < submitted else 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)


sys.exit(main())
