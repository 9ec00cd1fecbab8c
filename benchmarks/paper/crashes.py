# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the experiments with faults share: the programs, the names of variants, and a program that is
killed and started again until it ends."""
import os
import sys

from measure import PLAIN, find_examples, find_program, settings_of

# How variants are called in tables and plots.
NAMES = {PLAIN: "no protocol", "tic-0.1": "TIC, 0.1 s", "tic-0.25": "TIC, 0.25 s",
         "tic-0.5": "TIC, 0.5 s", "tic-1": "TIC, 1 s", "tic-sel": "SEL", "tic-tic+sel": "TIC+SEL",
         "tic": "TIC, no line"}


def name_of(variant):
    return NAMES.get(variant, variant)


def cholesky(size, blocks):
    """Debian's Cholesky (single precision, BLAS) of a matrix with size x size entries in
    blocks x blocks tiles; words of a command."""
    folder = find_examples()
    path = folder and find_program(folder, "cholesky_implicit")
    if not path:
        sys.exit("no starpu-examples")
    return [path, "-size", str(size), "-nblocks", str(blocks)]


def tasks_of_cholesky(blocks):
    return blocks * (blocks + 1) * (blocks + 2) // 6


BLOCKS = 30
SIZES = {"trial": (960,), "full": (2700, 3000, 3600, 4200, 4800, 6000, 7200, 9600, 12000),
         "quick": (1800, 2100, 2400, 2700, 3000, 3600, 4200, 4800, 6000, 7200, 9600)}
SECONDS = {"trial": 0.1, "quick": 1.2, "full": 5}


def chosen_matrix(bench):
    """Size of the smallest matrix in 30 x 30 blocks whose factorization takes long enough here, by
    processor time, as others may use the machine; the same for all sections of a run."""
    if not hasattr(bench, "matrix"):
        for size in SIZES[bench.options.size]:
            cpu = bench.execute(cholesky(size, BLOCKS), PLAIN, **settings_of(PLAIN))[1]
            bench.matrix = size
            if cpu / bench.options.workers >= SECONDS[bench.options.size]:
                break
        bench.note("machine", "matrix", "", 0, size=bench.matrix)
    return bench.matrix


def chosen_cholesky(bench):
    return cholesky(chosen_matrix(bench), BLOCKS)


def runs_of(bench, quick=3):
    return {"trial": 1, "quick": quick, "full": 9}[bench.options.size]


def of_build(bench, *words):
    """A program of the build, and its arguments."""
    return [os.path.join(bench.options.build, words[0])] + [str(word) for word in words[1:]]


def complete(bench, command, variant, kills=(), workers=(), **settings):
    """Runs a command until it ends: run i is killed after kills[i] seconds (None: not), with
    workers[i] workers, the last of both for those that come after. (seconds of all runs together,
    seconds of the last run, kills that happened, statistics of the last run). Nobody looks for undeclared
    writes: only then does TIC save the results of stolen tasks, and SEL use its whole log."""
    happened, total, run = 0, 0.0, 0
    settings = dict(dict(settings_of(variant), STARPU_TIC_VERIFY="0"), **settings)
    while True:
        if workers:
            settings["STARPU_NCPU"] = str(workers[min(run, len(workers) - 1)])
        wall, _, _, stats = bench.execute(command, variant, keep_store=run > 0,
                                          kill_after=kills[run] if run < len(kills) else None,
                                          **settings)
        total, run = total + wall, run + 1
        if not bench.killed:
            return total, wall, happened, stats
        happened += 1


def stored(stats):
    """Bytes of values and log that a run has written, in MB."""
    return (stats["bytes_written"] + stats["log_bytes"]) / 1e6
