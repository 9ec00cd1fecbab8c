# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tasks and data of an event log (`starpu-tic log --json`) in the language of graphviz."""
import collections

MOST_TASKS = 300  # drawn one by one; more are summarized
MOST_DATA = 40  # of a summary; the rest is one box
STATES = {"not started": "white", "lost: it was running": "#f4a6a0", "done": "#b7e1a1",
          "executed again": "#f7dc8b"}
CREATED, LOST, DONE, AGAIN = STATES
STOLEN = "#2b5fb3"


class Task:
    def __init__(self, number):
        self.number, self.created, self.started, self.finished, self.stolen = number, None, 0, 0, False

    def note(self, event):
        if event["event"] == "created":
            self.created = event
        elif event["event"] == "started":
            self.started += 1
            self.stolen |= "stolen_from" in event
        else:
            self.finished += 1

    @property
    def name(self):
        return self.created.get("codelet", "?").replace("\\", "\\\\").replace('"', '\\"')

    @property
    def state(self):
        if not self.finished:
            return LOST if self.started else CREATED
        return AGAIN if self.started > 1 else DONE

    def accesses(self):
        """Data, whether it is read, and whether it is written."""
        for access in self.created.get("accesses", ()):
            mode = access["mode"].split("|")[0]
            yield access["data"], "R" in mode, "W" in mode


def tasks_of(events):
    tasks = {}
    for event in events:
        number = event.get("task")
        if event["event"] in ("created", "started", "finished", "ended") and isinstance(number, int):
            tasks.setdefault(number, Task(number)).note(event)
    return [tasks[number] for number in sorted(tasks) if tasks[number].created]


def _each(tasks):
    """Boxes are versions of data, drawn where they are first used."""
    versions, drawn = collections.Counter(), set()

    def box(data):
        name = f"{data}.{versions[data]}"
        if name not in drawn:
            drawn.add(name)
            yield f'  "d{name}" [shape=box, label="{name}"];'

    for task in tasks:
        border = f', penwidth=2.5, color="{STOLEN}"' if task.stolen else ""
        yield (f'  t{task.number} [style=filled, fillcolor="{STATES[task.state]}"{border}, '
               f'label="{task.name}\\n{task.number}"];')
        for data, reads, _ in task.accesses():
            if reads:
                yield from box(data)
                yield f'  "d{data}.{versions[data]}" -> t{task.number};'
        for data, _, writes in task.accesses():
            if writes:
                versions[data] += 1
                yield from box(data)
                yield f'  t{task.number} -> "d{data}.{versions[data]}";'


def _summary(tasks):
    """Tasks of one codelet together."""
    places, groups = {}, {}
    for task in tasks:
        group = groups.setdefault(task.name, (collections.Counter(), collections.Counter()))
        group[0].update([task.state, "stolen"] if task.stolen else [task.state])
        for data, reads, writes in task.accesses():
            if len(places) < MOST_DATA:
                places.setdefault(data, len(places))
            place = places.get(data, MOST_DATA)
            group[1][place, False] += reads
            group[1][place, True] += writes
    for data, place in places.items():
        yield f'  d{place} [shape=box, label="data {data}"];'
    if any(edges[MOST_DATA, writes] for _, edges in groups.values() for writes in (False, True)):
        yield f'  d{MOST_DATA} [shape=box, label="other data"];'
    for number, (name, (counts, edges)) in enumerate(groups.items()):
        total = sum(counts[state] for state in STATES)
        color = STATES[DONE if counts[DONE] == total else CREATED]
        label = [name, f"{total} tasks", *(f"{counts[state]} {state}" for state in STATES if counts[state]),
                 f"{counts['stolen']} stolen"]
        yield f'  g{number} [style=filled, fillcolor="{color}", label="' + "\\n".join(label) + '"];'
        for (place, writes), count in sorted(edges.items()):
            if count:
                ends = f"g{number} -> d{place}" if writes else f"d{place} -> g{number}"
                yield f'  {ends} [label="{count}"];'


def draw(data):
    tasks = tasks_of(data["events"])
    lines = ["digraph tasks {", '  node [fontsize=10, fontname="Helvetica"];',
             "  edge [arrowsize=0.6, fontsize=9];",
             "  subgraph cluster_legend {", '    label="tasks; boxes: data.version"; fontsize=10;']
    lines += [f'    l{number} [style=filled, fillcolor="{color}", label="{state}"];'
              for number, (state, color) in enumerate(STATES.items(), 1)]
    lines += [f'    stolen [penwidth=2.5, color="{STOLEN}"];', "  }"]
    return "\n".join([*lines, *(_summary if len(tasks) > MOST_TASKS else _each)(tasks), "}"]) + "\n"
