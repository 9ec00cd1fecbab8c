/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `starpu-tic rehearse` compares. docs: starpu-tic(1), tools/digests.c reads it. A line of the
 * file is "CALL ID HASH": CALL is U (unregister), A (acquire) or P (unpartition), ID the number of
 * registration; "R 0 0": main() goes on from a commit point here, without what it got before. */
#include "interpose/digest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/apart.h"
#include "base/error.h"
#include "session/context.h"
#include "session/lookup.h"
#include "interpose/shape.h"
#include "real/real.h"

struct digest {
    char call;
    uint64_t id, hash;
};

/* Owner thread only. */
static struct digest *digests;
static unsigned long count, capacity;
static bool incomplete;

static void append(struct digest digest)
{
    incomplete |= tic_append(digests, count, capacity, &digest) != 0;
}

static void add(char call, uint64_t id, const struct tic_layout *layout)
{
    append((struct digest){call, id, tic_layout_checksum(layout)});
}

static bool has_layout(const struct tic_handle *handle)
{
    return handle && handle->supported &&
           (!tic_handle_is_empty(handle) || tic_handle_is_excluded(handle)) && !handle->packer;
}

static bool is_asked(void)
{
    return tic_session->settings.digests[0] && tic_is_owner;
}

struct tic_return tic_digest_before_unregister(const struct tic_handle *handle)
{
    struct tic_return returned = {.layout.base = NULL};

    if (has_layout(handle) && handle->home_node >= 0 && (tic_session->report || is_asked()))
        returned = (struct tic_return){handle->id, handle->layout};
    return returned;
}

void tic_digest_after_unregister(const struct tic_return *returned)
{
    if (!returned->layout.base || !tic_layout_is_mapped(&returned->layout))
        return; /* or the program has given the memory away before */
    TIC_LINT(returned, returned->id, &returned->layout);
    if (is_asked())
        add('U', returned->id, &returned->layout);
}

void tic_digest_after_acquire(struct tic_handle *handle)
{
    if (!is_asked() || !has_layout(handle))
        return;
    if (handle->home_node < 0) /* no task of this run need have told where it is */
        tic_handle_locate(
            handle, tic_real.starpu_data_get_interface_on_node(handle->data, STARPU_MAIN_RAM));
    if (handle->layout.base)
        add('A', handle->id, &handle->layout);
}

void tic_digest_after_unpartition(const struct tic_handle *handle)
{
    if (is_asked() && has_layout(handle) && !handle->parent && handle->layout.base)
        add('P', handle->id, &handle->layout);
}

void tic_digest_note_resumed(void)
{
    if (is_asked())
        append((struct digest){.call = 'R'});
}

static int write_all(FILE *file)
{
    for (unsigned long i = 0; i < count; i++)
        fprintf(file, "%c %llu %016llx\n", digests[i].call, (unsigned long long)digests[i].id,
                (unsigned long long)digests[i].hash);
    int failed = ferror(file);
    return fclose(file) != 0 || failed ? -EIO : 0;
}

static void write_file(void *path)
{
    FILE *file = fopen(path, "we");
    int status = file ? write_all(file) : -errno;

    if (status != 0 || incomplete)
        tic_log(TIC_LOG_WARN, "cannot write all digests to %s: %s", (const char *)path,
                incomplete ? "out of memory" : strerror(-status));
}

void tic_digest_write(const struct tic_session *session)
{
    const char *path = session->settings.digests;

    if (path[0])
        tic_apart_call(write_file, (void *)path);
}
