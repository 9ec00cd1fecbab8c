# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rollback overhead and total overhead against the number of faults (figures 10 and 11 of Jafar, Krings
and Gautier), by their equation 9: time with faults over time without them. Both ways: as measured against
runs without faults, and as the last run tells it from its recovery lines and log (fault_ratio of the
statistics: all time over what was not lost)."""
from crashes import chosen_cholesky, complete, name_of, runs_of
from measure import PLAIN
from results import draw_lines, spread, table

TITLE = "Overheads against faults (TIC/SEL paper, figures 10 and 11, equation 9)"
FAULTS = {"trial": (0, 1), "quick": (0, 1, 2, 3), "full": (0, 1, 2, 3, 4, 6, 8)}
VARIANTS = (PLAIN, "tic-1", "tic-0.25", "tic-sel")


def measure(bench):
    command = chosen_cholesky(bench)
    for run in range(runs_of(bench)):
        plain = None
        for faults in FAULTS[bench.options.size]:
            for variant in VARIANTS:
                kills = [plain / (faults + 1)] * faults if plain else []
                total, _, happened, stats = complete(bench, command, variant, kills)
                plain = plain or total
                bench.note("faults", faults, variant, run, wall_s=total, kills=happened)
                if stats:
                    bench.note("faults", faults, variant, run, told=stats["fault_ratio"])


def rollback(results, case, variant):
    return results.ratios("faults", (case, variant), ("0", variant), "wall_s")


def total(results, case, variant):
    return results.ratios("faults", (case, variant), ("0", PLAIN), "wall_s")


def told(results, case, variant):
    return results.values("faults", case, variant, "told")


def draw(results, pyplot, save):
    cases = results.cases("faults")
    figure, axes = pyplot.subplots(1, 3, figsize=(15, 4.4))
    for axis, values, variants, label in (
            (axes[0], rollback, VARIANTS, "time with faults / without, same protocol"),
            (axes[1], told, VARIANTS[1:], "the same, as the last run tells it"),
            (axes[2], total, VARIANTS, "time with faults / no protocol, no faults")):
        draw_lines(axis, {name_of(variant): [(int(case), values(results, case, variant))
                                             for case in cases] for variant in variants},
                   "faults", label, 1)
        axis.set_xticks([int(case) for case in cases])
    save(figure, "figure-10-11-faults")


def tell(results):
    rows = [[int(case), name_of(variant), spread(results.values("faults", case, variant, "wall_s")),
             spread(rollback(results, case, variant)), spread(told(results, case, variant)),
             spread(total(results, case, variant)),
             spread(results.values("faults", case, variant, "kills"), 0)]
            for case in results.cases("faults") for variant in VARIANTS]
    return ("The same Cholesky, 2 workers; with F faults each run is killed (SIGKILL) after "
            "1/(F+1) of the time that the first plain run took, F times. Without a protocol each "
            "run begins anew. *rollback*: equation 9 as measured, against the same protocol "
            "without faults (figure 10); *told*: the same ratio from recovery lines and log; "
            "*total*: against no protocol and no faults (figure 11).\n\n" +
            table(["faults", "protocol", "all runs, s", "rollback", "told", "total", "kills"], rows) +
            "\n\nA period that is longer than the time between two faults protects nothing: TIC with 1 s "
            "has no line before the first fault of so short a run. *told* leaves out what a restart "
            "costs (start of the process and of StarPU, `main()` until the first task), which is a "
            "large part of such a run, and runs that died before their first line; so it is the "
            "smaller one. In the paper one processor of many is lost; here the process dies, and all "
            "of it goes back. The paper's numbers are not known to us.")
