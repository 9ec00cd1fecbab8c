/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions of the table that the fake StarPU lacks: they are there, for the plug-in resolves all
 * of them, and end the process. No header of StarPU declares them here. */
#include <stdio.h>
#include <unistd.h>

#include "fake_status.h"
#include "real/since.h"

#define MISSING(name)                                                                              \
    __attribute__((weak)) void name(void);                                                         \
    void name(void)                                                                                \
    {                                                                                              \
        fprintf(stderr, "fake StarPU: it has no " #name "\n");                                     \
        _exit(TIC_FAKE_EXIT_MISUSE);                                                               \
    }
#define REAL(type, name, parameters) MISSING(name)
#define ANSWER(number, type, name, parameters, arguments, key) MISSING(name)

#include "real/real.def"
#include "real/answers.def"
