/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What closed pages have covered. */
#include "report/watched.h"

#include <string.h>

#include "base/error.h"

enum { COVERED = 1, LEFT_OUT = 2 }; /* bits: it was once */

static struct {
    unsigned char *states; /* of data, by id */
    unsigned long capacity;
    uint64_t ids;
    uint64_t unseen; /* data with lower ids is not watched, whatever its state */
    uint64_t calls, missed[TIC_UNWATCHED_COUNT];
    uint64_t gaps, first_gap, first_bytes; /* data that was left out */
} watched;

bool tic_watched_begin(uint64_t ids)
{
    if (tic_reserve(watched.states, watched.capacity, ids) != 0)
        return false;
    if (ids > watched.ids)
        memset(watched.states + watched.ids, 0, ids - watched.ids);
    watched.ids = ids;
    watched.calls++;
    return true;
}

void tic_watched_note(uint64_t id, uint64_t bytes, bool covered)
{
    if (!covered && !(watched.states[id] & LEFT_OUT) && watched.gaps++ == 0) {
        watched.first_gap = id;
        watched.first_bytes = bytes;
    }
    watched.states[id] |= covered ? COVERED : LEFT_OUT;
}

void tic_watched_miss(uint64_t ids, enum tic_unwatched why)
{
    watched.unseen = ids;
    watched.calls++;
    watched.missed[why]++;
}

static bool is_seen(uint64_t id)
{
    return id >= watched.unseen && !(watched.states[id] & LEFT_OUT);
}

static json_t *list_seen(void)
{
    json_t *list = json_array();
    uint64_t end;

    for (uint64_t id = watched.unseen; id < watched.ids; id = end + 1) {
        for (end = id; end < watched.ids && is_seen(end); end++)
            ;
        if (end > id)
            json_array_append_new(list, json_pack("[I, I]", (json_int_t)id, (json_int_t)end - 1));
    }
    return list;
}

void tic_watched_report(json_t *report)
{
    uint64_t all = 0, whole = 0;

    for (uint64_t id = 0; id < watched.ids; id++) {
        all += watched.states[id] != 0;
        whole += watched.states[id] != 0 && is_seen(id);
    }
    json_object_set_new(report, "unwatched",
                        json_pack("[I, I, I]", (json_int_t)watched.gaps,
                                  (json_int_t)watched.first_gap, (json_int_t)watched.first_bytes));
    json_object_set_new(report, "missed",
                        json_pack("[I, I, I]", (json_int_t)watched.calls,
                                  (json_int_t)watched.missed[TIC_UNWATCHED_TIME],
                                  (json_int_t)watched.missed[TIC_UNWATCHED_TASKS]));
    json_object_set_new(report, "watched", json_pack("[I, I]", (json_int_t)whole, (json_int_t)all));
    json_object_set_new(report, "seen", list_seen());
}
