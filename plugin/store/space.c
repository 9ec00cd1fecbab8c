/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much of the disk the directory takes, and may take. */
#include "store/space.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "store/compact.h"
#include "store/eventlog.h"
#include "store/payload.h"

/* What HDF5 and our header take in a segment for each dataset; and a first line, more or less. */
enum { DATASET_OVERHEAD = 16384, FIRST_LINE = 32768, BLOCK = 512 };
/* Bytes of a chunk of zeros: so many, and of those of the row one in so many. */
enum { CHUNK_OVERHEAD = 64, SMALLEST_PART = 512 };

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

/* Lines: those that are there, and the next, which is as large as the last; and the lock file. */
static uint64_t lines_and_logs(const struct tic_store *store)
{
    uint64_t bytes = store->kept_count > 0 ? store->kept[0].file.bytes : FIRST_LINE;
    struct stat info;

    for (unsigned i = 0; i < store->kept_count; i++)
        bytes += store->kept[i].file.bytes;
    if (store->lock.claimed && fstat(store->lock.file, &info) == 0)
        bytes += (uint64_t)info.st_blocks * BLOCK;
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

/* Rows that may be compressed have keys, and HDF5 has made a chunk of nothing for each. */
static uint64_t overhead(const struct tic_line_extent *extent)
{
    struct tic_shape shape = tic_line_extent_shape(extent);

    return DATASET_OVERHEAD +
           (extent->keys ? extent->rows * (tic_chunk_key_stride(extent->ndim) + CHUNK_OVERHEAD +
                                           tic_shape_bytes(&shape) / SMALLEST_PART)
                         : 0);
}

int tic_space_check(struct tic_store *store, const struct tic_line_extent *extents, size_t count)
{
    uint64_t more = 0;

    for (size_t i = 0; i < count; i++)
        more += overhead(&extents[i]);
    return bound(store, more);
}
