/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Findings of closed pages: data, and places in the program that touch it. */
#include "report/touched.h"

#include <dlfcn.h>
#include <link.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct datum {
    uint64_t id, bytes;
    unsigned kinds;
};

static struct tic_touched_place places[TIC_TOUCHED_PLACES];
static unsigned place_count;

static struct datum *data; /* ascending id */
static unsigned long data_count, data_capacity;

/* ---- noting --------------------------------------------------------------------------------- */

/* A caller tells uses of memcpy and the like apart. */
static void *caller_of(const struct tic_touched_place *place)
{
    return place->frame_count > 1 ? place->frames[1] : NULL;
}

static bool is_same(const struct tic_touched_place *a, const struct tic_touched_place *b)
{
    return a->is_main == b->is_main && a->frames[0] == b->frames[0] && caller_of(a) == caller_of(b);
}

void tic_touched_note_place(const struct tic_touched_place *place)
{
    enum { DATA_PER_PLACE = 8 }; /* a loop over all data must not hide other places */
    unsigned same = 0;

    for (unsigned i = 0; i < place_count; i++) {
        if (!is_same(&places[i], place))
            continue;
        same++;
        if (places[i].id != place->id)
            continue;
        places[i].kinds |= place->kinds;
        return;
    }
    if (place_count < TIC_TOUCHED_PLACES && same < DATA_PER_PLACE)
        places[place_count++] = *place;
}

bool tic_touched_reserve(uint64_t ids)
{
    return tic_reserve(data, data_capacity, ids) == 0;
}

void tic_touched_note_data(uint64_t id, uint64_t bytes, unsigned kinds)
{
    unsigned long at = data_count;

    while (at > 0 && data[at - 1].id >= id)
        at--;
    if (at < data_count && data[at].id == id) {
        data[at].kinds |= kinds;
        return;
    }
    if (data_count == data_capacity)
        return;
    memmove(&data[at + 1], &data[at], (data_count - at) * sizeof(*data));
    data[at] = (struct datum){id, bytes, kinds};
    data_count++;
}

/* ---- telling -------------------------------------------------------------------------------- */

/* The file that an address was loaded from, and where it is in there; names live as long as the
 * object, or are static. */
struct spot {
    const char *object; /* path */
    const char *symbol; /* NULL: no exported one */
    uintptr_t offset, symbol_offset;
};

static bool find_spot(void *address, struct spot *spot)
{
    static char program[PATH_MAX];
    struct link_map *map;
    Dl_info info;

    if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP))
        return false;
    if (!program[0] && !realpath("/proc/self/exe", program))
        snprintf(program, sizeof(program), "%s", info.dli_fname);
    *spot = (struct spot){.object = map->l_name[0] ? map->l_name : program,
                          .offset = (uintptr_t)address - map->l_addr,
                          .symbol = info.dli_sname,
                          .symbol_offset = (uintptr_t)address - (uintptr_t)info.dli_saddr};
    return true;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Libraries whose callers say more than they do. */
static bool is_tool(const char *object)
{
    static const char *const names[] = {"libc.so", "libm.so", "libstdc++.so", "libstarpu"};
    const char *name = base_name(object);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* False when no address is in a file. */
static bool choose_spot(const struct tic_touched_place *place, struct spot *spot)
{
    bool found = false;

    for (unsigned i = 0; i < place->frame_count; i++) {
        struct spot candidate;
        /* A caller goes on after its call, maybe in another line. */
        if (!find_spot((char *)place->frames[i] - (i > 0), &candidate))
            continue;
        if (!found || !is_tool(candidate.object))
            *spot = candidate;
        found = true;
        if (!is_tool(candidate.object))
            return true;
    }
    return found;
}

static void add_spot(json_t *entry, const struct tic_touched_place *place)
{
    struct spot spot = {.object = ""};

    if (!choose_spot(place, &spot))
        return;
    const char *name = base_name(spot.object);
    json_object_set_new(
        entry, "place",
        spot.symbol ? json_sprintf("%s+0x%lx (%s)", spot.symbol, (long)spot.symbol_offset, name)
                    : json_sprintf("%s+0x%lx", name, (long)spot.offset));
    json_object_set_new(entry, "object", json_string(spot.object));
    json_object_set_new(entry, "offset", json_integer((json_int_t)spot.offset));
}

static json_t *describe_place(const struct tic_touched_place *place)
{
    json_t *entry =
        json_pack("{s:I, s:I, s:I, s:s, s:b, s:b, s:b}", "id", (json_int_t)place->id, "bytes",
                  (json_int_t)place->bytes, "calls", (json_int_t)place->calls, "after",
                  place->after, "reads", (place->kinds & TIC_TOUCH_READ) != 0, "writes",
                  (place->kinds & TIC_TOUCH_WRITE) != 0, "main", place->is_main);
    if (entry)
        add_spot(entry, place);
    return entry;
}

void tic_touched_report(json_t *report)
{
    json_t *list = json_array(), *all = json_array();

    for (unsigned i = 0; i < place_count; i++)
        json_array_append_new(list, describe_place(&places[i]));
    for (unsigned long i = 0; i < data_count; i++)
        json_array_append_new(all, json_pack("[I, I, i]", (json_int_t)data[i].id,
                                             (json_int_t)data[i].bytes, (int)data[i].kinds));
    json_object_set_new(report, "touched", list);
    json_object_set_new(report, "touched_data", all);
}
