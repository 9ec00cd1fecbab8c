# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of a report (`starpu-tic report --json`): its head, and its sections in their order."""
from . import charts, waste
from .job import JobTimeline, merge
from .page import page, section, table, text, tile
from .scale import count_of, duration, size_of
from .story import day_of, state_of, story
from .timeline import Timeline

MOST_MESSAGES = 200
RECORD = "<code>starpu-tic run --trace FILE</code>"


# ---- head ----

def _share(seconds, whole, what):
    return tile(duration(seconds), f"{what}: {100 * seconds / whole if whole > 0 else 0:.2g} %")


def _tasks_done(data):
    """By all that is known: of lines, and what ended since and was not lost."""
    if not data["traced"]:
        return next((line["tasks_done"] for line in data["lines"] if line["good"]), 0)
    last = len(data["runs"])
    return data["runs"][-1]["tasks_done"] + sum(
        run == last and not unfinished and not lost
        for _, _, _, run, _, _, _, unfinished, lost in data["executed"])


def _tiles(data):
    runs, crashes, checkpoints = (len(data[name]) for name in ("runs", "crashes", "checkpoints"))
    yield tile(count_of(_tasks_done(data)), "tasks done" if data["traced"] else "tasks done in the newest line")
    if data["traced"]:
        lost = sum(crash["work"] + crash["down"] + crash["restart"] for crash in data["crashes"])
        stalled = sum(end - begin for begin, end, worker in data["stalls"] if worker >= 0)
        busy = sum(run["end"] - run["begin"] for run in data["runs"])
        yield tile(runs, "run" if runs == 1 else "runs")
        yield tile(crashes, "crash or stop" if crashes == 1 else "crashes and stops")
        yield tile(duration(data["seconds"]), "from the first start")
        yield _share(lost, data["seconds"], "lost by crashes")
        yield tile(checkpoints, "checkpoint" if checkpoints == 1 else "checkpoints")
        yield tile(size_of(sum(checkpoint["bytes"] for checkpoint in data["checkpoints"])), "written for them")
        yield _share(stalled, busy * data["workers"], "of workers held by checkpoints")
    elif data["executed"]:
        yield tile(count_of(len(data["executed"])), "results of tasks in the event log")
    if data["statistics"]:
        yield tile(duration(data["statistics"].get("all_seconds", 0)), "of all runs, by the statistics")
        yield tile(data["statistics"].get("thefts", 0), "thefts in the last run, by the statistics")


def _head(data):
    style, state = state_of(data)
    title = text(data["program"] or "a run without a line yet")
    if "lanes" in data:
        title += f" on {count_of(data['lanes'][-1][0] + 1, 'rank')}"
    if data["arguments"]:
        title += f' <span class="soft">{text(data["arguments"])}</span>'
    state = f'<b class="{style}">{state}</b>' if style else f"<b>{state}</b>"
    if data["traced"]:
        state += f", begun {day_of(data['begun'])}"
    told = next((run for run in reversed(data["runs"]) if run["protocol"]), None)
    if data["traced"] and told:
        state += f", protocol {text(told['protocol'])}, on {text(told['host'])}"
    head = f"<h1>{title}</h1>\n<p>{state}</p>\n<p class=\"story\">{text(story(data))}</p>\n"
    if data["directory"]:
        head += (f'<p class="soft">recovery lines: <code>{text(data["directory"])}</code>'
                 f'{"" if data["is_there"] else " (removed at the end)"}</p>\n')
    return head + '<div class="tiles">\n' + "".join(_tiles(data)) + "</div>\n"


# ---- sections ----

def _timeline(data):
    title = "Workers over time"
    if not data["executed"] and not data["traced"]:
        return section(title, f"Nothing was recorded. {RECORD} (STARPU_TIC_TRACE) records when tasks run.")
    what = ("Each mark is a task; short ones are drawn together, in the color of the longest. Point at a mark to "
            "see what it is."
            if data["traced"] else "From the event log, which holds the results of tasks since the last recovery "
            f"line only. {RECORD} records all tasks.")
    body = (JobTimeline if "lanes" in data else Timeline)(data).draw()
    if data["records_left_out"] or data["full"]:
        full = ", and the tasks after the trace had 64 MiB" if data["full"] else ""
        body += f'<p class="bad">Not all is here: {data["records_left_out"]} records were left out{full}.</p>\n'
    return section(title, what, body)


def _interval(data):
    numbers = data["interval"]
    sources = {"given": "as it was given", "crashes": "as often as this run crashed or was stopped",
               "setting": "STARPU_TIC_MTBF; fewer than five crashes do not tell"}
    what = ("The share of the time that checkpoints and crashes take, by models from the literature, if a fault "
            f"comes every {duration(numbers['mtbf'])} ({sources[numbers['mtbf_is']]}), a checkpoint costs "
            f"{duration(numbers['tc'])} and its loading {duration(numbers['tl'])}. Points are the best periods of "
            "the models; <code>--mtbf</code> tells another.")
    return section("How far apart checkpoints should be", what, waste.chart(numbers))


def _lines(data):
    heads = (("n", "line"), ("", "taken"), ("n", "tasks done"), ("n", "submitted by then"), ("n", "data"),
             ("n", "size"), ("", "state"))
    rows = [(("n", line["line"]), ("when", day_of(line["created"]) if line["created"] else ""),
             ("n", count_of(line["tasks_done"])), ("n", count_of(line["tasks_submitted"])), ("n", line["handles"]),
             ("n", size_of(line["bytes"])), ("ok" if line["good"] else "bad", text(line["state"])))
            for line in data["lines"]]
    what = ("A restart begins with the newest undamaged one. Values were not read; <code>starpu-tic verify</code> "
            "does that." if rows else "There are none.")
    return section("Recovery lines in the directory", what, table("", heads, rows) if rows else "")


def _messages(data):
    rows = [(("n", message["run"]), ("n", duration(message["at"])),
             ("text bad" if message["level"] == 0 else "text", text(message["text"])))
            for message in data["messages"][-MOST_MESSAGES:]]
    return section("Messages", "Warnings and errors are red.",
                   table("messages", (("n", "run"), ("n", "at"), ("", "message")), rows))


def _sections(data):
    yield _timeline(data)
    if data["checkpoints"]:
        yield section("Volume of each checkpoint",
                      "What was written since the checkpoint before, from cut to commit.", charts.volumes(data))
    if data["traced"] and data["crashes"]:
        yield section("What each crash cost",
                      "Time from the cut that the restart begins with to the first new task.",
                      charts.crashes(data))
    if data["interval"]:
        yield _interval(data)
    if data["data"]:
        yield section("Largest data", *charts.largest_data(data))
    if data["is_there"]:
        yield _lines(data)
    if data["traced"] and data["messages"]:
        yield _messages(data)


def draw(data):
    data = merge(data) if "ranks" in data else data
    footer = (f"<footer>starpu-tic {data['version']}. The page needs no other file and no network.</footer>\n")
    return page("starpu-tic report", [_head(data), *_sections(data), footer])
