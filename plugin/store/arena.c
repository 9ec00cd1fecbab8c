/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory for copies of values, used again. */
#include "store/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"

enum { UNIT = 64 << 10, UNITS = TIC_ARENA_SIZE / UNIT, HUGE_PAGE = 2 << 20 };

static size_t units_of(uint64_t size)
{
    return (size_t)((size + UNIT - 1) / UNIT);
}

/* Address space only: a program may have locked all its memory, or the system may give no more than
 * it has. */
static bool map(struct tic_arena *arena)
{
    if (arena->base || arena->missing)
        return arena->base != NULL;
    if (!tic_memory_may_reserve(TIC_ARENA_SIZE)) { /* RLIMIT_AS counts it */
        arena->missing = true;
        return false;
    }
    void *mapped = mmap(NULL, TIC_ARENA_SIZE + HUGE_PAGE, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    arena->taken = mapped == MAP_FAILED ? NULL : calloc(UNITS, 1);
    arena->missing = !arena->taken;
    if (arena->missing) {
        if (mapped != MAP_FAILED)
            munmap(mapped, TIC_ARENA_SIZE + HUGE_PAGE);
        return false;
    }
    arena->mapped = mapped;
    arena->base = (char *)mapped + (HUGE_PAGE - (uintptr_t)mapped % HUGE_PAGE) % HUGE_PAGE;
    madvise(arena->base, TIC_ARENA_SIZE, MADV_HUGEPAGE);
    return true;
}

/* The lowest place with so many free units, or UNITS. */
static size_t find(const struct tic_arena *arena, size_t count)
{
    size_t first = 0;

    for (size_t i = 0; i < UNITS; i++) {
        if (arena->taken[i])
            first = i + 1;
        else if (i + 1 - first == count)
            return first;
    }
    return UNITS;
}

/* Lets units below this one be used, by whole large pages. */
static bool open_to(struct tic_arena *arena, size_t end)
{
    const size_t step = HUGE_PAGE / UNIT, open = (end + step - 1) / step * step;

    if (end > arena->open) {
        if (mprotect(arena->base + arena->open * UNIT, (open - arena->open) * UNIT,
                     PROT_READ | PROT_WRITE) != 0)
            return false;
        arena->open = open;
    }
    return true;
}

char *tic_arena_take(struct tic_arena *arena, uint64_t size)
{
    size_t count = size < TIC_ARENA_LEAST || size > TIC_ARENA_SIZE ? 0 : units_of(size);

    if (count == 0 || !map(arena))
        return NULL;
    size_t first = find(arena, count);
    if (first == UNITS || !open_to(arena, first + count))
        return NULL;
    memset(arena->taken + first, 1, count);
    if (first + count > arena->top)
        arena->top = first + count;
    if (arena->top > arena->touched)
        arena->touched = arena->top;
    return arena->base + first * UNIT;
}

bool tic_arena_give(struct tic_arena *arena, const char *bytes, uint64_t size)
{
    if (!arena->base || bytes < arena->base || bytes >= arena->base + TIC_ARENA_SIZE)
        return false;
    memset(arena->taken + (size_t)(bytes - arena->base) / UNIT, 0, units_of(size));
    return true;
}

static size_t end_of_taken(const struct tic_arena *arena)
{
    size_t end = arena->touched;

    while (end > 0 && !arena->taken[end - 1])
        end--;
    return end;
}

void tic_arena_trim(struct tic_arena *arena)
{
    if (!arena->base)
        return;
    size_t keep = arena->top > arena->top_before ? arena->top : arena->top_before;
    if (keep < arena->touched) {
        madvise(arena->base + keep * UNIT, (arena->touched - keep) * UNIT, MADV_DONTNEED);
        arena->touched = keep;
    }
    arena->top_before = arena->top;
    arena->top = end_of_taken(arena);
}

void tic_arena_fini(struct tic_arena *arena)
{
    if (arena->base)
        munmap(arena->mapped, TIC_ARENA_SIZE + HUGE_PAGE);
    free(arena->taken);
    memset(arena, 0, sizeof(*arena));
}
