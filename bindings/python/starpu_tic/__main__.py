# SPDX-License-Identifier: LGPL-2.1-or-later
"""python3 -m starpu_tic lines DIRECTORY             one line for each recovery line
python3 -m starpu_tic value DIRECTORY HANDLE [TYPE]  version and elements in the newest one

HANDLE is the number of its registration, from 0; TYPE what its elements are, as NumPy calls it
(float64)."""
import sys

from . import Damaged, NoValue, Store


def print_value(directory, handle, dtype="float64"):
    line = Store(directory).newest()
    print("version", line.version(int(handle)))
    print(*line.array(int(handle), dtype).ravel())


def main(arguments):
    try:
        if len(arguments) == 2 and arguments[0] == "lines":
            print(*map(repr, Store(arguments[1]).lines), sep="\n")
        elif len(arguments) in (3, 4) and arguments[0] == "value":
            print_value(*arguments[1:])
        else:
            return __doc__
    except (Damaged, NoValue, OSError) as error:
        return str(error)
    return 0


sys.exit(main(sys.argv[1:]))
