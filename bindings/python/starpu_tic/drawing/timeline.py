# SPDX-License-Identifier: LGPL-2.1-or-later
"""The timeline of a report: a lane for each worker, one for main(), and one for checkpoints. Tasks too
short to be seen are drawn together, so that a picture has some tens of thousands of marks at most, however
many tasks there were."""
import collections
import signal

from .page import COLORS, key, line, text, ticks
from .scale import TimeScale, count_of, duration, size_of

LANE, SPACE, NOTES, MARKS, COLUMNS, NARROW = 26, 5, 6, 40000, 1500, 7
STOPPED = 75
MAIN = -1  # of stalls, in the place of a worker
Task = collections.namedtuple("Task", "begin end number run name worker victim unfinished lost")


def died(run):
    """Whether it ended without success."""
    return run["ended"] and run["status"] != 0


def end_of(run):
    """How it ended, in a word or two."""
    if run["signal"] > 0:
        try:
            return signal.Signals(run["signal"]).name
        except ValueError:
            return f"signal {run['signal']}"
    return "stopped" if run["status"] == STOPPED else "died" if run["status"] < 0 else f"status {run['status']}"


def time_scale(data):
    """What the pictures over time share: time between runs is drawn short."""
    scale, runs = TimeScale(0, data["seconds"]), data["runs"]
    busy = sum(run["end"] - run["begin"] for run in runs)
    for before, after in zip(runs, runs[1:]):
        if after["begin"] > before["end"]:
            scale.add_gap(before["end"], after["begin"], busy)
    return scale


def time_grid(scale, height):
    return "".join(line("grid", 100 * place, 100 * place, 0, height) for place, _ in scale.ticks())


def time_axis(scale):
    return (ticks(scale.ticks()) + '<div class="axis">time since the first start'
            + ("; time without a run is drawn short" if scale.gaps else "") + "</div>\n")


class Timeline:
    LINES = "checkpoints"

    def __init__(self, data):
        self.data, self.scale = data, time_scale(data)
        self.tasks = [Task(*row) for row in data["executed"]]
        self.has_main = any(worker == MAIN for _, _, worker in data["stalls"])
        self.lanes = data["workers"] + self.has_main + 1
        self.height = self.top(self.lanes - 1) + LANE + SPACE
        self.least = 1 / min(MARKS // (data["workers"] + 1), COLUMNS)
        shares = collections.Counter()
        for task in self.tasks:
            shares[task.name] += task.end - task.begin
        #: codelets by the time that they took: the first ones have colors of their own
        self.shares = shares.most_common()
        self.color = {name: min(i, COLORS) for i, (name, _) in enumerate(self.shares)}

    def top(self, lane):
        return NOTES + lane * (LANE + SPACE)

    def who(self, lane):
        return f"worker {lane}"

    def labels(self):
        """Of the lanes."""
        return [*map(self.who, range(self.data["workers"])), *["main()"] * self.has_main, self.LINES]

    def strokes(self):
        """What more there is."""
        return ()

    def place(self, time):
        return 100 * self.scale.place(time)

    def _name(self, task):
        return self.data["codelets"][task.name] or "no name"

    def stretch(self, style, what, begin, end, top, height):
        left = self.place(begin)
        width = max(self.place(end) - left, 0.02)
        return (f'<rect class="{style}" x="{left:.3f}%" y="{top}" width="{width:.3f}%" '
                f'height="{height}"><title>{text(what)}, at {duration(begin)}, for {duration(end - begin)}'
                "</title></rect>\n")

    # ---- tasks ----

    def _bundle(self, bundle, longest):
        """Tasks that are drawn together; the longest one names them."""
        count, lost = len(bundle), sum(task.lost for task in bundle)
        stolen = sum(task.victim >= 0 for task in bundle)
        if count > 1:
            what = f"{self.who(longest.worker)}, {count} tasks, the longest {self._name(longest)}"
        else:
            number = f" task {longest.number}:" if longest.number >= 0 else ""
            fate = ", not ended" if longest.unfinished else ", executed again" if longest.lost else ""
            what = (f"{self.who(longest.worker)},{number} {self._name(longest)}"
                    f"{', stolen' if longest.victim >= 0 else ''}{fate}")
        top = self.top(longest.worker)
        drawn = self.stretch(f"c{self.color[longest.name]}{' lost' if 2 * lost > count else ''}", what,
                              bundle[0].begin, bundle[-1].end, top, LANE)
        if stolen and 2 * stolen >= count:
            drawn += (f'<rect class="theft" x="{self.place(bundle[0].begin):.3f}%" y="{top}" width="4" '
                      'height="4"/>\n')
        return drawn

    def _tasks(self):
        bundle, longest, first, last, place = [], None, 0, 0, self.scale.place
        for task in self.tasks:
            begin, end = place(task.begin), place(task.end)
            if bundle and not ((longest.worker, longest.run) == (task.worker, task.run)
                               and end - first < self.least and begin - last < self.least / 2):
                yield self._bundle(bundle, longest)
                bundle = []
            if not bundle:
                first = begin
            if not bundle or task.end - task.begin > longest.end - longest.begin:
                longest = task
            bundle.append(task)
            last = end
        if bundle:
            yield self._bundle(bundle, longest)

    # ---- checkpoints and runs ----

    def _stalls(self):
        thick, last = 4, (None, 0)
        for begin, end, worker in self.data["stalls"]:
            if worker < MAIN:
                continue
            lane = self.lanes - 2 if worker < 0 else worker
            if lane == last[0] and self.place(end) - last[1] < 0.02:
                continue  # no one could see it beside the last one
            last = lane, self.place(end)
            yield self.stretch("stall", "held by a checkpoint", begin, end,
                                self.top(lane) + (0 if worker < 0 else LANE - thick), LANE if worker < 0 else thick)

    def _checkpoints(self):
        for checkpoint in self.data["checkpoints"]:
            what = (f"checkpoint {checkpoint['line']}: {count_of(checkpoint['tasks_done'])} tasks done, "
                    f"{size_of(checkpoint['bytes'])} written")
            yield self.stretch("commit seam", what, checkpoint["begin"], checkpoint["end"],
                                self.top(self.lanes - 1), LANE)

    def _runs(self):
        runs = self.data["runs"]
        for i, run in enumerate(runs):
            if i > 0 and run["first_task"] is not None:
                yield self.stretch("again", "restart, until its first task", run["begin"], run["first_task"],
                                    0, self.height)
            if not died(run):
                continue
            if i + 1 < len(runs):
                yield self.stretch("down", "no process runs", run["end"], runs[i + 1]["begin"], 0, self.height)
            yield line("death", self.place(run["end"]), self.place(run["end"]), -4, self.height)

    def _notes(self):
        """The words above; those that would touch the one before show only a cross."""
        last, notes = -100, []
        for run in filter(died, self.data["runs"]):
            place, what = self.place(run["end"]), end_of(run)
            if place - last < 1:
                continue
            shown = f"<em> {what}</em>" if place - last > NARROW else ""
            side = ' class="last"' if place > 100 - NARROW / 2 else ""
            notes.append(f'<span{side} style="left:{place:.3f}%" title="{what}">✕{shown}</span>')
            last = place
        return '<div class="notes">' + "".join(notes) + "</div>\n"

    def _names(self):
        def label(lane, name):
            space = self.top(lane) - (self.top(lane - 1) + LANE + SPACE if lane else 0)
            return (f'<div style="height:{LANE + SPACE}px;line-height:{LANE}px;margin-top:{space}px">{name}'
                    "</div>")

        return '<div class="names">' + "".join(label(*name) for name in enumerate(self.labels())) + "</div>\n"

    def _key(self):
        """Each color that is in the picture, and no other."""
        data = self.data
        codelets = [(f"c{i}", f"{data['codelets'][name] or 'no name'} ({duration(seconds)})")
                    for i, (name, seconds) in enumerate(self.shares[:COLORS]) if seconds > 0]
        codelets += [("c8", "others")] * (len(self.shares) > COLORS)
        return key(*codelets) + key(*((style, what) for style, what, is_there in self.marks() if is_there))

    def marks(self):
        data = self.data
        deaths, later = sum(map(died, data["runs"])), data["runs"][1:]
        return [
            ("idle", "no task runs", True),
            ("c0 lost", "pale: executed again after a crash", any(task.lost for task in self.tasks)),
            ("ink", "notch at the top: stolen from another worker", any(task.victim >= 0 for task in self.tasks)),
            ("bad", "held by a checkpoint: a line at the bottom, or the lane of main()", data["stalls"]),
            ("mark", "checkpoint, from its cut to its commit", data["checkpoints"]),
            ("fatal", "end of a run that was killed or failed", deaths),
            ("gap", "no process runs", deaths and later),
            ("again", "restart, until its first task", any(run["first_task"] is not None for run in later))]

    def draw(self):
        lanes = "".join(f'<rect class="lane" x="0" y="{self.top(i)}" width="100%" height="{LANE}"/>\n'
                        for i in range(self.lanes))
        marks = "".join(part for parts in (self._tasks(), self._stalls(), self._checkpoints(), self._runs(),
                                         self.strokes())
                        for part in parts)
        return (f'<div class="plot"><div></div>{self._notes()}{self._names()}<svg class="lanes" '
                f'height="{self.height}" role="img" aria-label="timeline of the workers">\n{lanes}'
                f"{time_grid(self.scale, self.height)}{marks}</svg>\n{time_axis(self.scale)}</div>\n{self._key()}")
