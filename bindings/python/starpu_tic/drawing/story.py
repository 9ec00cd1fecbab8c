# SPDX-License-Identifier: LGPL-2.1-or-later
"""What happened to a run, in words with clock times: the state and the sentences at the top of a report."""
import time

from .scale import count_of, duration
from .timeline import died, end_of

MOST_CRASHES = 3  # told one by one; of more only the last ones


def day_of(seconds):
    """Of a time since 1970."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def clock_of(data, seconds):
    """Of a time since the first start, with the day where it is another one."""
    first, moment = day_of(data["begun"]), day_of(data["begun"] + seconds)
    return moment[11:] if moment[:10] == first[:10] else moment


def state_of(data):
    """A class and words."""
    if not data["traced"] or not data["runs"]:
        if data["running"]:
            return "", "running"
        return "", "not finished: it was stopped or killed" if data["lines"] else "no recovery line"
    run = data["runs"][-1]
    if not run["ended"]:
        if data["running"] is False:
            return "bad", "killed without a witness"
        return "", "running" if data["running"] else "running, or killed without a witness"
    if run["status"] == 0:
        return "ok", "finished"
    return "bad", f"killed by {end_of(run)}" if run["signal"] else f"ended with status {run['status']}"


def _ended(run):
    if run["signal"] > 0:
        return f"killed by {end_of(run)}"
    return "stopped" if end_of(run) == "stopped" else f"ended with {end_of(run)}" if run["status"] > 0 else "died"


def _loss(crash):
    again = f", {count_of(crash['tasks_again'], 'task')} to execute again" if crash["tasks_again"] else ""
    return f"{duration(crash['work'])} of work lost{again}"


def _crash(data, crash):
    run, later = data["runs"][crash["run"] - 1], data["runs"][crash["run"]:]
    told = f"{_ended(run)} at {clock_of(data, run['end'])}"
    told = told[0].upper() + told[1:]
    if not later:
        return f"{told}: {_loss(crash)}."
    return f"{told}, it went on at {clock_of(data, later[0]['begin'])} {_origin(data, later[0])}: {_loss(crash)}."


def _origin(data, run):
    if not run["line"]:
        return "from the start"
    cut = "" if run["from_cut"] is None else f" (of {clock_of(data, run['from_cut'])})"
    return f"from {'the ' if 'lanes' in data else ''}checkpoint {run['line']}{cut}"


def _last(data):
    run, end = data["runs"][-1], clock_of(data, data["runs"][-1]["end"])
    if not run["ended"]:
        if data["running"] is False:
            return f"It was killed after {end}: nobody saw its end, and no process runs it now."
        return f"It is last known at {end}."
    if run["status"] == 0:
        return f"It finished at {end}, {duration(data['seconds'])} after the first start."
    line = next((line["line"] for line in data["lines"] if line["good"]), None)
    where = f" on from checkpoint {line}" if line else " on"
    where = "begins from the start" if data["is_there"] and not line else "goes" + where
    return f"It was not started again{_reason(data['no_restart'])}. The same command {where}."


def _reason(told):
    """Why a supervisor gave up."""
    if not told:
        return ""
    count = count_of(told["restarts"], "restart")
    return {"spent": f": no more than {count} were allowed (--max-restarts)",
            "stuck": f": after {count}, no checkpoint came further than the one before (--no-progress)",
            "asked": ": somebody asked it to end", "final": ": it would have ended the same way",
            "input": ": its standard input was a pipe, which cannot be read again",
            }.get(told["reason"], "") + ("." + told["tasks"].rstrip(".") if told["tasks"] else "")


def _of_lines(data):
    """Without a trace."""
    line = next((line for line in data["lines"] if line["good"]), None)
    if not line:
        return "No undamaged checkpoint is there: the same command begins from the start."
    place = (f"checkpoint {line['line']} of {day_of(line['created'])}, with "
             f"{count_of(line['tasks_done'])} of the {count_of(line['tasks_submitted'])} tasks done that were "
             "submitted by then")
    results = count_of(len(data["executed"]), "result")
    results = f"; the event log has {results} of tasks" if data["executed"] else ""
    return f"{'It runs; its newest is' if data['running'] else 'The same command goes on from'} {place}{results}."


def story(data):
    if not data["traced"]:
        return _of_lines(data)
    crashes, first = data["crashes"], data["runs"][0]
    told = [f"Started on {day_of(data['begun'])}" + (f" on {first['host']}" if first["host"] else "")
            + (f" {_origin(data, first)}." if first["line"] else ".")]
    if len(crashes) > MOST_CRASHES:
        told.append(f"Before the last {MOST_CRASHES}, it crashed or was stopped "
                    f"{count_of(len(crashes) - MOST_CRASHES, 'time')}.")
    told += [_crash(data, crash) for crash in crashes[-MOST_CRASHES:]]
    return " ".join([*told, _last(data)])
