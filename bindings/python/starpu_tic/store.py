# SPDX-License-Identifier: LGPL-2.1-or-later
"""A directory of recovery lines. It is only read, and may be in use meanwhile: then a line may be
gone when it is opened (FileNotFoundError), and the next one is there."""
import glob
import json
import os
import subprocess

from .events import graph_of, read_events
from .line import Line


class Store:
    def __init__(self, directory, tool="starpu-tic"):
        self.directory = os.fspath(directory)
        self.tool = tool

    def _path(self, number):
        return os.path.join(self.directory, f"p0-line-{number:08d}.h5")

    @property
    def numbers(self):
        """Numbers of the recovery lines, the newest last."""
        names = map(os.path.basename, glob.glob(os.path.join(glob.escape(self.directory), "p0-line-*.h5")))
        numbers = [int(name[8:-3]) for name in names if name[8:-3].isdecimal()]
        return sorted(number for number in numbers if os.path.exists(self._path(number)))

    @property
    def lines(self):
        """All recovery lines, the newest last."""
        return [self.line(number) for number in self.numbers]

    def line(self, number):
        return Line(self._path(number))

    def newest(self):
        numbers = self.numbers
        if not numbers:
            raise FileNotFoundError(f"no recovery line in {self.directory}")
        return self.line(numbers[-1])

    def events(self):
        """The event log: a NumPy table, see events.py."""
        return read_events(self.directory, self.tool)

    def graph(self):
        """Tasks and data of the event log: a networkx.DiGraph, see events.py."""
        return graph_of(self.events())

    def info(self):
        """What `starpu-tic info --json` tells; it reads every value and compares checksums."""
        return json.loads(subprocess.run([self.tool, "info", "--json", self.directory], check=True,
                                         stdout=subprocess.PIPE).stdout)

    def verify(self):
        """Whether `starpu-tic verify` finds the directory undamaged."""
        return subprocess.run([self.tool, "verify", self.directory],
                              stdout=subprocess.DEVNULL).returncode == 0
