# SPDX-License-Identifier: LGPL-2.1-or-later
"""A third of the machine lost at half time (figure 12 of Jafar, Krings and Gautier): the process is killed at
half of its time on 3 workers, and goes on with 2; beside it the loss of a half (2 workers, then 1), which
2 processors can show better, and restarts on all workers."""
import statistics

from crashes import chosen_cholesky, complete, name_of, runs_of
from measure import PLAIN
from results import colour_of, spread, table

TITLE = "A third of the machine lost at half time (TIC/SEL paper, figure 12)"
LOSSES = ((3, 3), (3, 2), (2, 2), (2, 1))
VARIANTS = (PLAIN, "tic-0.25", "tic-sel")


def case_of(before, after):
    return "%d then %d" % (before, after)


def measure(bench):
    command = chosen_cholesky(bench)
    for run in range(runs_of(bench)):
        for variant in VARIANTS:
            for before in dict.fromkeys(workers for workers, _ in LOSSES):
                wall = complete(bench, command, variant, workers=(before,))[0]
                bench.note("third", "%d" % before, variant, run, wall_s=wall)
                for after in (after for workers, after in LOSSES if workers == before):
                    total = complete(bench, command, variant, (wall / 2,), (before, after))[0]
                    bench.note("third", case_of(before, after), variant, run, wall_s=total,
                               fault_ratio=total / wall)


def draw(results, pyplot, save):
    figure, axes = pyplot.subplots(figsize=(8, 4.4))
    cases = [case_of(*loss) for loss in LOSSES]
    width = 0.8 / len(VARIANTS)
    for i, variant in enumerate(VARIANTS):
        bars = [(k + i * width, values) for k, case in enumerate(cases)
                for values in [results.values("third", case, variant, "fault_ratio")] if values]
        middle = [statistics.median(values) for _, values in bars]
        axes.bar([x for x, _ in bars], middle, width, label=name_of(variant), capsize=3,
                 color=colour_of(name_of(variant)),
                 yerr=[[m - min(values) for m, (_, values) in zip(middle, bars)],
                       [max(values) - m for m, (_, values) in zip(middle, bars)]])
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks([k + width for k in range(len(cases))])
    axes.set_xticklabels(["%s workers" % case for case in cases])
    axes.set_ylabel("time with the loss / without, same protocol")
    axes.legend(fontsize=8)
    save(figure, "figure-12-third")


def tell(results):
    rows = [[case_of(*loss), name_of(variant),
             spread(results.values("third", str(loss[0]), variant, "wall_s")),
             spread(results.values("third", case_of(*loss), variant, "wall_s")),
             spread(results.values("third", case_of(*loss), variant, "fault_ratio"))]
            for loss in LOSSES for variant in VARIANTS]
    return ("The same Cholesky, killed at half of the time that it took just before with the same "
            "protocol.\n\n" +
            table(["workers", "protocol", "without loss, s", "with, s", "ratio"], rows) +
            "\n\nIf nothing were lost but the workers, and each had a processor, the ratio would "
            "be 1.25 for 3 then 2 (half of the time, and half as much again for the other half), "
            "and 1.5 for 2 then 1. Here 3 workers share 2 processors, so the loss of one takes "
            "no power away, and the row 2 then 1 is the one that means something. A run without "
            "a protocol begins anew: 1.5 at least, and 2.5 with half of the processors. The "
            "paper lost machines of a cluster while the others ran on; its numbers are not known "
            "to us.")
