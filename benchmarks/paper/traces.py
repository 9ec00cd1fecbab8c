# SPDX-License-Identifier: LGPL-2.1-or-later
"""Traces for the simulator of lazy.py: made by a pattern and a seed, or recorded by starpu-tic.

All functions return a list of events as lazy.py describes them, ordered by time. The unit of time is a
mean basic interval for those that are made, a second for recorded ones. Source of the patterns: Wang and
Fuchs 1992, section 2.4 of their measurements for the regular one (basic checkpoints come as due, which a
local clock tells late, so that the longest interval is Q times the shortest)."""
import random


def order(events):
    return sorted(events, key=lambda event: event[0])


def shuffled(processors, events, seed):
    """Any events in any order, for tests: a third each checkpoints, sends, receives of what is there."""
    choose, trace, there, number = random.Random(seed), [], [], 0
    for time in range(events):
        kind, processor = choose.choice(("checkpoint", "send", "receive")), choose.randrange(processors)
        if kind == "checkpoint":
            trace.append((time, kind, processor))
        elif kind == "send":
            to = choose.choice([each for each in range(processors) if each != processor])
            trace.append((time, kind, processor, number))
            there.append((to, number))
            number += 1
        elif there:
            to, message = there.pop(choose.randrange(len(there)))
            trace.append((time, kind, to, message))
    return trace


def worst(processors, laziness, rounds):
    """What attains (N - 1) / Z: one processor takes Z basic checkpoints, then messages all others."""
    trace, time, number = [], 0, 0
    for _ in range(rounds):
        trace += [(time + i, "checkpoint", 0) for i in range(laziness)]
        time += laziness
        for to in range(1, processors):
            trace += [(time, "send", 0, number), (time + 0.5, "receive", to, number)]
            number, time = number + 1, time + 1
    return trace


def neighbours(processors, processor, choose):
    return (processor + choose.choice((-1, 1))) % processors


def anybody(processors, processor, choose):
    return (processor + 1 + choose.randrange(processors - 1)) % processors


def master(processors, processor, choose):
    return 0 if processor else 1 + choose.randrange(processors - 1)


PATTERNS = {"anybody": anybody, "neighbours": neighbours, "master and workers": master}


def checkpoints(processors, length, q, choose):
    """Basic checkpoints with intervals between 2 / (1 + q) and q times that: mean 1, each processor
    with a phase of its own."""
    shortest, events = 2 / (1 + q), []
    for processor in range(processors):
        time = choose.random()
        while time < length:
            events.append((time, "checkpoint", processor))
            time += choose.uniform(shortest, q * shortest)
    return events


def regular(processors, length, q, pattern, rate, seed):
    """length: in basic intervals; pattern: a key of PATTERNS; rate: messages that each processor sends
    in a basic interval, which take up to a hundredth of it."""
    choose = random.Random(seed)
    events, number = checkpoints(processors, length, q, choose), 0
    for processor in range(processors):
        time = choose.expovariate(rate)
        while time < length:
            to = PATTERNS[pattern](processors, processor, choose)
            events.append((time, "send", processor, number))
            events.append((time + choose.uniform(1e-4, 1e-2), "receive", to, number))
            number += 1
            time += choose.expovariate(rate)
    return order(events)


# ---- recorded ----
def of_log(log):
    """Messages of a run under sel, from the events of `starpu-tic log --json`: a task that reads what
    a task of another worker has written receives one from it. (events without checkpoints, number of
    workers, seconds from the first task on)"""
    accesses, places, written, events = {}, {}, {}, []
    begin, number, now = next(each["time"] for each in log if each["event"] == "started"), 0, 0.0
    for entry in log:
        kind, now = entry["event"], entry["time"] - begin
        if kind == "created":
            accesses[entry["task"]] = entry["accesses"]
        elif kind == "started":
            for access in accesses.get(entry["task"], ()):
                writer = written.get(access["data"]) if "R" in access["mode"] else None
                if writer and writer[0] != entry["worker"]:
                    events.append((writer[1], "send", writer[0], number))
                    events.append((now, "receive", entry["worker"], number))
                    number += 1
        elif kind == "finished":
            places[entry["worker"]] = True
            for access in accesses.get(entry["task"], ()):
                if "W" in access["mode"]:
                    written[access["data"]] = entry["worker"], now
    return order(events), max(places, default=-1) + 1, now


def with_checkpoints(events, processors, seconds, count, q, seed):
    """A recorded trace with about `count` basic checkpoints of each worker, in mean basic intervals."""
    unit = seconds / count
    scaled = [(event[0] / unit,) + event[1:] for event in events]
    return order(scaled + checkpoints(processors, count, q, random.Random(seed)))


def intervals_ratio(trace, processors):
    """Q as it is: the longest basic interval over the shortest."""
    lengths = []
    for processor in range(processors):
        times = [event[0] for event in trace if event[1:3] == ("checkpoint", processor)]
        lengths += [later - earlier for earlier, later in zip(times, times[1:])]
    return max(lengths) / min(lengths) if lengths and min(lengths) > 0 else float("inf")
