/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies of recovery lines in a second directory. */
#include "snapshot/copier.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/error.h"
#include "base/failpoint.h"
#include "base/thread.h"
#include "snapshot/snapshot.h"
#include "store/mark.h"

/* Seconds: without an answer it is late; the end waits so long; pauses after failures. */
enum { LATE = 60, END = 3, FIRST_PAUSE = 1, LAST_PAUSE = 60 };

struct tic_copier {
    pthread_t thread;
    char *path;                           /* immutable */
    char *run;                            /* the run's own directory; immutable */
    struct tic_store source;              /* its own view of the directory; its thread only */
    struct tic_mirror copies[TIC_COPIES]; /* its thread only */
    unsigned next;                        /* its thread only: the copy to be written next */
    struct tic_mirror_work work;
    pthread_mutex_t lock; /* a leaf: nothing is called under it but what marks rows */
    pthread_cond_t wake, ended;
    /* guarded by lock */
    struct tic_line pending;            /* number 0: none */
    const struct tic_mirror_rows *rows; /* being copied, or NULL */
    bool busy, stop, remove, over;
    struct tic_copier_counts counts;
    unsigned pause; /* seconds, after a failure */
    /* committing thread only */
    uint64_t seen, seen_at; /* progress, and when it was another */
};

/* ---- its thread ----------------------------------------------------------------------------- */

static void set_rows(struct tic_copier *copier, const struct tic_mirror_rows *rows)
{
    pthread_mutex_lock(&copier->lock);
    copier->rows = rows;
    pthread_mutex_unlock(&copier->lock);
}

/* Before the rows are known, a commit may give them away: then their checksums say so. */
static int copy_line(struct tic_copier *copier, struct tic_line *line)
{
    struct tic_mirror_rows rows = {0};

    if (mkdir(copier->path, 0700) != 0 && errno != EEXIST)
        return -errno;
    bool marked = tic_mark_is_set(copier->run);
    int status = marked ? tic_mark_copy(copier->run, copier->path) : 0;
    status = status ? status : tic_store_complete_rows(&copier->source, line);
    status = status ? status : tic_mirror_list(line, &rows);
    if (status == 0) {
        set_rows(copier, &rows);
        status = tic_mirror_update(&copier->copies[copier->next], copier->source.directory,
                                   line->number, &rows, line, &copier->work);
        set_rows(copier, NULL);
    }
    if (status)
        free(rows.items);
    if (status == 0 && !marked)
        status = tic_mark_clear(copier->path); /* of a run before */
    if (status == 0) {
        copier->next = (copier->next + 1) % TIC_COPIES;
        tic_failpoint(TIC_FAIL_LINE_COPIED);
    }
    return status == -EBADMSG ? -ESTALE : status;
}

static void tell(const struct tic_copier *copier, int status, bool first, bool again)
{
    if (status)
        tic_log(first ? TIC_LOG_WARN : TIC_LOG_DETAIL,
                "cannot copy recovery lines to %s: %s. The run goes on, and copies are tried again",
                copier->path,
                status == -EPERM ? "it belongs to another user, or others may write to it"
                                 : strerror(-status));
    else if (again)
        tic_log(TIC_LOG_INFO, "recovery lines are copied to %s again", copier->path);
}

/* What has become of a line. A newer one that took its rows is no failure. */
static void note(struct tic_copier *copier, uint64_t number, int status)
{
    pthread_mutex_lock(&copier->lock);
    bool failed = status && status != -ESTALE && status != -ECANCELED;
    bool first = failed && copier->counts.failed == 0,
         again = copier->pause > 0 || copier->counts.late;
    copier->counts.failed += failed;
    copier->counts.copies += status == 0;
    copier->counts.line = status == 0 ? number : copier->counts.line;
    copier->counts.late = false;
    if (failed)
        copier->pause = copier->pause == 0           ? FIRST_PAUSE
                        : copier->pause < LAST_PAUSE ? 2 * copier->pause
                                                     : LAST_PAUSE;
    else if (status == 0)
        copier->pause = 0;
    pthread_mutex_unlock(&copier->lock);
    if (failed || status == 0)
        tell(copier, status, first, again);
}

/* False when it is to end. */
static bool take(struct tic_copier *copier, struct tic_line *line)
{
    pthread_mutex_lock(&copier->lock);
    copier->busy = false;
    struct timespec until = tic_after(copier->pause);
    while (copier->pause > 0 && !copier->stop &&
           pthread_cond_timedwait(&copier->wake, &copier->lock, &until) != ETIMEDOUT)
        ;
    while (copier->pending.number == 0 && !copier->stop)
        pthread_cond_wait(&copier->wake, &copier->lock);
    *line = copier->pending;
    memset(&copier->pending, 0, sizeof(copier->pending));
    bool go_on = !copier->stop;
    copier->busy = go_on;
    pthread_mutex_unlock(&copier->lock);
    return go_on;
}

static void remove_copies(struct tic_copier *copier)
{
    int status = 0;

    for (unsigned i = 0; i < TIC_COPIES; i++) {
        int one = tic_mirror_remove(&copier->copies[i], &copier->work);
        status = status ? status : one;
    }
    tic_mark_clear(copier->path);
    rmdir(copier->path);
    if (status)
        tic_log(TIC_LOG_WARN, "cannot remove the copies of recovery lines in %s: %s", copier->path,
                strerror(-status));
}

static void destroy(void *arg)
{
    struct tic_copier *copier = arg;

    for (unsigned i = 0; i < TIC_COPIES; i++)
        tic_mirror_fini(&copier->copies[i]);
    if (copier->source.directory >= 0)
        close(copier->source.directory);
    tic_line_clear(&copier->pending);
    pthread_mutex_destroy(&copier->lock);
    pthread_cond_destroy(&copier->wake);
    pthread_cond_destroy(&copier->ended);
    free(copier->path);
    free(copier->run);
    free(copier);
}

static void *copier_thread(void *arg)
{
    struct tic_copier *copier = arg;
    struct tic_line line;

    pthread_setname_np(pthread_self(), "tic-copy");
    while (take(copier, &line)) {
        uint64_t number = line.number;
        int status = copy_line(copier, &line);
        tic_line_clear(&line);
        note(copier, number, status);
    }
    tic_line_clear(&line);
    atomic_store(&copier->work.stop, false);
    if (copier->remove)
        remove_copies(copier);
    pthread_mutex_lock(&copier->lock);
    copier->over = true;
    pthread_cond_signal(&copier->ended);
    pthread_mutex_unlock(&copier->lock);
    return NULL;
}

/* ---- others --------------------------------------------------------------------------------- */

static struct tic_copier *create(const struct tic_store *store, const char *path, int newest)
{
    struct tic_copier *copier = calloc(1, sizeof(*copier));
    int status = 0;

    if (!copier)
        return NULL;
    copier->source.process = store->process;
    copier->source.h5 = store->h5; /* only to inflate */
    copier->source.lock.file = -1;
    copier->source.directory = fcntl(store->directory, F_DUPFD_CLOEXEC, 0);
    copier->next = newest == 0 ? 1 : 0;
    pthread_mutex_init(&copier->lock, NULL);
    tic_cond_init(&copier->wake);
    tic_cond_init(&copier->ended);
    copier->path = strdup(path);
    copier->run = strdup(store->path);
    for (unsigned i = 0; i < TIC_COPIES && copier->path && copier->run; i++) {
        char *one = tic_mirror_path(path, i);
        status = status == 0 && one ? tic_mirror_init(&copier->copies[i], store->h5, one) : -ENOMEM;
        free(one);
    }
    if (copier->path && copier->run && status == 0 && copier->source.directory >= 0)
        return copier;
    destroy(copier);
    return NULL;
}

struct beginning {
    const struct tic_store *store;
    const char *path;
    int newest;
    struct tic_copier *copier;
};

static void begin(void *arg)
{
    struct beginning *beginning = arg;
    struct tic_copier *copier = create(beginning->store, beginning->path, beginning->newest);

    if (copier && tic_thread_start(&copier->thread, copier_thread, copier) == 0)
        beginning->copier = copier;
    else if (copier)
        destroy(copier);
}

struct tic_copier *tic_copier_start(const struct tic_store *store, const char *path, int newest)
{
    struct beginning beginning = {store, path, newest, NULL};

    tic_apart_call(begin, &beginning);
    return beginning.copier;
}

/* Only while it is at work. */
static bool is_late(struct tic_copier *copier, bool busy)
{
    uint64_t progress = atomic_load(&copier->work.progress),
             now = tic_nanoseconds(CLOCK_MONOTONIC) / 1000000000u;

    if (!busy || progress != copier->seen || copier->seen_at == 0) {
        copier->seen = progress;
        copier->seen_at = now;
    }
    return now - copier->seen_at > LATE;
}

void tic_copier_offer(struct tic_copier *copier, const struct tic_line *line)
{
    struct tic_line clone;

    if (tic_line_clone_rows(line, &clone) != 0)
        return; /* the next one, then */
    pthread_mutex_lock(&copier->lock);
    bool late = is_late(copier, copier->busy), first = late && !copier->counts.late;
    tic_line_clear(&copier->pending);
    copier->pending = clone;
    copier->counts.late = late;
    pthread_cond_signal(&copier->wake);
    pthread_mutex_unlock(&copier->lock);
    if (first)
        tic_log(
            TIC_LOG_WARN,
            "%s does not answer: the run goes on, and its recovery lines are not copied until it "
            "does",
            copier->path);
}

void tic_copier_mark(struct tic_copier *copier, struct tic_rows *rows)
{
    pthread_mutex_lock(&copier->lock);
    for (unsigned long i = 0; copier->rows && i < copier->rows->count; i++)
        tic_rows_mark(rows, copier->rows->items[i].row);
    pthread_mutex_unlock(&copier->lock);
}

void tic_copier_count(struct tic_copier *copier, struct tic_copier_counts *counts)
{
    pthread_mutex_lock(&copier->lock);
    *counts = copier->counts;
    pthread_mutex_unlock(&copier->lock);
    counts->bytes = atomic_load(&copier->work.bytes);
}

void tic_copier_stop(struct tic_copier *copier, bool remove)
{
    struct timespec until = tic_after(END);
    int waited = 0;

    atomic_store(&copier->work.stop, true);
    pthread_mutex_lock(&copier->lock);
    copier->stop = true;
    copier->remove = remove;
    pthread_cond_signal(&copier->wake);
    while (!copier->over && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&copier->ended, &copier->lock, &until);
    bool over = copier->over;
    pthread_mutex_unlock(&copier->lock);
    if (over) {
        pthread_join(copier->thread, NULL);
        tic_apart_call(destroy, copier);
        return;
    }
    pthread_detach(copier->thread); /* and what it uses stays */
    if (remove)
        tic_log(TIC_LOG_WARN,
                "%s does not answer: copies of lines may be left there, which a new start would "
                "continue. Remove them",
                copier->path);
}
