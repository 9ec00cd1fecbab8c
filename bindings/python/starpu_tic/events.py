# SPDX-License-Identifier: LGPL-2.1-or-later
"""The event log of a directory as a table and as a graph. The records come from the command
`starpu-tic log --json`, which checks them. With the protocol `sel` or `tic+sel` the log tells of all
tasks and data of main(), with `tic` only of forced checkpoints and commits."""
import json
import subprocess

import numpy

#: A row. Numbers that an event does not have are -1, texts empty, lists None; details has all of it.
EVENT = numpy.dtype([("time", "f8"), ("event", "U12"), ("task", "i8"), ("data", "i8"), ("worker", "i8"),
                     ("stolen_from", "i8"), ("seconds", "f8"), ("codelet", "U64"), ("accesses", "O"),
                     ("written", "O"), ("details", "O")])
WITHOUT = {"f": -1.0, "U": "", "i": -1, "O": None}


def _value(record, name):
    kind = EVENT[name].kind
    value = record.get(name, WITHOUT[kind])
    return WITHOUT[kind] if kind == "i" and isinstance(value, str) else value  # a task without a number


def _row(record):
    return tuple(record if name == "details" else _value(record, name) for name in EVENT.names)


def read_events(directory, tool="starpu-tic"):
    text = subprocess.run([tool, "log", "--json", directory], check=True, stdout=subprocess.PIPE).stdout
    return numpy.array([_row(record) for record in json.loads(text)["events"]], EVENT)


def graph_of(events):
    """The macro dataflow graph: nodes ("task", number), with codelet and state (created, started,
    finished), and ("data", number, version), which tasks read and write. Version 0 is what main() has
    put there; what main() writes later by an access is no version here."""
    import networkx

    graph, versions = networkx.DiGraph(), {}
    for event in events[events["event"] == "created"]:
        task = ("task", int(event["task"]))
        graph.add_node(task, codelet=str(event["codelet"]), state="created")
        for access in event["accesses"]:
            number, mode = access["data"], access["mode"]
            version = versions.get(number, 0)
            if "R" in mode.split("|")[0]:
                graph.add_edge(("data", number, version), task)
            if "W" in mode.split("|")[0]:
                versions[number] = version + 1
                graph.add_edge(task, ("data", number, version + 1))
    for event, state in (("started", "started"), ("finished", "finished"), ("ended", "finished")):
        for number in events["task"][events["event"] == event]:
            if ("task", int(number)) in graph:
                graph.nodes["task", int(number)]["state"] = state
    return graph
