#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads the value of a handle from a checkpoint, with h5py and plugin/store/FORMAT.md alone.

02_read_checkpoint.py DIRECTORY HANDLE [TYPE]: HANDLE is the number of its registration, from 0; TYPE
what its elements are, as numpy calls it (float64). Prints its version and its elements."""
import glob
import sys
import h5py
import numpy

VALUE = numpy.dtype([("id", "<u8"), ("version", "<u8"), ("checksum", "<u8"), ("extent", "<u4"),
                     ("row", "<u4"), ("gone", "<u4")])


def read_row(directory, extents, extent, row):
    """A payload row, in the shape of the data: the slowest dimension first."""
    place = extents[extent]
    with h5py.File(f"{directory}/p0-segment-{place['segment']:08d}.h5", "r") as segment:
        return segment[f"/payload-{place['dataset']}"][row]


def read_handle(directory, handle):
    with h5py.File(max(glob.glob(f"{directory}/p0-line-*.h5")), "r") as line:
        extents, values = line["/extents"][()], [line["/values"][()]]
        for block in line["/blocks"][()]:
            if block["table"] == 2:  # values
                row = read_row(directory, extents, block["extent"], block["row"])
                values.append(numpy.frombuffer(row.tobytes(), VALUE, block["count"]))
    for value in (value for table in values for value in table):
        if value["id"] == handle:
            return value["version"], read_row(directory, extents, value["extent"], value["row"])
    sys.exit(f"handle {handle} has no value in the newest line of {directory}")


version, elements = read_handle(sys.argv[1], int(sys.argv[2]))
print("version", version)
print(*numpy.ascontiguousarray(elements).view(sys.argv[3] if len(sys.argv) > 3 else "float64").ravel())
