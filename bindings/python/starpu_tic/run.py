# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs StarPU programs under protection, by the command `starpu-tic run`."""
import dataclasses
import json
import os
import subprocess
import tempfile

#: Exit statuses of starpu-tic itself; recovery lines are kept.
STOPPED, REFUSED, DIVERGED = 75, 78, 70


@dataclasses.dataclass
class Result:
    status: int       #: exit status; negative: the signal that has killed the program
    statistics: dict  #: those of the last run, by the names of starpu-tic(7); empty if it was killed
    stdout: object    #: what was printed, if capture_output is set
    stderr: object

    @property
    def recovered(self):
        """Whether the last run has continued an earlier one."""
        return bool(self.statistics.get("recovered"))


def _environment(settings, env, statistics):
    """Settings are those of `starpu-tic settings` in lower case and without STARPU_TIC_."""
    environment = dict(os.environ if env is None else env)
    environment["STARPU_TIC_STATS"] = statistics
    for name, value in settings.items():
        environment["STARPU_TIC_" + name.upper()] = str(value)
    return environment


def _read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def _start(options, command, env, tool, arguments, settings):
    with tempfile.TemporaryDirectory(prefix="starpu-tic-") as folder:
        path = os.path.join(folder, "statistics.json")
        ended = subprocess.run([tool, "run", *options, "--", *map(os.fspath, command)],
                               env=_environment(settings, env, path), **arguments)
        return Result(ended.returncode, _read(path), ended.stdout, ended.stderr)


def run(command, *, env=None, tool="starpu-tic", capture_output=False, timeout=None, cwd=None, **settings):
    """Runs a program once: run(["./program"], period=60, dir="store"). The same call after a failure
    continues it."""
    arguments = {"capture_output": capture_output, "timeout": timeout, "cwd": cwd}
    return _start([], command, env, tool, arguments, settings)


def supervise(command, max_restarts, *, backoff=0.5, restart_on_exit=False, env=None, tool="starpu-tic",
              capture_output=False, timeout=None, cwd=None, **settings):
    """Runs a program, and starts it again when a signal has killed it, max_restarts times at most."""
    options = ["--max-restarts", str(max_restarts), "--backoff", str(backoff), "--quiet"]
    options += ["--restart-on-exit"] if restart_on_exit else []
    arguments = {"capture_output": capture_output, "timeout": timeout, "cwd": cwd}
    return _start(options, command, env, tool, arguments, settings)
