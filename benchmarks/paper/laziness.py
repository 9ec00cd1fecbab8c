# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lazy checkpoint coordination (Wang and Fuchs 1992): induction ratio and rollback distance against
laziness Z, on traces that are made and on one that a run under SEL has recorded, with their bounds
(N - 1) / Z and Q. A simulation: nothing is timed."""
import random
import statistics

import lazy
import traces
from crashes import BLOCKS, chosen_cholesky, settings_of, tasks_of_cholesky
from results import draw_lines, spread, table
from reuse import read_log

TITLE = "Lazy coordination: induction and rollback against laziness"
LAZINESS = (1, 2, 3, 4, 5, 6, 7, 8)
PROCESSORS, Q, RATE = 8, 2, 10 # as their Table 1: Q about 2; messages in a basic interval
LENGTH = {"trial": 20, "quick": 60, "full": 300} # basic intervals
SEEDS = {"trial": 1, "quick": 5, "full": 20}
FAILURES = 12 # of each run, for the rollback distance
WORST = "worst case"
RECORDED = "Cholesky, recorded on 4 workers"


def made(size, seed):
    """(name, processors, trace)"""
    for pattern in traces.PATTERNS:
        yield pattern, PROCESSORS, traces.regular(PROCESSORS, LENGTH[size], Q, pattern, RATE, seed)


def record(bench):
    """A run under SEL, killed at its last task, so that its log is left."""
    last = tasks_of_cholesky(BLOCKS) - 1
    bench.execute(chosen_cholesky(bench), "tic-sel", STARPU_TIC_FAIL="task-end:%d" % last,
                  **dict(settings_of("tic-sel"), STARPU_NCPU="4"))
    return traces.of_log(read_log(bench))


def distance(trace, processors, laziness, seed):
    """Mean time that is lost when one processor fails, in basic intervals: of the failed one, and of all
    processors, survivors that need not go back with 0."""
    choose, failed_ones, all_ones = random.Random(seed), [], []
    moments = sorted(choose.uniform(len(trace) / 4, len(trace)) for _ in range(FAILURES))
    run, at = lazy.Run(processors, laziness), 0
    for moment in moments:
        run.play(trace[at:int(moment)])
        at = int(moment)
        failed = choose.randrange(processors)
        lost = run.distances({failed}, run.recovery_line({failed}), trace[at - 1][0])
        failed_ones.append(lost[failed])
        all_ones.append(statistics.mean(lost))
    return statistics.mean(failed_ones), statistics.mean(all_ones)


def simulate(bench, name, processors, trace, seed):
    q = traces.intervals_ratio(trace, processors)
    for laziness in LAZINESS:
        run = lazy.Run(processors, laziness).play(trace)
        failed, everybody = distance(trace, processors, laziness, seed)
        bench.note("laziness", "%s, Z %d" % (name, laziness), str(processors), seed,
                   ratio=run.ratio(), failed=failed, everybody=everybody, q=q,
                   messages=len(run.messages))


def measure(bench):
    events, workers, seconds = record(bench)
    for seed in range(SEEDS[bench.options.size]):
        for name, processors, trace in made(bench.options.size, seed):
            simulate(bench, name, processors, trace, seed)
        simulate(bench, RECORDED, workers, traces.with_checkpoints(
            events, workers, seconds, LENGTH["trial"], Q, seed), seed)
    for laziness in LAZINESS:
        trace = traces.worst(PROCESSORS, laziness, LENGTH[bench.options.size])
        bench.note("laziness", "%s, Z %d" % (WORST, laziness), str(PROCESSORS), 0,
                   ratio=lazy.Run(PROCESSORS, laziness).play(trace).ratio())


def names(results):
    """name: processors"""
    return {row[1].split(", Z ")[0]: int(row[2]) for row in results.rows
            if row[0] == "laziness" and ", Z " in row[1]}


def curve(results, name, processors, metric):
    return [(laziness, results.values("laziness", "%s, Z %d" % (name, laziness), str(processors), metric))
            for laziness in LAZINESS]


def draw(results, pyplot, save):
    figure, axes = pyplot.subplots(1, 3, figsize=(15.5, 4.6))
    groups = {False: {}, True: {}} # whether recorded
    for name, processors in names(results).items():
        groups[name == RECORDED][name] = processors
    for axis, recorded in ((axes[0], False), (axes[1], True)):
        for processors in set(groups[recorded].values()):
            axis.plot(LAZINESS, [lazy.worst_ratio(processors, z) for z in LAZINESS], "k-", linewidth=1,
                      label="bound (N-1)/Z, N = %d" % processors)
            axis.plot(LAZINESS[1:], [lazy.q_bound(processors, z, Q) for z in LAZINESS[1:]], "k--",
                      linewidth=1, label="Q bound, Q = %d" % Q)
        draw_lines(axis, {name: curve(results, name, processors, "ratio")
                          for name, processors in groups[recorded].items()},
                   "laziness Z", "induction ratio: induced / basic checkpoints")
        axis.set_yscale("symlog", linthresh=0.1)
        axis.set_ylim(bottom=0)
    draw_lines(axes[2], {name: curve(results, name, processors, "failed")
                         for name, processors in names(results).items() if name != WORST},
               "laziness Z", "rollback of the failed one, basic intervals")
    axes[2].plot(LAZINESS[1:], [(z - 1) / 2 for z in LAZINESS[1:]], "k--", linewidth=1,
                 label="(Z-1)/2, the paper's line")
    axes[2].plot([1], [0.5], "kx", label="0.5, the paper's most for Z = 1")
    axes[2].legend(fontsize=8)
    save(figure, "lazy-coordination")


def tell(results):
    rows = []
    for name, processors in names(results).items():
        for laziness in LAZINESS:
            case = "%s, Z %d" % (name, laziness)
            bound = "%.2f" % lazy.q_bound(processors, laziness, Q) if laziness > 1 else "-"
            rows.append([name, processors, laziness,
                         spread(results.values("laziness", case, str(processors), "ratio")),
                         "%.2f" % lazy.worst_ratio(processors, laziness), bound] +
                        [spread(results.values("laziness", case, str(processors), metric))
                         for metric in ("failed", "everybody")])
    qs = [row[5] for row in results.rows if row[0] == "laziness" and row[4] == "q"]
    return ("Simulated by `benchmarks/paper/lazy.py`, which `tests/lazy` checks in `make check`: "
            "300 random runs, each line nZ consistent, each recovery line that of brute force "
            "and not older than the last nZ, garbage never past it, induced checkpoints within "
            "(N-1)/Z, which the worst case attains; the Q bounds as their equation 5 gives them. Traces: 8 "
            "processors whose basic intervals differ by a factor of 2 at most (measured: %.2f to "
            "%.2f), each with 10 messages in a basic interval, to a pattern; and a run of the "
            "Cholesky under SEL on 4 workers, where a task that reads what another worker's has "
            "written receives a message. Its basic checkpoints are made, about 20 for each "
            "worker. *rollback*: of the processor that fails, and the mean over all (0 for "
            "survivors that need not go back), in mean basic intervals.\n\n"
            % (min(qs), max(qs)) +
            table(["trace", "N", "Z", "R", "(N-1)/Z", "Q bound, Q = 2", "rollback: failed one", "all"],
                  rows) +
            "\n\nThe paper (N = 8 and 6, Q of 1.4 to 2.5, Encore Multimax) gives in its text: R "
            "below or near the bound for Q = 2, a large drop from Z = 1 to 2, a rollback of 0.5 "
            "basic intervals at most for Z = 1 and of about (Z-1)/2 for Z of 2 and more. Points "
            "of its curves are lost.")
