# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds the programs of StarPU's own test suite against the installed StarPU.

Which programs there are, and from which files, is read from tests/Makefile.am of StarPU's source;
its conditions are those of the installed starpu_config.h. The tests include a config.h of StarPU's
build; a small one takes its place, which makes the tests short (STARPU_QUICK_CHECK).
"""
import os
import re
import shlex
import subprocess

CONFIG = """/* Takes the place of the config.h of a build of StarPU. */
#include <starpu_config.h>
#undef STARPU_HAVE_VALGRIND_H
#undef STARPU_HAVE_HELGRIND_H
#undef STARPU_HAVE_MEMCHECK_H
#define STARPU_QUICK_CHECK 1
#define HAVE_GETRLIMIT 1
#define HAVE_UNISTD_H 1
"""
PROGRAMS = "myPROGRAMS" # MICROBENCHS are for simulations: their exit status is a measured speed-up
ASSIGNMENT = re.compile(r"(\w+)\s*(\+?)=(.*)")
OTHER_LANGUAGES = ("fortran90/",)


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout


def read_conditions(flags):
    """Names that the installed StarPU defines, so that Makefile.am's conditions of these hold."""
    text = output_of("sh", "-c", 'echo "#include <starpu_config.h>" | ${CC:-cc} -dM -E %s -' %
                     " ".join(map(shlex.quote, flags)))
    return set(re.findall(r"^#define (STARPU_\w+)", text, re.M))


def join_lines(text):
    return re.sub(r"\\\n", " ", text).splitlines()


def assign(variables, found):
    """Sets a variable, or adds to it, as a match of ASSIGNMENT says, if there is one."""
    if found:
        name, add, words = found.groups()
        variables[name] = (variables.get(name, []) if add else []) + words.split()


def read_makefile(path, conditions):
    """Variables of a Makefile.am, as lists of words."""
    variables, stack = {}, []
    with open(path, encoding="utf-8") as file:
        lines = join_lines(file.read())
    for line in lines:
        words = line.split("#")[0].split()
        if words[:1] == ["if"]:
            stack.append((words[1].lstrip("!") in conditions) != words[1].startswith("!"))
        elif words[:1] == ["else"]:
            stack[-1] = not stack[-1]
        elif words[:1] == ["endif"]:
            stack.pop()
        elif all(stack):
            assign(variables, ASSIGNMENT.match(line))
    return variables


class Suite:
    """The programs of a source tree, built below a folder."""

    def __init__(self, source, folder):
        self.tests, self.folder = os.path.join(source, "tests"), folder
        os.makedirs(os.path.join(folder, "common"), exist_ok=True)
        with open(os.path.join(folder, "common", "config.h"), "w", encoding="utf-8") as file:
            file.write(CONFIG)
        self.flags = output_of("pkg-config", "--cflags", "starpu-1.3").split()
        self.libraries = output_of("pkg-config", "--libs", "starpu-1.3").split()
        conditions = read_conditions(self.flags)
        if "STARPU_USE_OPENCL" in conditions:
            self.libraries.append("-lOpenCL")
        self.variables = read_makefile(os.path.join(self.tests, "Makefile.am"), conditions)

    def programs(self):
        """Names of programs, as paths below tests/."""
        return [name for name in self.variables.get(PROGRAMS, []) if not name.startswith(OTHER_LANGUAGES)]

    def sources(self, name):
        listed = self.variables.get(re.sub(r"\W", "_", name) + "_SOURCES", [name + ".c"])
        return [os.path.join(self.tests, path) for path in listed if not path.endswith((".cl", ".h"))]

    def build(self, name):
        """(path of the program, None), or (None, why it cannot be built)."""
        path, sources = os.path.join(self.folder, name), self.sources(name)
        if os.path.exists(path):
            return path, None
        os.makedirs(os.path.dirname(path), exist_ok=True)
        cplusplus = any(source.endswith(".cpp") for source in sources)
        compiler = os.environ.get("CXX", "c++") if cplusplus else os.environ.get("CC", "cc")
        command = shlex.split(compiler) + ["-w", "-O1", "-g", "-I" + self.folder] + self.flags + [
            "-I" + os.path.join(os.path.dirname(self.tests), "src"), "-I" + self.tests] + sources + [
                "-o", path] + self.libraries + ["-lm", "-lpthread"]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                encoding="utf-8", errors="replace", check=False)
        if result.returncode == 0:
            return path, None
        return None, first_error(result.stdout)


def first_error(text):
    """What a compiler or linker says first, without paths."""
    for line in text.splitlines():
        found = re.search(r"(?:error: |undefined reference to |cannot find )(.*)", line)
        if found:
            return found.group(0)
    return "cannot be built"
