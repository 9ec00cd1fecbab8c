/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much of the disk the directory takes, and may take. */
#include "store/space.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "store/compact.h"
#include "store/eventlog.h"

/* What HDF5 and our header take in a segment for each dataset; and a first line, more or less. */
enum { DATASET_OVERHEAD = 16384, FIRST_LINE = 32768, BLOCK = 512 };

/* Segments take what is touched in them, be it written yet or not, or what they do take, if that is
 * more: of a run before, and for headers. */
static int add_surplus(const struct tic_store *store, const struct tic_use *uses, uint64_t *bytes)
{
    struct stat info;

    for (unsigned long i = 0; i < store->segment_count; i++) {
        if (fstat(store->segments[i].fd, &info) != 0)
            return -errno;
        uint64_t real = (uint64_t)info.st_blocks * BLOCK;
        *bytes += real > uses[i].touched ? real - uses[i].touched : 0;
    }
    return 0;
}

/* Lines: those that are there, and the next, which is as large as the last. */
static uint64_t lines_and_logs(const struct tic_store *store)
{
    uint64_t bytes = store->kept_count > 0 ? store->kept[0].bytes_on_disk : FIRST_LINE;

    for (unsigned i = 0; i < store->kept_count; i++)
        bytes += store->kept[i].bytes_on_disk;
    return bytes + (store->log ? tic_eventlog_used(store->log) : 0);
}

static int bound(struct tic_store *store, uint64_t more)
{
    uint64_t others = lines_and_logs(store) + more;
    struct tic_use *uses = store->space > 0 ? tic_compact_uses(store) : NULL;

    if (store->space == 0)
        return 0;
    int status = uses ? add_surplus(store, uses, &others) : -ENOMEM;
    free(uses);
    if (status)
        return status;
    uint64_t most = store->space > others ? store->space - others : 0;
    tic_rows_bound(&store->rows, most);
    return tic_rows_touched(&store->rows) <= most ? 0 : -EDQUOT;
}

int tic_space_bound(struct tic_store *store)
{
    return bound(store, 0);
}

int tic_space_check(struct tic_store *store, size_t extents)
{
    return bound(store, extents * DATASET_OVERHEAD);
}
