# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads what starpu-tic has saved of a StarPU program, and runs programs under it.

    store = starpu_tic.Store("program-4dec1acc.tic")
    line = store.newest()                 # a recovery line
    line.attributes["tasks_done"]
    line.array(0, "float64")              # the value of handle 0
    store.events()                        # the event log, a table
    store.graph()                         # its tasks and data, a networkx.DiGraph
    starpu_tic.run(["./program"], period=60)
    starpu_tic.supervise(["./program"], max_restarts=10)"""
import importlib

__version__ = "0.2.0"
_PLACES = {"EVENT": "events", "graph_of": "events", "read_events": "events", "Damaged": "line", "Line": "line",
           "NoValue": "line", "DIVERGED": "run", "REFUSED": "run", "STOPPED": "run", "Result": "run", "run": "run",
           "supervise": "run", "Store": "store"}
__all__ = sorted(_PLACES)


def __getattr__(name):
    """Loads what needs h5py and NumPy when it is first used: pictures need neither."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    found = {each: getattr(importlib.import_module("." + place, __name__), each) for each, place in _PLACES.items()}
    globals().update(found)
    return found[name]
