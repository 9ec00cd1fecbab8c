/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory for copies of values. A page that the process has not had yet costs a fault, and a fault
 * many times what the copy takes; so copies use the same memory again, the lowest first, on large
 * pages. What was not needed for a while goes back to the system. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Smaller ones are malloc's. Bytes. */
#define TIC_ARENA_LEAST (UINT64_C(64) << 10)
/* Address space of one; what does not fit is malloc's. Bytes. */
#define TIC_ARENA_SIZE (UINT64_C(256) << 20)

/* All zero: nothing is mapped yet. One thread at a time. */
struct tic_arena {
    void *mapped;
    char *base;           /* in it, where a large page begins */
    unsigned char *taken; /* for each unit, 1 or 0 */
    bool missing;         /* the system gives no address space */
    size_t open;          /* units from the first on that may be used */
    size_t touched;       /* of these, those that may have memory, at most */
    size_t top;           /* all that was taken since the last trim lay in so many; */
    size_t top_before;    /* and between the two trims before */
};

/* Memory for a value, or NULL: there is none here. */
char *tic_arena_take(struct tic_arena *arena, uint64_t size);
/* Gives it back; false, and nothing is done, if it is not of the arena. */
bool tic_arena_give(struct tic_arena *arena, const char *bytes, uint64_t size);
/* Now and then: memory goes back to the system that was not needed since the last time but one. */
void tic_arena_trim(struct tic_arena *arena);
void tic_arena_fini(struct tic_arena *arena);
