/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hashes of data that main() got back in a run (written by interpose/digest.c). */
#include "tools/digests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/order.h"

static int compare(const void *a, const void *b)
{
    const struct tic_datum *left = a, *right = b;

    return tic_order(left->id, right->id) ?: tic_order(left->times, right->times);
}

/* Of each datum the last entry stays, with the number of all. */
static void fold(struct tic_digests *digests)
{
    size_t kept = 0;

    tic_sort(digests->data, digests->count, compare);
    for (size_t i = 0; i < digests->count; i++) {
        bool again = kept > 0 && digests->data[kept - 1].id == digests->data[i].id;
        uint64_t times = again ? digests->data[kept - 1].times + 1 : 1;
        kept += !again;
        digests->data[kept - 1] = digests->data[i];
        digests->data[kept - 1].times = times;
    }
    digests->count = kept;
}

int tic_digests_read(struct tic_digests *digests, const char *path)
{
    struct tic_digests read = {.data = NULL};
    unsigned long capacity = 0;
    struct tic_datum datum = {.times = 0};
    FILE *file = fopen(path, "re");

    if (!file)
        return -errno;
    while (fscanf(file, " %c %" SCNu64 " %" SCNx64, &datum.call, &datum.id, &datum.hash) == 3) {
        if (datum.call == 'R') {
            read.part = true;
            continue;
        }
        datum.times = read.count; /* their order, until they are folded */
        if (tic_append(read.data, read.count, capacity, &datum) != 0)
            break;
    }
    bool whole = feof(file) != 0;
    fclose(file);
    if (!whole) {
        free(read.data);
        return -EIO;
    }
    fold(&read);
    *digests = read;
    return 0;
}

void tic_digests_free(struct tic_digests *digests)
{
    free(digests->data);
    *digests = (struct tic_digests){.data = NULL};
}

static const struct tic_datum *find(const struct tic_digests *digests, uint64_t id)
{
    size_t at = tic_first_from(id, digests->data, digests->count);

    return at < digests->count && digests->data[at].id == id ? &digests->data[at] : NULL;
}

size_t tic_digests_mark(struct tic_digests *digests, const struct tic_digests *other)
{
    size_t marked = 0;

    for (size_t i = 0; i < digests->count; i++) {
        const struct tic_datum *found = find(other, digests->data[i].id);
        bool varies = found && found->hash != digests->data[i].hash && !digests->data[i].varies;
        digests->data[i].varies |= varies;
        marked += varies;
    }
    return marked;
}

static bool is_same(const struct tic_datum *expected, const struct tic_datum *found, bool part)
{
    if (!found)
        return part;
    return (found->times == expected->times || (part && found->times < expected->times)) &&
           (expected->varies || found->hash == expected->hash);
}

bool tic_digests_differ(const struct tic_digests *expected, const struct tic_digests *found,
                        struct tic_digest_difference *difference)
{
    for (size_t i = 0; i < expected->count; i++) {
        const struct tic_datum *other = find(found, expected->data[i].id);
        if (is_same(&expected->data[i], other, found->part))
            continue;
        *difference = (struct tic_digest_difference){&expected->data[i], other};
        return true;
    }
    for (size_t i = 0; i < found->count; i++) {
        if (find(expected, found->data[i].id))
            continue;
        *difference = (struct tic_digest_difference){NULL, &found->data[i]};
        return true;
    }
    return false;
}

const char *tic_digest_call(char call)
{
    return call == 'U'   ? "starpu_data_unregister"
           : call == 'A' ? "starpu_data_acquire"
                         : "starpu_data_unpartition";
}
