# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lazy checkpoint coordination, simulated on a trace: Y.-M. Wang and W. K. Fuchs, Lazy Checkpoint
Coordination for Bounding Rollback Propagation, CRHC-92-27, 1992.

A processor takes *basic* checkpoints as it likes, and an *induced* one before it processes a message
whose sender is a multiple of Z checkpoints ahead: floor(s / Z) > floor(ordinal / Z). So the checkpoints
nZ of all processors are a recovery line for every n. Z = 1 is eager, infinity never induces.

A trace is a list of events in one total order, each a tuple (time, kind, ...), time in any unit:
    (time, "checkpoint", processor)             a basic checkpoint is due
    (time, "send", processor, message)          message: a number of its own
    (time, "receive", processor, message)       after its send
Interval k of a processor lies between its checkpoints k and k + 1; checkpoint 0 is its start.

No randomness and no clock here; `traces.py` makes traces."""
import math
from collections import defaultdict, namedtuple

NEVER = math.inf # laziness without induced checkpoints

# sent, received: intervals (ordinals) of the two processors.
Message = namedtuple("Message", "sender sent receiver received")


class Processor:
    """What the protocol keeps of one processor, and what it would have on its disk."""

    def __init__(self, number, count):
        self.number = number
        self.ordinal = 0
        self.dependencies = set() # of the current interval: (sender, its ordinal)
        self.progress = [0] * count # of each processor, as far as known here: for garbage
        self.table = {0: frozenset()} # ordinal: dependencies of the interval before it
        self.times = {0: 0.0} # ordinal: when it was taken; a dummy coincides with the next real one
        self.basic = self.induced = 0

    def take(self, ordinal, time):
        """Saves the state under an ordinal; those that it jumps over are dummies of it."""
        for each in range(self.ordinal + 1, ordinal + 1):
            self.table[each] = frozenset(self.dependencies)
            self.times[each] = time
        self.dependencies = set()
        self.ordinal = self.progress[self.number] = ordinal


class Run:
    """One run of the protocol. processors: how many; laziness: Z, an integer >= 1 or NEVER."""

    def __init__(self, processors, laziness):
        self.laziness = laziness
        self.processors = [Processor(number, processors) for number in range(processors)]
        self.messages = [] # those that were processed
        self.on_the_way = {} # message: (sender, its ordinal, its progress)

    def round_of(self, ordinal):
        return 0 if self.laziness == NEVER else ordinal // self.laziness

    def step(self, event):
        time, kind, number = event[:3]
        processor = self.processors[number]
        if kind == "checkpoint":
            processor.basic += 1
            processor.take(processor.ordinal + 1, time)
        elif kind == "send":
            self.on_the_way[event[3]] = number, processor.ordinal, list(processor.progress)
        else:
            self.receive(processor, time, *self.on_the_way.pop(event[3]))

    def receive(self, processor, time, sender, sent, progress):
        if self.round_of(sent) > self.round_of(processor.ordinal):
            processor.induced += 1
            processor.take(self.round_of(sent) * self.laziness, time)
        processor.dependencies.add((sender, sent))
        processor.progress = [max(pair) for pair in zip(processor.progress, progress)]
        processor.progress[sender] = max(processor.progress[sender], sent)
        self.messages.append(Message(sender, sent, processor.number, processor.ordinal))

    def play(self, trace):
        for event in trace:
            self.step(event)
        return self

    # ---- what is counted ----
    def counts(self):
        """(basic checkpoints, induced ones)"""
        return (sum(processor.basic for processor in self.processors),
                sum(processor.induced for processor in self.processors))

    def ratio(self):
        """R = induced / basic (equation 1); 0 without basic ones."""
        basic, induced = self.counts()
        return induced / basic if basic else 0.0

    # ---- recovery lines: a list of ordinals; one more than the last real one is virtual ----
    def guaranteed_line(self):
        """The newest line nZ that all processors have reached."""
        if self.laziness == NEVER:
            return [0] * len(self.processors)
        least = min(processor.ordinal for processor in self.processors)
        return [least // self.laziness * self.laziness] * len(self.processors)

    def garbage_line(self, number):
        """What a processor knows itself: its checkpoints before this ordinal are garbage."""
        if self.laziness == NEVER:
            return 0
        return min(self.processors[number].progress) // self.laziness * self.laziness

    def newest(self, failed):
        """The newest checkpoint of each processor when one fails: survivors have a virtual one."""
        return [processor.ordinal + (processor.number not in failed)
                for processor in self.processors]

    def is_consistent(self, line):
        """No message is received before the line and sent after it."""
        return not any(message.sent >= line[message.sender] and
                       message.received < line[message.receiver] for message in self.messages)

    def fixed_point(self, failed):
        """The newest consistent line by brute force: who has received an orphan goes back."""
        line = self.newest(failed)
        while not self.is_consistent(line):
            for message in self.messages:
                if message.sent >= line[message.sender] and message.received < line[message.receiver]:
                    line[message.receiver] = message.received
        return line

    def edges(self, failed):
        """The extended checkpoint graph: vertex (processor, ordinal) to the vertices that fall with
        it. A message of interval m makes an edge from (sender, m) to the checkpoint after it."""
        edges = defaultdict(list)
        for processor in self.processors:
            number, table = processor.number, dict(processor.table)
            if number not in failed:
                table[processor.ordinal + 1] = processor.dependencies
            for ordinal, dependencies in table.items():
                edges[number, ordinal].append((number, ordinal + 1))
                for sender, sent in dependencies:
                    edges[sender, sent].append((number, ordinal))
        return edges

    def recovery_line(self, failed):
        """The newest line by the algorithm of the paper, from the tables of the processors alone."""
        edges, line, marked = self.edges(failed), self.newest(failed), set()

        def mark(root):
            waiting = list(edges[root])
            while waiting:
                vertex = waiting.pop()
                if vertex not in marked:
                    marked.add(vertex)
                    waiting += edges[vertex]

        for root in enumerate(line):
            mark(root)
        while any(root in marked for root in enumerate(line)):
            for number, ordinal in enumerate(line):
                while (number, ordinal) in marked:
                    ordinal -= 1
                line[number] = ordinal
            for root in enumerate(line):
                mark(root)
        return line

    def distances(self, failed, line, now):
        """Time that each processor loses: 0 for a survivor whose virtual checkpoint is in the line."""
        return [0.0 if ordinal > processor.ordinal else now - processor.times[ordinal]
                for processor, ordinal in zip(self.processors, line)]


# ---- bounds of the induction ratio ----
def worst_ratio(processors, laziness):
    """Theorem 1: R <= (N - 1) / Z for any pattern of messages."""
    return (processors - 1) / laziness


def q_bound(processors, laziness, q):
    """Equation 5, for Z >= 2 and long runs whose longest basic interval is q times the shortest."""
    least = 1
    while least * (laziness - 1) < q:
        least += 1

    def bound(m):
        others = (processors - m) * math.floor(m * (laziness - 1) / q) if processors >= m else 0
        return m * (processors - 1) / (m * laziness + others)

    return min(bound(m) for m in range(least, max(least, math.ceil(q)) + 1))
