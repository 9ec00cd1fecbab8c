/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tail of a table that only grows: what it got since its last block on disk. */
#include "graph/tail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void tic_tail_init(struct tic_tail *tail, uint32_t number)
{
    memset(tail, 0, sizeof(*tail));
    tail->number = number;
    tail->item = tic_table_find(number)->item;
}

void tic_tail_fini(struct tic_tail *tail)
{
    free(tail->items);
    free(tail->epochs);
    memset(tail, 0, sizeof(*tail));
}

static char *at(const struct tic_tail *tail, unsigned long index)
{
    return tail->items + index * tail->item;
}

int tic_tail_append(struct tic_tail *tail, const void *item, uint64_t epoch)
{
    if (tail->closed) {
        tail->first++;
        return 0;
    }
    void *items = tic_grow(tail->items, &tail->item_capacity, tail->count + 1, tail->item);
    if (items)
        tail->items = items;
    void *epochs = !items ? NULL
                          : tic_grow(tail->epochs, &tail->epoch_capacity, tail->count + 1,
                                     sizeof(*tail->epochs));
    if (!epochs)
        return -ENOMEM;
    tail->epochs = epochs;
    tail->epochs[tail->count] = epoch;
    memcpy(at(tail, tail->count++), item, tail->item);
    return 0;
}

int tic_tail_load(struct tic_tail *tail, struct tic_line *line)
{
    const struct tic_table *table = tic_table_find(tail->number);
    const char *items = *tic_table_array(table, line);
    size_t count = *tic_table_count(table, line);
    int status = 0;

    tail->first = tic_table_in_blocks(line, tail->number);
    for (size_t i = tail->first; i < count && status == 0; i++)
        status = tic_tail_append(tail, items + i * tail->item, 0);
    return status;
}

static void swap(struct tic_tail *tail, unsigned long a, unsigned long b)
{
    char item[64];
    uint64_t epoch = tail->epochs[a];

    _Static_assert(sizeof(item) >= sizeof(struct tic_line_acquire), "room for any entry");
    memcpy(item, at(tail, a), tail->item);
    memcpy(at(tail, a), at(tail, b), tail->item);
    memcpy(at(tail, b), item, tail->item);
    tail->epochs[a] = tail->epochs[b];
    tail->epochs[b] = epoch;
}

/* Those up to the cut to the front; how many. Only those that came later lose their order, which
 * they have only when none of them comes before one up to the cut. */
static unsigned long settle(struct tic_tail *tail, uint64_t cut)
{
    unsigned long settled = 0;

    for (unsigned long i = 0; i < tail->count; i++) {
        if (tail->epochs[i] > cut)
            continue;
        if (i != settled)
            swap(tail, i, settled);
        settled++;
    }
    return settled;
}

int tic_tail_describe(struct tic_tail *tail, uint64_t cut, struct tic_line *line)
{
    const struct tic_table *table = tic_table_find(tail->number);
    unsigned long settled = settle(tail, cut);
    void *copy = malloc(settled * tail->item + 1);

    if (!copy)
        return -ENOMEM;
    if (settled > 0)
        memcpy(copy, tail->items, settled * tail->item);
    *tic_table_array(table, line) = copy;
    *tic_table_count(table, line) = settled;
    return 0;
}

void tic_tail_drop(struct tic_tail *tail, unsigned long count)
{
    tail->first += count;
    tail->count -= count;
    if (count > 0 && tail->count > 0) {
        memmove(tail->items, at(tail, count), tail->count * tail->item);
        memmove(tail->epochs, tail->epochs + count, tail->count * sizeof(*tail->epochs));
    }
}

void tic_tail_close(struct tic_tail *tail, uint64_t total)
{
    uint32_t number = tail->number;

    tic_tail_fini(tail);
    tic_tail_init(tail, number);
    tail->first = total;
    tail->closed = true;
}

int tic_tail_copy(const struct tic_tail *tail, struct tic_tail *copy)
{
    int status = 0;

    tic_tail_init(copy, tail->number);
    copy->first = tail->first;
    for (unsigned long i = 0; i < tail->count && status == 0; i++)
        status = tic_tail_append(copy, at(tail, i), 0);
    return status;
}
