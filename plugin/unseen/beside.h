/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory beside registered data as it was when main() began to wait, and what has changed there
 * since: as a copy, or, what that has no room for, as a hash of every 4 KiB. Guarded by the lock of
 * statics.c. */
#pragma once

#include <stdint.h>

#include "unseen/others.h"

enum tic_beside_kind {
    TIC_BESIDE_OBJECT,      /* the writable segment of an object */
    TIC_BESIDE_OF_VARIABLE, /* what a variable there points to */
    TIC_BESIDE_OF_ARGUMENT, /* what an argument of a task points to */
    TIC_BESIDE_OF_CONTENT,  /* what registered data, or its user data, points to */
    TIC_BESIDE_OF_DATA      /* the block of the heap in which registered data lies */
};

struct tic_beside {
    enum tic_beside_kind kind;
    const char *path;    /* of the object; "" is the program */
    uintptr_t base;      /* of the object */
    const char *pointer; /* the variable */
    struct tic_span span;
    const char *zeros;     /* from here on what nobody has touched is zero; NULL: nowhere */
    struct tic_span block; /* of main(), that it lies in; of NULL: none */
    size_t edge;           /* bytes at both ends that are only for telling what mutexes are */
    const char *copy;      /* NULL: hashed */
    unsigned long number;  /* of its first page, among all that are hashed */
};

/* Nothing is watched any more. False without memory. */
bool tic_beside_begin(void);
/* What was found changed in objects before, and may change again while the rest is hashed: first of
 * all. */
void tic_beside_add_often(void);
/* From tic_beside_begin() on. */
void tic_beside_add(const struct tic_beside *range);
/* After the last one. */
void tic_beside_hash(const struct tic_others *all);
/* The next range, from *next on, in which something else than registered data and known structures
 * has changed, and where: the byte, or its page if the range is hashed. NULL: no more. */
const struct tic_beside *tic_beside_changed(const struct tic_others *all, unsigned *next,
                                            const char **at);
/* Bytes that a bound left out since tic_beside_begin(). */
uint64_t tic_beside_left_out(void);
