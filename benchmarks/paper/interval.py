# SPDX-License-Identifier: LGPL-2.1-or-later
"""Waste, as measured and as the models say (Young, Gropp, Daly, Fialho), against the period: the same
exponential faults for each period, a SIGKILL each, until the program ends. The models are those of
`starpu-tic interval`, with costs that were measured here."""
import json
import random
import statistics
import subprocess

from crashes import BLOCKS, chosen_matrix, cholesky, complete
from measure import PLAIN
from results import spread, table

TITLE = "Waste against the period: Young, Daly, Gropp, Fialho and measurement"
AUTO = "auto" # chosen by the model of Fialho while the program runs
PERIODS = {"trial": ("0.1", AUTO), "quick": ("0.1", "0.2", "0.4", "0.8", AUTO),
           "full": ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6", "3.2", AUTO)}
SEEDS = {"trial": 1, "quick": 5, "full": 30}
ROUNDS = {"trial": 1, "quick": 3, "full": 9} # without faults, for the costs
MODELS = ("young", "gropp", "daly", "fialho-coordinated")
MTBF = 1.0 # of the time of the plain run
MOST = 60 # kills of a run


def faults(seed, mtbf):
    choose = random.Random(seed)
    return [choose.expovariate(1 / mtbf) for _ in range(MOST)]


def measure(bench):
    size = chosen_matrix(bench) * 3 // 2 // BLOCKS * BLOCKS
    command = cholesky(size, BLOCKS)
    mtbf = measure_costs(bench, command) * MTBF
    bench.note("interval", "mtbf", "", 0, mtbf_s=mtbf, size=size)
    for seed in range(SEEDS[bench.options.size]):
        kills = faults(seed, mtbf)
        for period in PERIODS[bench.options.size]:
            total, _, happened, _ = complete(bench, command, "tic-" + period, kills,
                                             STARPU_TIC_MTBF="%g" % mtbf)
            bench.note("interval", period, "faults", seed, wall_s=total, kills=happened)


def measure_costs(bench, command):
    """Time without protection; with each period and no fault; and of a restart until its first task.
    The least wall time without protection."""
    plain = []
    for run in range(ROUNDS[bench.options.size]):
        plain.append(complete(bench, command, PLAIN)[0])
        bench.note("interval", "costs", PLAIN, run, wall_s=plain[-1])
        bench.note("interval", "costs", "tic", run, wall_s=complete(bench, command, "tic")[0])
        for period in PERIODS[bench.options.size]:
            wall, _, _, stats = complete(bench, command, "tic-" + period,
                                         STARPU_TIC_MTBF="%g" % (plain[-1] * MTBF))
            bench.note("interval", period, "no fault", run, wall_s=wall, lines=stats["checkpoints"],
                       latency_s=stats["checkpoint_latency_seconds"],
                       told_cost_s=stats["checkpoint_cost_seconds"])
        measure_restart(bench, command, run, plain[-1])
    return statistics.median(plain)


def measure_restart(bench, command, run, plain):
    """Seconds of a restart from half of the run until its first task ends."""
    settings = {"STARPU_TIC_PERIOD": "%g" % (plain / 8), "STARPU_TIC_VERIFY": "0"}
    bench.execute(command, "tic", kill_after=plain / 2, **settings)
    wall = bench.execute(command, "tic", keep_store=True, STARPU_TIC_FAIL="task-end:1", **settings)[0]
    bench.note("interval", "costs", "restart", run, wall_s=wall)


# ---- the models ----
def costs(results):
    """What the models get: t_c, t_l, mtbf, work, s; and for each period the mean time between lines."""
    base = results.median("interval", "costs", "tic", "wall_s")
    apart, cost, latency = {}, [], []
    for period in results.cases("interval", "lines"):
        wall, lines, late = (results.median("interval", period, "no fault", metric)
                             for metric in ("wall_s", "lines", "latency_s"))
        if lines >= 1:
            apart[period] = wall / lines
            latency.append(late)
        if lines >= 2:
            cost.append((wall - base) / lines)
    tc = max(1e-3, statistics.median(cost)) if cost else 1e-3
    tl = results.median("interval", "costs", "restart", "wall_s") + (
        statistics.median(latency) if latency else 0)
    return {"tc": tc, "tl": tl, "mtbf": results.one("interval", "mtbf", "", "mtbf_s"),
            "work": results.median("interval", "costs", PLAIN, "wall_s")}, apart


def ask(tool, values, period):
    """model: (advised period, waste at `period`) by starpu-tic interval."""
    words = [word for name, value in values.items() for word in ("--" + name, "%g" % value)]
    text = subprocess.run([tool, "interval", "--json", "--period", "%g" % period] + words,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    return {model["model"]: (model["period"], model["at_period"]["waste"])
            for model in json.loads(text)["models"]}


def measured(results, period):
    """Waste of each seed: (wall - work) / wall."""
    work = costs(results)[0]["work"]
    return [1 - work / wall for wall in results.values("interval", period, "faults", "wall_s")]


def overall(results, period):
    """Waste of all seeds together: the sum of their times against that of the work."""
    walls = results.values("interval", period, "faults", "wall_s")
    return 1 - costs(results)[0]["work"] * len(walls) / sum(walls) if walls else float("nan")


def draw(results, pyplot, save):
    values, apart = costs(results)
    tool = results.one("machine", "machine", "", "tool")
    figure, axis = pyplot.subplots(figsize=(9, 5))
    grid = [values["tc"] * 1.05 * 1.12 ** i for i in range(80)]
    grid = [period for period in grid if period <= 1.5 * max(apart.values(), default=1)]
    waste = [ask(tool, values, period) for period in grid]
    for model in MODELS:
        points = [(x, y[model][1]) for x, y in zip(grid, waste) if y[model][1] is not None]
        axis.plot([x for x, _ in points], [y for _, y in points], linewidth=1, label=model)
    for period, x in sorted(apart.items(), key=lambda pair: pair[1]):
        each = measured(results, period)
        if each:
            axis.plot([x] * len(each), each, "k.", markersize=3,
                      label=None if axis.get_legend_handles_labels()[1][-1].startswith("meas") else
                      "measured, each sequence of faults")
    axis.plot(list(apart.values()), [overall(results, period) for period in apart], "ks", markersize=7,
              fillstyle="none", label="measured, all sequences together")
    axis.set_xscale("log")
    ticks = [x for x in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5) if grid[0] <= x <= grid[-1]]
    axis.minorticks_off()
    axis.set_xticks(ticks, ["%g" % x for x in ticks])
    for period, x in apart.items():
        axis.annotate("set: " + period, (x, overall(results, period)), (6, 6), fontsize=8,
                      textcoords="offset points")
    axis.set_ylim(0, 1)
    axis.set_xlabel("time between two checkpoints, s (fault-free runs)")
    axis.set_ylabel("waste: share of the wall time that is not work")
    axis.grid(alpha=0.3)
    handles = dict(zip(*reversed(axis.get_legend_handles_labels())))
    axis.legend(handles.values(), handles.keys(), fontsize=8)
    save(figure, "interval")


def tell(results):
    values, apart = costs(results)
    tool = results.one("machine", "machine", "", "tool")
    rows = []
    for period in results.cases("interval", "lines"):
        between = apart.get(period)
        told = ask(tool, values, between) if between and between > values["tc"] else {}
        rows.append([period, "%.2f" % between if between else "no line",
                     spread(results.values("interval", period, "faults", "wall_s")),
                     spread(results.values("interval", period, "faults", "kills"), 0),
                     "%.2f" % overall(results, period)] +
                    ["%.2f" % told[model][1] if model in told and told[model][1] is not None else "-"
                     for model in MODELS])
    advised = ask(tool, values, values["tc"] * 2)
    return ("Cholesky of a larger matrix (%d x %d, three times the work), 2 workers, TIC; faults by "
            "an exponential law with an MTBF of the time of the plain run, the same sequences for "
            "each period, SIGKILL and an immediate restart; auto is `STARPU_TIC_PERIOD=auto` with this "
            "MTBF. Costs as measured here: t_c = %.3f s (time that a recovery line adds to a run "
            "without faults), t_l = %.2f s (a restart until its first task, and the latency of a "
            "line), t_d = 0, MTBF = %.2f s, work = %.2f s.\n\n"
            % tuple([results.one("interval", "mtbf", "", "size")] * 2 +
                    [values[name] for name in ("tc", "tl", "mtbf", "work")]) +
            table(["period set, s", "between lines, s", "all runs, s", "kills", "waste, measured"] +
                  list(MODELS), rows) +
            "\n\nPeriods that the models advise: " +
            ", ".join("%s %.2f s" % (model, advised[model][0]) for model in MODELS) +
            ". Waste is (wall - work) / wall, over all sequences of faults together. What the time of "
            "the machine varies (see the spread of runs without faults above) counts as waste, and "
            "the sequences are few. The models are asked outside of their comfort: an MTBF of one "
            "run, of which t_l is a large part, where Young, who knows no t_l, must be low, and "
            "first-order models (Gropp, Fialho) allow one fault in an interval. A fault before the "
            "first line, or while a restart still reads, costs the start again, which is in none of "
            "them but Daly's exponential. Fialho's thesis found its model within 3 % of real runs at "
            "an MTBF of 100 s and more, with t_c of half a second.")
