/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stderr and stdout for HDF5 inside of the store module: where its archive is compiled for
 * programs, it wants the variables in the object that it is linked into (-Wl,--wrap=stderr). */
#include <stdio.h>

extern FILE *__real_stderr, *__real_stdout;
extern FILE *__wrap_stderr, *__wrap_stdout;

FILE *__wrap_stderr, *__wrap_stdout; /* immutable after start */

__attribute__((constructor)) static void find_streams(void)
{
    __wrap_stderr = __real_stderr;
    __wrap_stdout = __real_stdout;
}
