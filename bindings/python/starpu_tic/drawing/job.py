# SPDX-License-Identifier: LGPL-2.1-or-later
"""A job of several ranks: the reports of its ranks as one, by the wall clock, and its timeline."""
import re

from .page import line
from .timeline import LANE, SPACE, Timeline

GROUP, THICK = 8, 4  # between ranks; the stroke of a hold
MOST_STROKES = 200
HOLD = -2  # of stalls: sends of the rank
NAME = "of all ranks"  # of a checkpoint: its parts have other numbers on other ranks


class _Clock:
    """Moments of one rank, in seconds since the job began."""

    def __init__(self, report, begun):
        self.late = report["begun"] - begun

    def __call__(self, moment):
        return None if moment is None else moment + self.late


def _least(values):
    return min((value for value in values if value is not None), default=None)


def _join(parts):
    """One run of the job, of the runs of its ranks."""
    last = max(parts, key=lambda run: run["end"])
    died = next((run for run in parts if run["ended"] and run["status"] != 0), None)
    told = next((run for run in parts if run["protocol"]), last)
    return {**told, "begin": min(run["begin"] for run in parts), "end": last["end"],
            "first_task": _least(run["first_task"] for run in parts),
            "from_cut": _least(run["from_cut"] for run in parts),
            "ended": died is not None or all(run["ended"] for run in parts),
            "status": died["status"] if died else last["status"], "signal": died["signal"] if died else 0,
            "workers": sum(run["workers"] for run in parts),
            "line": NAME if any(run["line"] for run in parts) else 0, "tasks_done": sum(run["tasks_done"] for run in parts),
            "host": ", ".join(sorted({run["host"] for run in parts if run["host"]}))}


def _group(items, rank_of):
    """Items of several ranks, ordered by begin, that lie over each other in time; each rank is in a group once."""
    groups, end = [], 0
    for item in sorted(items, key=lambda item: item["begin"]):
        if not groups or item["begin"] > end or rank_of(item) in map(rank_of, groups[-1]):
            groups.append([])
            end = item["end"]
        groups[-1].append(item)
        end = min(end, item["end"])
    return groups


def _runs(ranks, clocks):
    """The runs of the job, and for each rank the number of each of its runs among them."""
    items = [{**run, "begin": clock(run["begin"]), "end": clock(run["end"]), "first_task": clock(run["first_task"]),
              "from_cut": clock(run["from_cut"]), "of": (rank, i)}
             for rank, (report, clock) in enumerate(zip(ranks, clocks)) for i, run in enumerate(report["runs"])]
    groups = _group(items, lambda run: run["of"][0])
    return ([_join(group) for group in groups],
            {run["of"]: number for number, group in enumerate(groups, 1) for run in group})


def _crashes(ranks, runs, number_of):
    found = {}
    for rank, report in enumerate(ranks):
        for crash in report["crashes"]:
            found.setdefault(number_of[rank, crash["run"] - 1], []).append(crash)
    return [{"run": run, "work": max(crash["work"] for crash in found[run]),
             "down": max(0, runs[run]["begin"] - runs[run - 1]["end"]) if run < len(runs) else 0,
             "restart": max(crash["restart"] for crash in found[run]),
             "tasks_again": sum(crash["tasks_again"] for crash in found[run])} for run in sorted(found)]


def _checkpoints(ranks, clocks, number_of):
    items = [{**checkpoint, "begin": clock(checkpoint["begin"]), "end": clock(checkpoint["end"]), "of": rank,
              "run": number_of[rank, checkpoint["run"] - 1]}
             for rank, (report, clock) in enumerate(zip(ranks, clocks)) for checkpoint in report["checkpoints"]]
    return [{**group[0], "line": NAME, "end": max(part["end"] for part in group),
             "tasks_done": sum(part["tasks_done"] for part in group), "bytes": sum(part["bytes"] for part in group)}
            for group in _group(items, lambda item: item["of"])]


def _executed(ranks, clocks, bases, number_of, codelets):
    for rank, (report, clock, base) in enumerate(zip(ranks, clocks, bases)):
        for begin, end, number, run, name, worker, victim, unfinished, lost in report["executed"]:
            name = codelets.setdefault(report["codelets"][name], len(codelets))
            yield [clock(begin), clock(end), number, number_of[rank, run - 1], name, base + worker,
                   victim if victim < 0 else base + victim, unfinished, lost]


def _messages(ranks, clocks, number_of):
    for rank, (report, clock) in enumerate(zip(ranks, clocks)):
        for message in report["messages"]:
            yield {**message, "at": clock(message["at"]), "run": number_of[rank, message["run"] - 1],
                   "text": f"rank {rank}: {message['text']}"}


def merge(data):
    """As the report of one process; "lanes" tells the rank and the worker of each lane, "holds" its sends."""
    ranks = data["ranks"]
    begun = min((report["begun"] for report in ranks if report["runs"]), default=0)
    clocks, lanes, bases, codelets = [_Clock(report, begun) for report in ranks], [], [], {}
    for rank, report in enumerate(ranks):
        bases.append(len(lanes))
        lanes += [(rank, worker) for worker in range(max(1, report["workers"]))]
    runs, number_of = _runs(ranks, clocks)
    stalls = [(clock(begin), clock(end), worker, base)
              for report, clock, base in zip(ranks, clocks, bases) for begin, end, worker in report["stalls"]]
    executed = list(_executed(ranks, clocks, bases, number_of, codelets))
    lines = [{**found, "line": found["number"]} for found in data["job_lines"]]
    running = {report["running"] for report in ranks}
    first = ranks[0]
    return {**first, "lanes": lanes, "begun": begun, "runs": runs, "workers": len(lanes), "executed": executed,
            "program": re.sub(r" \(rank 0 of \d+\)$", "", first["program"]), "codelets": list(codelets),
            "traced": any(report["traced"] for report in ranks), "lines": lines, "is_there": bool(lines),
            "seconds": max(clock(report["seconds"]) for report, clock in zip(ranks, clocks)),
            "directory": re.sub(r"/p0(\.\d+)?$", "", first["directory"] or "") or None,
            "running": True if True in running else None if running == {None} else False,
            "crashes": _crashes(ranks, runs, number_of), "checkpoints": _checkpoints(ranks, clocks, number_of),
            "stalls": [[begin, end, base + worker] for begin, end, worker, base in stalls if worker >= 0],
            "holds": [[begin, end, base] for begin, end, worker, base in stalls if worker == HOLD],
            "records_left_out": sum(report["records_left_out"] for report in ranks),
            "full": any(report["full"] for report in ranks),
            "messages": sorted(_messages(ranks, clocks, number_of), key=lambda message: message["at"]),
            "data": [], "interval": None, "statistics": None}


class JobTimeline(Timeline):
    """Lanes of a rank stand together, and lines of all ranks are drawn across."""
    LINES = "job lines"

    def top(self, lane):
        lanes = self.data["lanes"]
        return super().top(lane) + GROUP * (lanes[lane][0] if lane < len(lanes) else lanes[-1][0] + 1)

    def who(self, lane):
        rank, worker = self.data["lanes"][lane]
        return f"rank {rank}, worker {worker}"

    def labels(self):
        lanes = self.data["lanes"]
        for lane, (rank, worker) in enumerate(lanes):
            several = lanes.count((rank, 1)) > 0
            yield (f"rank {rank}" if worker == 0 else "") + (f" w {worker}" if several else "")
        yield self.LINES

    def strokes(self):
        for begin, end, lane in self.data["holds"]:
            yield self.stretch("hold", f"rank {self.data['lanes'][lane][0]} holds its sends", begin, end,
                               self.top(lane), THICK)
        for checkpoint in self.data["checkpoints"][-MOST_STROKES:]:
            place = self.place(checkpoint["begin"])
            yield line("across", place, place, 0, self.top(self.lanes - 1) + LANE + SPACE)

    def marks(self):
        for style, what, is_there in super().marks():
            if style == "mark":
                what = "line of all ranks: a stroke at its cut, a bar to its commit"
            elif style == "bad":
                what = "held by a checkpoint: a line at the bottom"
            yield style, what, is_there
        yield "wait", "sends are held, until all have cut: a line at the top", self.data["holds"]
