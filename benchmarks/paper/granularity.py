# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tasks against granularity (figure 7 of Jafar, Krings and Gautier): a threshold says below which size of a
subproblem a task computes serially. Branch and bound (QAP, the paper's application) and a recursion
(Fibonacci)."""
from crashes import complete, name_of, of_build, runs_of
from measure import PLAIN
from results import draw_lines, spread, table

TITLE = "Tasks against granularity (TIC/SEL paper, figure 7)"
QAP = {"trial": ("12", (1, 2)), "quick": ("14", (1, 2, 3)), "full": ("14", (1, 2, 3, 4))}
FIB = {"trial": (32, (24, 20)), "quick": (41, (31, 28, 25, 22)), "full": (44, (34, 31, 28, 25, 22))}
SHOWN = {"QAP": (PLAIN, "tic-1", "tic-sel"), "Fibonacci": (PLAIN, "tic-1", "tic-sel")}


def programs(bench):
    """(name, threshold, command); the threshold is a depth of QAP's tree, a number of Fibonacci."""
    instance, depths = QAP[bench.options.size]
    for depth in depths:
        yield "QAP", depth, of_build(bench, "examples/06_qap", instance, depth)
    number, thresholds = FIB[bench.options.size]
    for threshold in thresholds:
        yield "Fibonacci", threshold, of_build(bench, "examples/05_fib", number, 2, threshold)


def measure(bench):
    for run in range(runs_of(bench)):
        for name, threshold, command in programs(bench):
            for variant in SHOWN[name]:
                wall, _, _, stats = complete(bench, command, variant)
                case = "%s %d" % (name, threshold)
                bench.note("granularity", case, variant, run, wall_s=wall)
                if stats:
                    bench.note("granularity", case, variant, run, tasks=stats["tasks_submitted"])


def thresholds(results, name):
    """(threshold, case, tasks)"""
    for case in results.cases("granularity"):
        if case.startswith(name + " "):
            yield int(case.split()[1]), case, results.median("granularity", case, "tic-1", "tasks")


def draw(results, pyplot, save):
    figure, axes = pyplot.subplots(1, 3, figsize=(15, 4.2))
    for axis, name, label in ((axes[0], "QAP", "threshold: depth of the tree"),
                              (axes[1], "Fibonacci", "threshold: number")):
        draw_lines(axis, {name: [(threshold, [tasks]) for threshold, _, tasks
                                 in thresholds(results, name)]}, label, "tasks")
        axis.set_yscale("log")
        axis.set_ylim(10, 1e5)
        axis.set_xticks([threshold for threshold, _, _ in thresholds(results, name)])
    curves = {"%s, %s" % (name, name_of(variant)):
              [(tasks, results.ratios("granularity", (case, variant), (case, PLAIN), "wall_s"))
               for _, case, tasks in thresholds(results, name)]
              for name in SHOWN for variant in SHOWN[name] if variant != PLAIN}
    draw_lines(axes[2], curves, "tasks", "wall time, ratio to no protocol", 1)
    axes[2].set_xscale("log")
    save(figure, "figure-07-granularity")


def tell(results):
    rows = []
    for name in SHOWN:
        for threshold, case, tasks in thresholds(results, name):
            plain = results.values("granularity", case, PLAIN, "wall_s")
            workers = results.one("machine", "machine", "", "workers")
            rows.append([name, threshold, int(tasks), "%.3f" % (min(plain) * workers / tasks * 1e3),
                         spread(plain)] +
                        [spread(results.ratios("granularity", (case, variant), (case, PLAIN), "wall_s"))
                         if variant in SHOWN[name] else "-" for variant in ("tic-1", "tic-sel")])
    return ("A finer threshold makes more and shorter tasks; SEL saves a result of each, TIC does "
            "not.\n\n" +
            table(["program", "threshold", "tasks", "ms a task, at most", "no protocol, s",
                   "TIC (1 s), ratio", "SEL, ratio"], rows) +
            "\n\nThe paper ran QAP, too, on a grid; the numbers of its figure are not known to "
            "us, its shape (tasks grow by a power of the threshold) is. *ms a task*: least wall "
            "time times workers over tasks, so what StarPU and `main()` take is in it.")
