/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of the C library behind those that turns.c replaces. */
#ifndef TIC_REPLAY_TURNS_REAL_H
#define TIC_REPLAY_TURNS_REAL_H

#include <dlfcn.h>

#define REAL(name)                                                                                 \
    (__extension__({                                                                               \
        static __typeof__(&(name)) found;                                                          \
        if (!found)                                                                                \
            found = (__typeof__(&(name)))dlsym(RTLD_NEXT, #name);                                  \
        found;                                                                                     \
    }))

#endif
