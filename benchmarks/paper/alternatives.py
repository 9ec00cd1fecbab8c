# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a user could pick instead, on the same run, killed at half time: a plain start from the beginning, a
checkpoint written by hand with HDF5 (by_hand.c: its lines are counted), a checkpoint of the whole process
(DMTCP, if there is one), and starpu-tic."""
import glob
import os
import re
import shutil
import sys

from machine import first_line
from crashes import complete, of_build, runs_of, stored
from measure import PLAIN, read_text, settings_of
from results import draw_lines, spread, table

TITLE = "What a user could pick instead"
STEPS = {"trial": 20, "quick": 1200, "full": 3000}
PERIODS = 4 # checkpoints in a run, about, of each variant
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "by_hand.c")
MARK = re.compile(r"/\* by hand: (begin|end) \*/")
NAMES = {"plain": "start over", "by hand": "HDF5 by hand", "tic": "starpu-tic, TIC",
         "sel": "starpu-tic, SEL", "dmtcp": "DMTCP"}


def added_lines():
    """Lines between the marks, but for empty ones."""
    count, inside = 0, False
    with open(SOURCE, encoding="utf-8") as file:
        for line in file:
            mark = MARK.search(line)
            if mark:
                inside = mark.group(1) == "begin"
            elif inside and line.strip():
                count += 1
    return count


def dmtcp_folder(bench):
    return bench.options.dmtcp or os.path.dirname(shutil.which("dmtcp_launch") or "")


class Program:
    """The stencil of by_hand.c. seconds: of a plain run, once it is known."""

    def __init__(self, bench):
        self.bench, self.steps = bench, STEPS[bench.options.size]
        self.command = of_build(bench, "benchmarks/paper/by_hand", self.steps)
        self.file = os.path.join(bench.work, "by-hand.h5")
        self.images = os.path.join(bench.work, "images")
        self.seconds, self.sum = None, None

    def check(self):
        """The last run printed what the first one did."""
        words = read_text(self.bench.output).split()
        self.sum = self.sum or words
        if words != self.sum:
            sys.exit("by_hand: %s is not %s" % (words, self.sum))

    def kills(self, killed):
        return (self.seconds / 2,) if killed else ()

    def plain(self, killed):
        return complete(self.bench, self.command, PLAIN, self.kills(killed))[0], 0.0

    def tic(self, killed, protocol="tic"):
        settings = {"STARPU_TIC_PERIOD": "%g" % (self.seconds / PERIODS), "STARPU_TIC_PROTOCOL": protocol}
        total, _, _, stats = complete(self.bench, self.command, "tic", self.kills(killed), **settings)
        return total, stored(stats)

    def sel(self, killed):
        return self.tic(killed, "sel")

    def by_hand(self, killed):
        every = max(1, self.steps // (PERIODS + 1))
        if os.path.exists(self.file):
            os.unlink(self.file)
        total = complete(self.bench, self.command + [str(every), self.file], PLAIN, self.kills(killed))[0]
        plate = 16 * 128 * 2048 * 8 / 1e6 # MB, as by_hand.c has it
        return total, plate * ((self.steps - 1) // every)

    def dmtcp(self, killed):
        tool = dmtcp_folder(self.bench)
        shutil.rmtree(self.images, ignore_errors=True)
        os.mkdir(self.images)
        common = ["--new-coordinator", "--coord-port", "0", "--no-gzip", "--ckptdir", self.images, "--interval",
                  str(max(1, round(self.seconds / PERIODS)))] # it knows whole seconds only
        # hwloc's look at disks opens symbolic links, which DMTCP takes for files that it does not know.
        environment = self.bench.environment(DMTCP_QUIET="2", HWLOC_COMPONENTS="-linuxio",
                                             **settings_of(PLAIN))
        total, _ = self.bench.wait([os.path.join(tool, "dmtcp_launch")] + common + self.command,
                                   self.kills(killed)[0] if killed else None, environment)
        images = glob.glob(os.path.join(self.images, "*.dmtcp"))
        if self.bench.killed:
            restart = [os.path.join(tool, "dmtcp_restart")] + common + images if images else self.command
            total += self.bench.wait(restart, None, environment)[0]
            images = glob.glob(os.path.join(self.images, "*.dmtcp"))
        return total, sum(os.path.getsize(image) for image in images) / 1e6

    def variants(self):
        every = {"plain": self.plain, "by hand": self.by_hand, "tic": self.tic, "sel": self.sel}
        if dmtcp_folder(self.bench):
            every["dmtcp"] = self.dmtcp
        return every


def measure(bench):
    program = Program(bench)
    bench.note("alternatives", "lines", "by hand", 0, lines=added_lines())
    if dmtcp_folder(bench):
        bench.note("alternatives", "version", "dmtcp", 0, version=first_line(
            os.path.join(dmtcp_folder(bench), "dmtcp_launch"), "--version"))
    for run in range(runs_of(bench)):
        for variant, function in program.variants().items():
            for case, killed in (("no fault", False), ("one fault", True)):
                try:
                    wall, megabytes = function(killed)
                    program.seconds = program.seconds or wall
                    program.check()
                except SystemExit as error:
                    if variant != "dmtcp":
                        raise
                    bench.note("alternatives", case, variant, run, message=str(error))
                    continue
                bench.note("alternatives", case, variant, run, wall_s=wall, stored_MB=megabytes)


def draw(results, pyplot, save):
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.4))
    shown = [variant for variant in NAMES if results.values("alternatives", "no fault", variant, "wall_s")]
    labels = [NAMES[variant] for variant in shown]
    for axis, metric, label in ((axes[0], "wall_s", "wall time, s"), (axes[1], "stored_MB", "stored, MB")):
        draw_lines(axis, {case: [(k + beside, results.values("alternatives", case, variant, metric))
                                 for k, variant in enumerate(shown)]
                          for case, beside in (("no fault", -0.08), ("one fault", 0.08))},
                   "", label)
        for line in axis.get_lines():
            line.set_linestyle("none")
        axis.set_xticks(range(len(shown)))
        axis.set_xticklabels(labels, rotation=15, ha="right")
    axes[1].set_yscale("symlog", linthresh=10)
    for axis in axes:
        axis.set_ylim(bottom=0)
    save(figure, "alternatives")


def tell(results):
    lines = int(results.one("alternatives", "lines", "by hand", "lines"))
    rows = []
    for variant, name in NAMES.items():
        walls = [results.values("alternatives", case, variant, "wall_s") for case in ("no fault", "one fault")]
        if walls[0]:
            ratios = [results.ratios("alternatives", (case, variant), ("no fault", "plain"), "wall_s")
                      for case in ("no fault", "one fault")]
            rows.append([name, lines if variant == "by hand" else 0, spread(walls[0]), spread(ratios[0]),
                         spread(results.values("alternatives", "no fault", variant, "stored_MB"), 0),
                         spread(walls[1]), spread(ratios[1])])
    messages = [row[5] for row in results.rows if row[0] == "alternatives" and row[4] == "message"]
    if messages:
        about = "DMTCP did not work with this program: `%s`" % " ".join(str(messages[0]).split())[:300]
    elif results.values("alternatives", "no fault", "dmtcp", "wall_s"):
        about = ("Debian 12 has no package of DMTCP; this is %s, built from source, images "
                 "without compression. It works with StarPU where hwloc does not look at disks "
                 "(`HWLOC_COMPONENTS=-linuxio`). It knows whole seconds for its interval only, "
                 "and stops the program while it writes; the column has its last image, which "
                 "each checkpoint writes again." % results.one("alternatives", "version", "dmtcp", "version"))
    else:
        about = ("DMTCP was not there: Debian 12 has no package of it, and none was named "
                 "(`--dmtcp`).")
    if results.median("alternatives", "one fault", "dmtcp", "stored_MB") == 0:
        about += (" At the kill its first image was not whole yet, so that run began anew: a longer run "
                  "would show it better.")
    return ("A Jacobi stencil on a plate of 2048 x 2048 doubles (33.6 MB, and as much for the "
            "next step) in 16 bands, 2 workers, about %d checkpoints in each run, a SIGKILL at "
            "half of the plain time, and the same command again; each run prints the same "
            "sum.\n\n" % PERIODS +
            table(["what", "lines added", "no fault, s", "ratio", "stored, MB", "one fault, s", "ratio"],
                  rows) +
            "\n\nBy hand the program knows what a checkpoint needs: one plate of the two, at a "
            "step where no task runs. starpu-tic saves what tasks have written, and a line in "
            "mid step needs bands of both plates. What %d lines do not have: a check that the file is "
            "whole and belongs to this program and these arguments, and an older file for the case "
            "that it is not; and they fit this loop only. " % lines + about)
