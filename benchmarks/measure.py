# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the drivers in Python share: one run of a program with a store of its own, the environment of a
variant, and every measurement as a row (section, case, variant, run, metric, value)."""
import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time

PLAIN = "lws"
LIMIT = 1800 # seconds
FIELDS = ("section", "case", "variant", "run", "metric", "value")


def find_examples():
    lines = subprocess.run(["dpkg", "-L", "starpu-examples"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, check=False).stdout.decode().splitlines()
    found = [line for line in lines if line.endswith("/cholesky_implicit")]
    return os.path.dirname(found[0]) if found else None


def find_program(folder, name):
    for place in (name, os.path.join(name, name)):
        path = os.path.join(folder, place)
        if os.path.isfile(path):
            return path
    return None


def read_text(path):
    with open(path, "rb") as file:
        return file.read().decode(errors="replace")


def settings_of(variant):
    """Environment of a variant: a StarPU policy, or tic, tic-off (only the policy), tic-PERIOD,
    tic-POLICY (its hooks around another policy), tic-sel, tic-tic+sel (protocols; a period of 1 s; the
    log is used whole only where nobody looks for undeclared writes)."""
    if not variant.startswith("tic"):
        return {"STARPU_SCHED": variant}
    word = variant[4:]
    if word == "off":
        return {"STARPU_TIC_PROTOCOL": "off", "STARPU_SCHED": "tic-ws"}
    if word in ("lws", "ws", "eager"):
        return {"STARPU_TIC_PERIOD": "1000", "STARPU_SCHED": word}
    if word in ("sel", "tic+sel"):
        return {"STARPU_TIC_PERIOD": "1", "STARPU_TIC_PROTOCOL": word, "STARPU_TIC_VERIFY": "0"}
    return {"STARPU_TIC_PERIOD": word or "1000"}


class Bench:
    """Runs programs. options: tool (starpu-tic), workers, and only (words, with commas)."""

    def __init__(self, options, work):
        self.options, self.work = options, work
        self.rows = []
        self.home = os.path.join(work, "home")
        self.dir = os.path.join(work, "store")
        self.stats = os.path.join(work, "statistics.json")
        self.output, self.messages = os.path.join(work, "output"), os.path.join(work, "messages")
        self.megabytes = 0.0 # most memory of the last program
        self.killed = False # the last program was
        os.mkdir(self.home)

    # ---- one run of a program ----
    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("STARPU")}
        return dict(dict(kept, STARPU_NCPU=str(self.options.workers), STARPU_NCUDA="0",
                         STARPU_NOPENCL="0", STARPU_SILENT="1", STARPU_BUS_CALIBRATE="0",
                         STARPU_HOME=self.home, STARPU_TIC_VERBOSE="0", OPENBLAS_NUM_THREADS="1",
                         OMPI_MCA_ess_singleton_isolated="1"), **more) # stencil is linked with MPI

    def wait(self, command, seconds, environment):
        """(wall seconds, usage) of a command, which is killed (SIGKILL) when so many have passed. One that
        is not to be killed (None) and takes longer than LIMIT hangs."""
        hangs = []

        def kill():
            hangs.append(seconds is None)
            child.kill()

        started = time.monotonic()
        with open(self.output, "wb") as output, open(self.messages, "wb") as messages:
            child = subprocess.Popen(command, env=environment, stdout=output, stderr=messages)
            timer = threading.Timer(LIMIT if seconds is None else seconds, kill)
            timer.start()
            try:
                _, status, usage = os.wait4(child.pid, 0)
            except BaseException: # the driver itself is interrupted
                child.kill()
                raise
            finally:
                timer.cancel()
        wall = time.monotonic() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        if any(hangs):
            sys.exit("%s takes more than %d s" % (" ".join(command), LIMIT))
        if child.returncode not in (0, -9):
            sys.exit("%s ends with %d: %s" % (" ".join(command), child.returncode,
                                              read_text(self.messages)[-500:]))
        self.killed = child.returncode != 0
        return wall, usage

    def execute(self, command, variant, keep_store=False, kill_after=None, **more):
        """(wall seconds, processor seconds, words printed, statistics)"""
        if not keep_store:
            shutil.rmtree(self.dir, ignore_errors=True)
        if os.path.exists(self.stats):
            os.remove(self.stats)
        if variant.startswith("tic"):
            command = [self.options.tool, "run", "--"] + command
            more = dict(more, STARPU_TIC_DIR=self.dir, STARPU_TIC_STATS=self.stats)
        wall, usage = self.wait(command, kill_after, self.environment(**more))
        self.megabytes = usage.ru_maxrss / 1e3
        words, said = read_text(self.output), read_text(self.messages)
        statistics_ = {}
        if variant.startswith("tic") and variant != "tic-off" and not self.killed:
            if "protection ends" in said:
                sys.exit("%s is not protected: %s" % (" ".join(command), said[-500:]))
            with open(self.stats, encoding="utf-8") as file:
                statistics_ = json.load(file)
        return wall, usage.ru_utime + usage.ru_stime, words.split(), statistics_

    def execute_paused(self, shape, count, handles, variant, **more):
        """Words printed by tasks that are all submitted before the first is executed."""
        return self.execute([self.options.tasks, shape, str(count), "0", str(handles), "8",
                             "paused"], variant, **dict(settings_of(variant), **more))[2]

    # ---- what was measured ----
    def note(self, section, case, variant, run, **metrics):
        for metric, value in metrics.items():
            self.rows.append((section, case, variant, run, metric, value))

    def is_wanted(self, case):
        words = [word for word in self.options.only.split(",") if word]
        return not words or any(word in case for word in words)

    def values(self, section, case, variant, metric):
        return {row[3]: row[5] for row in self.rows
                if row[:3] == (section, case, variant) and row[4] == metric}

    def keys(self, section):
        seen = []
        for row in self.rows:
            key = (row[1], row[2], row[4])
            if row[0] == section and key not in seen:
                seen.append(key)
        return seen


def median_and_spread(values):
    ordered = sorted(values)
    return statistics.median(ordered), ordered[0], ordered[-1]


def write_csv(rows, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        writer.writerows(rows)


def import_pyplot():
    """matplotlib's, or None after a message."""
    try:
        import matplotlib
    except ImportError:
        print("no plots: python3-matplotlib is missing", file=sys.stderr)
        return None
    matplotlib.use("svg")
    matplotlib.rcParams["svg.fonttype"] = "none" # text, not outlines of letters: small files
    from matplotlib import pyplot
    return pyplot
