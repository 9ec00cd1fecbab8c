/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tail of a table that only grows: what it got since its last block on disk. */
#include "history/tail.h"

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
    if (tic_reserve_bytes(&tail->items, &tail->item_capacity, tail->count + 1, tail->item) != 0 ||
        tic_reserve(tail->epochs, tail->epoch_capacity, tail->count + 1) != 0)
        return -ENOMEM;
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

static unsigned long count_settled(const struct tic_tail *tail, uint64_t cut)
{
    unsigned long settled = 0;

    for (unsigned long i = 0; i < tail->count; i++)
        settled += tail->epochs[i] <= cut;
    return settled;
}

static bool is_settled(const struct tic_tail *tail, uint64_t cut, unsigned long settled)
{
    unsigned long i = 0;

    while (i < settled && tail->epochs[i] <= cut)
        i++;
    return i == settled;
}

/* Those up to the cut to the front, and the others behind them, each in their order: it tells in
 * which order callbacks came. 0, and how many; or -ENOMEM. */
static int settle(struct tic_tail *tail, uint64_t cut, unsigned long *settled)
{
    unsigned long place[2] = {0, count_settled(tail, cut)};

    *settled = place[1];
    if (is_settled(tail, cut, *settled))
        return 0;
    char *items = malloc(tail->count * tail->item);
    uint64_t *epochs = malloc(tail->count * sizeof(*epochs));
    for (unsigned long i = 0; i < tail->count && items && epochs; i++) {
        unsigned long to = place[tail->epochs[i] > cut]++;
        memcpy(items + to * tail->item, at(tail, i), tail->item);
        epochs[to] = tail->epochs[i];
    }
    bool fine = items && epochs;
    if (fine) {
        memcpy(tail->items, items, tail->count * tail->item);
        memcpy(tail->epochs, epochs, tail->count * sizeof(*epochs));
    }
    free(items);
    free(epochs);
    return fine ? 0 : -ENOMEM;
}

int tic_tail_describe(struct tic_tail *tail, uint64_t cut, struct tic_line *line)
{
    const struct tic_table *table = tic_table_find(tail->number);
    unsigned long settled;
    int status = settle(tail, cut, &settled);
    void *copy = status ? NULL : malloc(settled * tail->item + 1);

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
