# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where and when a run measured."""
import datetime
import os
import platform
import subprocess

from measure import find_examples, find_program


def first_line(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except OSError:
        return "-"
    return (done.stdout.decode(errors="replace").splitlines() or ["-"])[0].strip()


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def memory():
    """GB"""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def blas():
    """The library that the loader finds for Debian's programs."""
    folder = find_examples()
    lines = subprocess.run(["ldd", find_program(folder, "cholesky_implicit")], check=False,
                           stdout=subprocess.PIPE).stdout.decode().splitlines() if folder else []
    places = {line.split()[0]: os.path.realpath(line.split()[2]) for line in lines if "=> /" in line}
    return os.path.basename(places.get("libopenblas.so.0") or places.get("libblas.so.3", "-"))


def measure(bench, command):
    bench.note("machine", "machine", "", 0, command=command, size=bench.options.size,
               tool=bench.options.tool, workers=bench.options.workers,
               date=datetime.date.today().isoformat(), processors=os.cpu_count(),
               processor=processor(), memory="%.0f GB" % memory(),
               system=platform.system() + " " + platform.release(),
               starpu=first_line("dpkg-query", "-W", "-f", "${Version}", "libstarpu-1.3-9"),
               blas=blas(), version=first_line(bench.options.tool, "--version"),
               load_before="%.1f" % os.getloadavg()[0])


def measure_load(bench):
    """Mean number of processes that ran or waited, at the end; our own count, too."""
    bench.note("machine", "machine", "", 0, load_after="%.1f" % os.getloadavg()[2])


def tell(results):
    def said(metric):
        value = results.one("machine", "machine", "", metric, "-")
        return int(value) if isinstance(value, float) and value.is_integer() else value

    return ("%s, `%s`. %s processors (%s), %s, %s; %s, StarPU %s, BLAS of one thread: %s. Mean "
            "load of the minute before the run %s, and of its last 15 minutes %s, with the "
            "measured programs."
            % tuple(said(name) for name in ("date", "command", "processors", "processor", "memory",
                                            "system", "version", "starpu", "blas",
                                            "load_before", "load_after")))
