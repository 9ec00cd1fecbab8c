# SPDX-License-Identifier: LGPL-2.1-or-later
"""Axes of pictures: where a value lies, round marks, and numbers with units. No drawing here."""
import bisect
import math

MOST_GAPS = 32
GAP_WIDTH, LEAST_GAP = 0.02, 0.08  # of the width; of the time that is not in gaps


class TimeScale:
    """Time from left to right, 0 to 1. Stretches in which nothing was there are drawn short."""

    def __init__(self, begin, end):
        self.end, self.gaps = end if end > begin else begin + 1e-6, []
        #: between these moments time goes on evenly
        self.moments, self.places = [begin, self.end], [0.0, 1.0]

    def add_gap(self, begin, end, busy):
        """Gaps come in order; those that are not worth it stay as they are."""
        if len(self.gaps) == MOST_GAPS or end - begin < LEAST_GAP * busy:
            return
        self.gaps.append((begin, end))
        self.moments[-1:] = [begin, end, self.end]
        speed = (1 - len(self.gaps) * GAP_WIDTH) / max(self.busy, 1e-300)
        self.places = [0.0]
        for i, (first, last) in enumerate(zip(self.moments, self.moments[1:])):
            self.places.append(self.places[-1] + (GAP_WIDTH if i % 2 else (last - first) * speed))

    @property
    def busy(self):
        return self.end - self.moments[0] - sum(end - begin for begin, end in self.gaps)

    def place(self, time):
        """What lies beyond an end is at it."""
        i = bisect.bisect_right(self.moments, time) - 1
        if i < 0:
            return 0.0
        if i + 1 == len(self.moments):
            return 1.0
        share = (time - self.moments[i]) / (self.moments[i + 1] - self.moments[i])
        return self.places[i] + share * (self.places[i + 1] - self.places[i])

    def is_in_gap(self, time):
        return any(begin < time < end for begin, end in self.gaps)

    def ticks(self, most=12):
        """Places and texts of round times; marks that would touch are left out."""
        size, last = time_step(self.busy, most), -1
        first = math.ceil(self.moments[0] / size)
        for number in range(first, first + 1000):
            time = number * size
            if time > self.end:
                return
            place = self.place(time)
            if not self.is_in_gap(time) and place - last >= 0.055:
                last = place
                yield place, clock(time, size)


def step(length, most):
    """The least step, 1, 2 or 5 times a power of ten, with which at most so many marks fit."""
    least = length / most
    if not least > 0 or not math.isfinite(least):
        return 1
    power = 10.0 ** math.floor(math.log10(least))
    return next((digit * power for digit in (1, 2, 5) if digit * power >= least * (1 - 1e-9)), 10 * power)


def time_step(seconds, most):
    """The same, round in minutes, hours and days."""
    size = step(seconds, most)
    if size <= 20:
        return size
    for size in (60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800):
        if seconds / most <= size:
            return size
    return step(seconds / 86400, most) * 86400


def _number(number, unit):
    """Three digits, but no exponent."""
    text = f"{number:.{0 if number >= 99.95 or number == 0 else 1 if number >= 9.995 else 2}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {unit}"


def _long(seconds):
    units = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
    at = next((i for i in range(2) if seconds >= units[i][0]), 2)
    whole, rest = divmod(seconds, units[at][0])
    rest = rest // units[at + 1][0]
    return f"{whole:.0f} {units[at][1]}" + (f" {rest:.0f} {units[at + 1][1]}" if rest and whole < 100 else "")


def duration(seconds):
    """3.2 s, 210 ms, 12 min, 3 h 20 min, 2 d 4 h."""
    if seconds is None or math.isnan(seconds):
        return "?"
    if seconds >= 59.95:
        return _long(seconds + 0.5)
    unit = 0
    while unit < 2 and 0 < seconds < 0.9995:
        seconds, unit = seconds * 1000, unit + 1
    return _number(seconds, ("s", "ms", "µs")[unit] if seconds else "s")


def _decimals(size):
    decimals = 0
    while decimals < 6 and abs(size - round(size)) > 1e-6 * size:
        size, decimals = size * 10, decimals + 1
    return decimals


def clock(seconds, size):
    """With as many decimals as a step needs: 0.25 s, 55 ms; from a minute on 1:30, 2:00:00."""
    whole = round(seconds)
    if size < 0.01:
        return f"{seconds * 1000:.{_decimals(size * 1000)}f} ms"
    if seconds < 60 or size < 1:
        return f"{seconds:.{_decimals(size)}f} s"
    if seconds < 3600:
        return f"{whole // 60}:{whole % 60:02}"
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def size_of(size):
    """740 kB: of 1000 bytes."""
    unit = 0
    while unit < 5 and size >= 999.5:
        size, unit = size / 1000, unit + 1
    return _number(size, ("B", "kB", "MB", "GB", "TB", "PB")[unit])


def count_of(number, what=""):
    """12,345; with a word 1 task, 2 tasks."""
    return f"{number:,}" + (f" {what}{'' if number == 1 else 's'}" if what else "")
