# SPDX-License-Identifier: LGPL-2.1-or-later
"""Charts of a report: the volume of checkpoints, what crashes cost, and the largest data."""
import itertools
import math

from .page import heights, key, text
from .scale import count_of, duration, size_of, step
from .timeline import time_axis, time_grid, time_scale

HEIGHT, MOST_CRASHES, MOST_DATA = 150, 40, 12


def volumes(data):
    """Bytes written for each checkpoint, over the time of the timeline."""
    scale = time_scale(data)
    most = max(1, *(checkpoint["bytes"] for checkpoint in data["checkpoints"]))
    size = max(1, step(most, 5))
    top = math.ceil(most / size - 1e-9) * size
    labels, lines = heights(HEIGHT, top, size, size_of)
    marks = []
    for checkpoint in data["checkpoints"]:
        right = 100 * scale.place(checkpoint["end"])
        width = max(0.35, right - 100 * scale.place(checkpoint["begin"]))
        height = HEIGHT * checkpoint["bytes"] / top
        marks.append(f'<rect class="commit seam" x="{max(0, right - width):.3f}%" y="{HEIGHT - height:.1f}" '
                     f'width="{width:.3f}%" height="{max(height, 1):.1f}"><title>checkpoint '
                     f"{checkpoint['line']}: {size_of(checkpoint['bytes'])} written, "
                     f"{count_of(checkpoint['tasks_done'])} tasks done</title></rect>\n")
    marks = time_grid(scale, HEIGHT) + lines + "".join(marks)
    return (f'<div class="plot">{labels}<svg class="volumes" height="{HEIGHT}" role="img" aria-label="bytes of '
            f'each checkpoint">\n{marks}</svg>\n{time_axis(scale)}</div>\n')


def _part(style, seconds, most, what):
    if not seconds > 0:
        return ""
    return f'<i class="{style}" style="width:{100 * seconds / most:.2f}%" title="{what}: {duration(seconds)}"></i>'


def crashes(data):
    """What each crash cost."""
    def loss(crash):
        return crash["work"] + crash["down"] + crash["restart"]

    parts = (("bad", "work", "work since the cut that the restart begins with"),
             ("down", "down", "until the next start"), ("ok", "restart", "restart, until its first task"))
    found = list(enumerate(data["crashes"], 1))
    most = max(1e-9, *map(loss, data["crashes"]))
    rows = "".join(
        f'<div>{number}: at {duration(data["runs"][crash["run"] - 1]["end"])}</div><div class="bar">'
        + "".join(_part(style, crash[part], most, what) for style, part, what in parts)
        + f'</div><div class="value">{duration(loss(crash))}, {count_of(crash["tasks_again"], "task")} again'
        "</div>\n"
        for number, crash in found[-MOST_CRASHES:])
    rest = f'<p class="soft">The last {MOST_CRASHES} of {len(found)}.</p>\n' if len(found) > MOST_CRASHES else ""
    return (f'<div class="bars crashes">\n{rows}</div>\n' + key(*((style, what) for style, _, what in parts))
            + rest)


# ---- data ----

def _writes(values):
    counts = {value["written"] for value in values}
    if counts == {0}:
        return "never written by a task"
    least, most = min(counts), max(counts)
    return f"written {count_of(most, 'time') if least == most else f'{least} to {most} times'}"


def _rows(values):
    """Data with a name is shown by itself, other data of one shape that one codelet writes together."""
    def order(value):
        return value["shape"], value["codelet"] or "", value["name"] is None, value["data"]

    def group(value):
        return value["shape"], value["codelet"], value["data"] if value["name"] else None

    for _, members in itertools.groupby(sorted(values, key=order), group):
        members = list(members)
        first, count = members[0], len(members)
        name = f"data {first['data']}" + (f" \"{first['name']}\"" if first["name"] else "")
        size = size_of(first["bytes"] * count)
        codelet = first["codelet"] if first["written"] else None
        how = f"{size}: {first['shape']}{', each' if count > 1 else ''}, {_writes(members)}"
        if count == 1:
            yield name, first["bytes"], how + (f" by {codelet}" if codelet else "")
        else:
            yield f"{count_of(count)} data" + (f" of {codelet}" if codelet else ""), first["bytes"] * count, how


def largest_data(data):
    """What is said of it, and the chart: none where all data has one shape and no name."""
    values, line = data["data"], next(line["line"] for line in data["lines"] if line["good"])
    rows = sorted(_rows(values), key=lambda row: -row[1])
    what = (f"{count_of(len(values))} data in line {line}, {size_of(sum(value['bytes'] for value in values))} in "
            "all. ")
    if len(rows) == 1 and len(values) > 1:
        return what + f"All of it is alike: {values[0]['shape']}, {_writes(values)}.", ""
    what += "Data has the number of its registration. Data of one shape is shown together"
    what += ", by the codelet that writes it last." if any(value["codelet"] for value in values) else "."
    if len(rows) > MOST_DATA:
        what += f" The largest {MOST_DATA} of {len(rows)} rows."
    most = max(1, rows[0][1])
    return what, '<div class="bars data">\n' + "".join(
        f'<div>{text(name)}</div><div class="bar"><i class="mark" style="width:{100 * size / most:.2f}%"></i>'
        "</div>"
        f'<div class="value">{text(how)}</div>\n' for name, size, how in rows[:MOST_DATA]) + "</div>\n"
