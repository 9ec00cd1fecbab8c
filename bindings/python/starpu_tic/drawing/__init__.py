# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws what the commands of starpu-tic tell as JSON, with the standard library only.

    starpu-tic report --json DIRECTORY | python3 -m starpu_tic.drawing report >report.html
    starpu-tic log --json DIRECTORY | python3 -m starpu_tic.drawing graph >graph.dot"""
import importlib
import json
import sys

#: What can be drawn, and the module that does.
KINDS = {"report": "report", "graph": "graph", "interval": "waste"}


def draw(kind, data):
    module = importlib.import_module("." + KINDS[kind], __name__)
    return module.Picture(data).draw() if kind == "interval" else module.draw(data)


def main():
    """python3 -m starpu_tic.drawing KIND <JSON >PICTURE"""
    if len(sys.argv) != 2 or sys.argv[1] not in KINDS:
        sys.exit(main.__doc__)
    data = json.loads(sys.stdin.buffer.read().decode())
    sys.stdout.buffer.write(draw(sys.argv[1], data).encode())
    sys.stdout.buffer.flush()
