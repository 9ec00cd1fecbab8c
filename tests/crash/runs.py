# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the campaigns in Python share: one run of a program, and the environment that it needs."""
import json
import os
import re
import signal
import subprocess
import sys
import time

KILLED = -signal.SIGKILL
REFUSED = (70, 78)
WORKERS = (1, 2, 4)
UNPROTECTED = re.compile(r"starpu-tic: .*(not protected|protection ends|unprotected)")


def clean_environment(home):
    """The environment without settings of StarPU, for CPUs only; 4 workers fit on any machine."""
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith("STARPU") and k not in ("LD_PRELOAD", "DISPLAY")}
    if "TIC_IDLE_LIB" in os.environ: # tests/lib/idle.c
        kept["LD_PRELOAD"] = os.environ["TIC_IDLE_LIB"]
    return dict(kept, STARPU_NCUDA="0", STARPU_NOPENCL="0", STARPU_SILENT="1",
                STARPU_BUS_CALIBRATE="0", STARPU_HOME=home, STARPU_WORKERS_NOBIND="1",
                OCL_ICD_VENDORS="/nonexistent", HWLOC_PLUGINS_PATH="/nonexistent")


def end_group(process):
    """Kills a process and those that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def read_statistics(path):
    """{} if there are none; the file is empty when a run was not protected."""
    if not os.path.exists(path) or not os.path.getsize(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def count_skipped(stats):
    """Tasks that a restart did not execute again."""
    return sum(stats.get(name, 0) for name in ("tasks_skipped", "forced_used"))


def proves(tried, kills, continued, skipped):
    """Has the campaign tested anything? See the script."""
    sys.stdout.flush()
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "proves")
    return subprocess.run([script] + [str(n) for n in (tried, kills, continued, skipped)],
                          check=False).returncode == 0


class Run:
    """One run: its status (negative: a signal; None: it hung), what it wrote, its statistics."""

    def __init__(self, command, environment, seconds, stats, folder=None):
        self.stats, self.killed = {}, False
        if os.path.exists(stats):
            os.remove(stats)
        started = time.monotonic()
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                                   start_new_session=True)
        try:
            output, errors = process.communicate(timeout=seconds)
            self.status = process.returncode
        except subprocess.TimeoutExpired:
            end_group(process)
            output, errors = process.communicate()
            self.status = None
        except BaseException: # the campaign itself is interrupted
            end_group(process)
            raise
        self.seconds = time.monotonic() - started
        self.output, self.errors = (text.decode(errors="replace") for text in (output, errors))
        if self.status == 0:
            self.stats = read_statistics(stats)

    def unprotected(self):
        return UNPROTECTED.search(self.errors) is not None
