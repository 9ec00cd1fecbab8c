# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a run has measured, read back from its CSV: plots and report are made from that alone."""
import csv
import statistics

from measure import FIELDS, median_and_spread


def number_or_text(text):
    try:
        return float(text)
    except ValueError:
        return text


class Results:
    """Rows (section, case, variant, run, metric, value); run is an integer, value a number if it is
    one."""

    def __init__(self, path):
        with open(path, newline="", encoding="utf-8") as file:
            self.rows = [tuple(row[name] for name in FIELDS) for row in csv.DictReader(file)]
        self.rows = [row[:3] + (int(row[3]), row[4], number_or_text(row[5])) for row in self.rows]

    def has(self, section):
        return any(row[0] == section for row in self.rows)

    def failed(self, section):
        """Why, or None."""
        return self.one(section, "section", "failed", "message")

    def select(self, section, case, variant, metric):
        """run: value"""
        return {row[3]: row[5] for row in self.rows
                if row[:3] == (section, str(case), variant) and row[4] == metric}

    def values(self, section, case, variant, metric):
        return list(self.select(section, case, variant, metric).values())

    def median(self, section, case, variant, metric):
        """None without a value."""
        values = self.values(section, case, variant, metric)
        return statistics.median(values) if values else None

    def one(self, section, case, variant, metric, default=None):
        return next(iter(self.values(section, case, variant, metric)), default)

    def ratios(self, section, mine, base, metric):
        """Run by run. mine, base: (case, variant)"""
        over, under = self.select(section, *mine, metric), self.select(section, *base, metric)
        return [over[run] / under[run] for run in over if under.get(run)]

    def cases(self, section, metric=None):
        return list(dict.fromkeys(row[1] for row in self.rows if row[0] == section and
                                  row[1] != "section" and metric in (None, row[4])))

    def variants(self, section, metric=None):
        return list(dict.fromkeys(row[2] for row in self.rows if row[0] == section and
                                  row[1] != "section" and metric in (None, row[4])))

    def runs(self, section):
        return 1 + max((row[3] for row in self.rows if row[0] == section), default=-1)


# ---- words for tables ----
def spread(values, digits=2):
    """Median (least to most); a dash without values."""
    if not values:
        return "-"
    median, least, most = median_and_spread(values)
    form = "%%.%df" % digits
    if form % least == form % most:
        return form % median
    return (form + " (" + form + " to " + form + ")") % (median, least, most)


def table(heads, rows):
    """Markdown."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


# ---- lines of plots ----
PROTOCOLS = ("no protocol", "TIC, 1 s", "TIC, 0.5 s", "TIC, 0.25 s", "SEL", "TIC+SEL")


def colour_of(name):
    """A protocol has the same colour everywhere; other lines get the next one (None)."""
    return "C%d" % PROTOCOLS.index(name) if name in PROTOCOLS else None


def draw_lines(axes, curves, label_x, label_y, one=None):
    """Points with least and most. curves: name -> [(x, values)]; one: a height for a thin line, where
    something costs nothing."""
    for name, points in curves.items():
        points = [(x,) + median_and_spread(values) for x, values in points if values]
        if points:
            below, above = ([p[1] - p[2] for p in points], [p[3] - p[1] for p in points])
            axes.errorbar([p[0] for p in points], [p[1] for p in points], yerr=[below, above],
                          marker="o", markersize=4, capsize=3, label=name, color=colour_of(name))
    if one is not None:
        axes.axhline(one, color="black", linewidth=0.8)
    axes.set_xlabel(label_x)
    axes.set_ylabel(label_y)
    axes.grid(alpha=0.3)
    if curves:
        axes.legend(fontsize=8)
