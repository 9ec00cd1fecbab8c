# SPDX-License-Identifier: LGPL-2.1-or-later
"""Time without protocol, with TIC at several periods and with SEL against the number of processors
(figure 8 of Jafar, Krings and Gautier), and the volume that is stored (figure 9)."""
from crashes import chosen_cholesky, complete, name_of, runs_of, stored
from measure import PLAIN
from results import draw_lines, spread, table

TITLE = "Time and volume against processors (TIC/SEL paper, figures 8 and 9)"
WORKERS = {"trial": (1, 2), "quick": (1, 2, 4), "full": (1, 2, 3, 4)}
VARIANTS = (PLAIN, "tic-1", "tic-0.5", "tic-0.25", "tic-sel", "tic-tic+sel")


def measure(bench):
    command = chosen_cholesky(bench)
    for run in range(runs_of(bench)):
        for workers in WORKERS[bench.options.size]:
            for variant in VARIANTS:
                wall, _, _, stats = complete(bench, command, variant, workers=(workers,))
                bench.note("processors", workers, variant, run, wall_s=wall)
                if stats:
                    bench.note("processors", workers, variant, run, stored_MB=stored(stats),
                               lines=stats["checkpoints"], thefts=stats["thefts"],
                               forced=stats["forced_checkpoints"])


def curves(results, metric, variants=VARIANTS):
    return {name_of(variant): [(int(case), results.values("processors", case, variant, metric))
                               for case in map(str, results.cases("processors"))]
            for variant in variants}


def draw(results, pyplot, save):
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.4))
    draw_lines(axes[0], curves(results, "wall_s"), "workers", "wall time, s")
    axes[0].set_ylim(bottom=0)
    draw_lines(axes[1], curves(results, "stored_MB", VARIANTS[1:]), "workers",
               "values and log stored, MB")
    axes[1].set_yscale("log")
    for axis in axes:
        axis.set_xticks([int(case) for case in results.cases("processors")])
    save(figure, "figure-08-09-processors")


def tell(results):
    rows = []
    for case in results.cases("processors"):
        for variant in VARIANTS:
            values = [results.values("processors", case, variant, metric)
                      for metric in ("wall_s", "stored_MB", "lines", "thefts", "forced")]
            ratio = results.ratios("processors", (case, variant), (case, PLAIN), "wall_s")
            rows.append([int(case), name_of(variant), spread(values[0]),
                         "" if variant == PLAIN else spread(ratio), spread(values[1], 0),
                         spread(values[2], 0), spread(values[3], 0), spread(values[4], 0)])
    return ("Cholesky of %d x %d in 30 x 30 blocks (4960 tasks).\n\n" % (
        (results.one("machine", "matrix", "", "size"),) * 2) +
            table(["workers", "protocol", "wall, s", "ratio to no protocol", "stored, MB", "lines",
                   "thefts", "results saved"], rows) +
            "\n\n*results saved*: of stolen tasks, or of all. The paper went to many machines of a "
            "grid, where thefts are messages between machines; here StarPU 1.3 runs at most 4 "
            "workers, and more than 2 share the machine's 2 processors, so that nothing should get "
            "faster beyond 2: what does is noise. What can be compared is the volume: SEL's depends "
            "on the tasks alone, TIC's on how many lines fit into the run. The numbers of the "
            "paper's figures are not known to us.")
