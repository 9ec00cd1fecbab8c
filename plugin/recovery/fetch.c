/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies of recovery lines in a restart. */
#include "recovery/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "snapshot/snapshot.h"
#include "store/mark.h"
#include "store/mirror.h"

/* So many seconds without progress are no answer. */
enum { PATIENCE = 30 };

/* What a thread does that may hang. If it does, it is left alone with this. */
struct errand {
    int (*run)(struct errand *errand);
    char *directory; /* of the copies */
    char *to;        /* of the run, if a line is brought back */
    const struct tic_h5_ops *h5;
    struct tic_fetch_found found;
    struct tic_mirror_work work;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool over; /* guarded by lock */
    int status;
};

/* ---- a thread that may hang ----------------------------------------------------------------- */

/* HDF5 is called by one thread at a time: not by one that was given up, should it wake up. */
static pthread_mutex_t decoding = PTHREAD_MUTEX_INITIALIZER;
static struct errand *decoder;            /* guarded by decoding: who may; NULL: nobody */
static const struct tic_h5_ops *real_ops; /* guarded by decoding */

static int decode_unless_given_up(const void *image, size_t size, struct tic_line *line)
{
    pthread_mutex_lock(&decoding);
    int status = decoder && !atomic_load(&decoder->work.stop)
                     ? real_ops->line_decode(image, size, line)
                     : -EIO;
    pthread_mutex_unlock(&decoding);
    return status;
}

static void allow_decoding(struct errand *errand)
{
    pthread_mutex_lock(&decoding);
    decoder = errand;
    real_ops = errand ? errand->h5 : NULL;
    pthread_mutex_unlock(&decoding);
}

static void *errand_thread(void *arg)
{
    struct errand *errand = arg;
    int status = errand->run(errand);

    pthread_mutex_lock(&errand->lock);
    errand->status = status;
    errand->over = true;
    pthread_cond_signal(&errand->wake);
    pthread_mutex_unlock(&errand->lock);
    return NULL;
}

static struct errand *create(int (*run)(struct errand *errand), const char *directory,
                             const char *to, const struct tic_h5_ops *h5)
{
    struct errand *errand = calloc(1, sizeof(*errand));

    if (!errand)
        return NULL;
    errand->run = run;
    errand->h5 = h5;
    errand->found.copy = -1;
    errand->directory = strdup(directory);
    errand->to = strdup(to);
    pthread_mutex_init(&errand->lock, NULL);
    tic_cond_init(&errand->wake);
    if (errand->directory && errand->to)
        return errand;
    free(errand->directory);
    free(errand->to);
    free(errand);
    return NULL;
}

static void destroy(struct errand *errand)
{
    tic_line_clear(&errand->found.line);
    pthread_mutex_destroy(&errand->lock);
    pthread_cond_destroy(&errand->wake);
    free(errand->directory);
    free(errand->to);
    free(errand);
}

/* False: it does not answer. */
static bool await(struct errand *errand)
{
    uint64_t seen = atomic_load(&errand->work.progress);
    struct timespec until = tic_after(PATIENCE);

    pthread_mutex_lock(&errand->lock);
    while (!errand->over) {
        if (pthread_cond_timedwait(&errand->wake, &errand->lock, &until) != ETIMEDOUT)
            continue;
        uint64_t progress = atomic_load(&errand->work.progress);
        if (progress == seen)
            break;
        seen = progress;
        until = tic_after(PATIENCE);
    }
    bool over = errand->over;
    pthread_mutex_unlock(&errand->lock);
    return over;
}

/* -ETIMEDOUT: the errand is not the caller's any more. */
static int send(struct errand *errand)
{
    pthread_t thread;

    allow_decoding(errand);
    int status = tic_thread_start(&thread, errand_thread, errand);
    if (status) {
        errand->status = status;
        allow_decoding(NULL);
        return 0;
    }
    bool over = await(errand);
    if (!over)
        atomic_store(&errand->work.stop, true);
    allow_decoding(NULL);
    if (!over) {
        pthread_detach(thread);
        return -ETIMEDOUT;
    }
    pthread_join(thread, NULL);
    return 0;
}

/* ---- looking -------------------------------------------------------------------------------- */

struct look {
    struct errand *errand;
    struct tic_store *store;
    const struct tic_line *line;
    int copy;
};

static int check_row(void *arg, const struct tic_line_reference *reference)
{
    struct look *look = arg;

    atomic_fetch_add(&look->errand->work.progress, 1);
    return atomic_load(&look->errand->work.stop)
               ? -ECANCELED
               : tic_store_check_row(look->store, look->line, reference);
}

static bool consider(void *arg, const char *name, int status, struct tic_line *line)
{
    struct look *look = arg;
    struct tic_fetch_found *found = &look->errand->found;

    (void)name;
    look->line = line;
    atomic_fetch_add(&look->errand->work.progress, 1);
    if (status || (found->line.version && found->line.number >= line->number) ||
        tic_line_each(line, check_row, look) != 0)
        return false;
    tic_line_clear(&found->line);
    found->line = *line;
    found->copy = look->copy;
    memset(line, 0, sizeof(*line));
    return true;
}

/* What others can change is not to be trusted. */
static bool is_ours(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int look_at(struct errand *errand, int copy)
{
    const struct tic_h5_ops guarded = {.line_decode = decode_unless_given_up,
                                       .inflate = errand->h5->inflate};
    struct tic_store store;
    struct look look = {errand, &store, NULL, copy};
    char *path = tic_mirror_path(errand->directory, (unsigned)copy);

    if (!path)
        return -ENOMEM;
    int status =
        is_ours(path) ? tic_store_open(&store, path, TIC_STORE_READ, false, &guarded) : -ENOENT;
    if (status == 0) {
        status = tic_store_walk(&store, consider, &look);
        tic_store_close(&store);
    }
    free(path);
    return status == -ENOENT ? 0 : status;
}

static int look_at_all(struct errand *errand)
{
    int status = 0;

    for (int i = 0; i < TIC_COPIES && status == 0; i++)
        status = look_at(errand, i);
    errand->found.marked = tic_mark_is_set(errand->directory);
    return status;
}

int tic_fetch_look(const char *directory, const struct tic_h5_ops *h5,
                   struct tic_fetch_found *found)
{
    struct errand *errand = create(look_at_all, directory, "", h5);

    memset(found, 0, sizeof(*found));
    found->copy = -1;
    if (!errand)
        return -ENOMEM;
    int status = send(errand);
    if (status)
        return status;
    *found = errand->found;
    memset(&errand->found, 0, sizeof(errand->found));
    status = found->line.version ? 0 : errand->status;
    destroy(errand);
    return status;
}

/* ---- bringing back -------------------------------------------------------------------------- */

static int bring_back(struct errand *errand)
{
    struct tic_mirror mirror;
    struct tic_mirror_rows rows = {0};
    char *path = tic_mirror_path(errand->directory, (unsigned)errand->found.copy);
    int source = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
    int status = source < 0 ? -errno : tic_mirror_init(&mirror, errand->h5, errand->to);

    if (status == 0) {
        status = tic_mirror_list(&errand->found.line, &rows);
        if (status == 0 && tic_mark_is_set(errand->directory))
            status = tic_mark_copy(errand->directory, errand->to);
        status = status ? status
                        : tic_mirror_update(&mirror, source, errand->found.line.number, &rows,
                                            &errand->found.line, &errand->work);
        tic_mirror_fini(&mirror);
    }
    if (source >= 0)
        close(source);
    if (status)
        free(rows.items);
    free(path);
    return status;
}

int tic_fetch_line(const char *directory, const struct tic_h5_ops *h5,
                   const struct tic_fetch_found *found, const char *to)
{
    struct errand *errand = create(bring_back, directory, to, h5);

    if (!errand)
        return -ENOMEM;
    errand->found.copy = found->copy;
    int status = tic_line_clone_rows(&found->line, &errand->found.line);
    status = status ? status : send(errand);
    if (status == -ETIMEDOUT)
        return status;
    status = status ? status : errand->status;
    destroy(errand);
    return status;
}
