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
from .events import EVENT, graph_of, read_events
from .line import Damaged, Line, NoValue
from .run import DIVERGED, REFUSED, STOPPED, Result, run, supervise
from .store import Store

__version__ = "0.2.0"
__all__ = ["DIVERGED", "EVENT", "REFUSED", "STOPPED", "Damaged", "Line", "NoValue", "Result", "Store",
           "graph_of", "read_events", "run", "supervise"]
