# SPDX-License-Identifier: LGPL-2.1-or-later
"""One recovery line: a file `p0-line-N.h5` and the segments that it refers to, by h5py and the
document plugin/store/FORMAT.md alone."""
import os
import re

import h5py
import numpy

try:
    import xxhash
except ImportError:
    xxhash = None

HEADER = 512
MAJORS = 5, 6, 7  # 6: lines of commit points
VALUES = 2  # the number of the table in /blocks
VALUE = numpy.dtype([("id", "<u8"), ("version", "<u8"), ("checksum", "<u8"), ("extent", "<u4"),
                     ("row", "<u4"), ("gone", "<u4")])


class Damaged(Exception):
    """A file is not what the format says."""


class NoValue(KeyError):
    """The line holds no value of a handle: no task has written it, and it is no data of main()."""

    def __str__(self):
        return str(self.args[0])


class Line:
    """A recovery line. What a program saves meanwhile does not change it, but removes it in the end."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._check_header()
        with h5py.File(self.path, "r") as file:
            #: attributes of the line, a dict: number, created, tasks_done, tasks_submitted, program ...
            self.attributes = {name: _plain(value) for name, value in file.attrs.items()}
            #: done tasks of main(), a table of ranges: first and last, both included
            self.done = file["/done"][()]
            self._arguments = file["/arguments"][()].tobytes()
            names = file["/names"][()].tobytes() if "/names" in file else b""
            self._extents = file["/extents"][()]
            rest, blocks = file["/values"][()], file["/blocks"][()]
        self.number = self.attributes["number"]
        #: names that the program has given to data, a dict by handle
        self.names = {int(number): name for number, name in
                      (entry.decode(errors="surrogateescape").split(" ", 1)
                       for entry in names.split(b"\0")[:-1])}
        tables = [self._block(block) for block in blocks if block["table"] == VALUES]
        #: what handles held, a table by id: version, checksum, extent, row, gone
        self.values = numpy.concatenate([*tables, rest.astype(VALUE)])

    def _check_header(self):
        with open(self.path, "rb") as file:
            header, rest = file.read(HEADER), file.read()
        fields = re.match(rb"starpu-tic recovery line\nformat (\d+)\.\d+\nbytes (\d+)\n"
                          rb"xxh3-128 ([0-9a-f]{32})\n", header)
        if not fields:
            raise Damaged(f"{self.path}: no recovery line")
        major, size, checksum = fields.groups()
        if int(major) not in MAJORS:
            raise Damaged(f"{self.path}: format {int(major)}, which this version does not read")
        if int(size) != len(rest):
            raise Damaged(f"{self.path}: {len(rest)} bytes in place of {int(size)}")
        if xxhash and xxhash.xxh3_128_hexdigest(rest) != checksum.decode():
            raise Damaged(f"{self.path}: wrong checksum")

    def _row(self, extent, row):
        place = self._extents[extent]
        path = os.path.join(os.path.dirname(self.path), f"p0-segment-{place['segment']:08d}.h5")
        with h5py.File(path, "r") as segment:
            return segment[f"/payload-{place['dataset']}"][row]

    def _block(self, block):
        row = numpy.ascontiguousarray(self._row(block["extent"], block["row"])).tobytes()
        _compare(row, block["checksum"], f"a block of {self.path}")
        return numpy.frombuffer(row, VALUE, block["count"])

    @property
    def arguments(self):
        """Arguments of the program."""
        return [part.decode(errors="surrogateescape") for part in self._arguments.split(b"\0")[:-1]]

    @property
    def handles(self):
        """Numbers of the handles of which the line holds a value: by registration, from 0."""
        return [int(number) for number in self.values["id"]]

    def version(self, handle):
        """How many writes have made the value of a handle."""
        return int(self._value(handle)["version"])

    def array(self, handle, dtype=None):
        """The value of a handle as an array, the slowest dimension first. What the bits mean is not
        saved: dtype says it; without, elements are unsigned integers, or bytes (void)."""
        value = self._value(handle)
        row = numpy.ascontiguousarray(self._row(value["extent"], value["row"]))
        _compare(row.tobytes(), value["checksum"], f"handle {handle} of {self.path}")
        if row.dtype.kind == "u":
            row = row.astype(row.dtype.newbyteorder("="), copy=False)
        return row if dtype is None else row.view(dtype)

    def _value(self, handle):
        found = numpy.searchsorted(self.values["id"], handle)
        if found == len(self.values) or self.values["id"][found] != handle:
            raise NoValue(f"handle {handle} has no value in {self.path}")
        return self.values[found]

    def __repr__(self):
        return (f"<line {self.number} of {self.attributes['program']}: "
                f"{self.attributes['tasks_done']} tasks done, {len(self.values)} values>")


def _plain(value):
    """An attribute as Python has it; text ends with a NUL byte."""
    if isinstance(value, (bytes, numpy.bytes_)):
        return bytes(value).split(b"\0")[0].decode(errors="surrogateescape")
    return value.item() if isinstance(value, numpy.generic) else value


def _compare(content, checksum, what):
    if xxhash and xxhash.xxh3_64_intdigest(content) != int(checksum):
        raise Damaged(f"{what}: wrong checksum")
