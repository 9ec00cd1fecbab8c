# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trees of tasks, knary, with 75 to 1500 tasks (macro-dataflow paper): S0 without protection, S1 with it,
S2 with it and one fault at half of S0."""
from crashes import complete, name_of, of_build, runs_of
from measure import PLAIN
from results import draw_lines, spread, table

TITLE = "Trees of tasks: S1/S0 and S2/S0 (macro-dataflow paper)"
WIDTHS = {"trial": (8,), "quick": (8, 12, 20, 28, 38), "full": (8, 12, 20, 28, 38)}
COSTS = {"trial": (200,), "quick": (2000,), "full": (1000, 10000)} # us of a kernel
VARIANTS = ("tic-0.25", "tic-1", "tic-sel")


def measure(bench):
    for run in range(runs_of(bench, quick=5)):
        for cost in COSTS[bench.options.size]:
            for width in WIDTHS[bench.options.size]:
                command = of_build(bench, "tests/lib/knary", "tree", 2, width, cost)
                case = "%d tasks of %g ms" % (1 + width + width * width, cost / 1e3)
                plain = complete(bench, command, PLAIN)[0]
                bench.note("knary", case, PLAIN, run, S0=plain)
                for variant in VARIANTS:
                    without = complete(bench, command, variant)[0]
                    fault, _, kills, _ = complete(bench, command, variant, (plain / 2,))
                    bench.note("knary", case, variant, run, S1=without, S2=fault, kills=kills)


def against_plain(results, case, variant, metric):
    over, under = (results.select("knary", case, name, number)
                   for name, number in ((variant, metric), (PLAIN, "S0")))
    return [over[run] / under[run] for run in over if run in under]


def added(results, case, variant):
    """ms of wall time for each task, run by run"""
    over, under = (results.select("knary", case, name, number)
                   for name, number in ((variant, "S1"), (PLAIN, "S0")))
    return [(over[run] - under[run]) / int(case.split()[0]) * 1e3 for run in over if run in under]


def draw(results, pyplot, save):
    figure, axes = pyplot.subplots(1, 3, figsize=(15, 4.4))
    costs = list(dict.fromkeys(case.split(" of ")[1] for case in results.cases("knary")))

    def curves(values):
        return {"%s, tasks of %s" % (name_of(variant), cost):
                [(int(case.split()[0]), values(case, variant)) for case in results.cases("knary")
                 if case.endswith(cost)] for variant in VARIANTS for cost in costs}

    draw_lines(axes[0], curves(lambda case, variant: against_plain(results, case, variant, "S1")),
               "tasks", "S1 / S0: protected, no fault", 1)
    draw_lines(axes[1], curves(lambda case, variant: added(results, case, variant)), "tasks",
               "added wall time, ms a task", 1)
    axes[1].text(axes[1].get_xlim()[0], 1, "  1 ms, the paper", fontsize=8, va="bottom")
    draw_lines(axes[2], curves(lambda case, variant: against_plain(results, case, variant, "S2")),
               "tasks", "S2 / S0: protected, one fault", 1)
    save(figure, "knary")


def tell(results):
    rows = [[case, name_of(variant), spread(results.values("knary", case, PLAIN, "S0"))] +
            [spread(against_plain(results, case, variant, metric)) for metric in ("S1", "S2")] +
            [spread(added(results, case, variant))]
            for case in results.cases("knary") for variant in VARIANTS]
    return ("A root with k children of k children each, submitted by kernels, tasks that spin "
            "and then add to one of 16 sums by commuting writes; 2 workers. S2: killed after "
            "half of S0.\n\n" +
            table(["tree", "protocol", "S0, s", "S1/S0", "S2/S0", "added, ms a task (theirs: 1 ms)"], rows) +
            "\n\nTheirs was 1 ms a task. Ours has a fixed part (start of the store, lines) that "
            "a small tree divides among few tasks, and is that of recovery lines in the page "
            "cache of the same machine. Their S1/S0 and S2/S0 are not known to us. S2 contains "
            "the start of a second process.")
