/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* This rank's share in the agreement, between the checkpoint thread and a thread of its own that
 * carries letters and never calls MPI. */
#include "mpi/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/agree.h"
#include "mpi/channels.h"
#include "mpi/core.h"
#include "mpi/labels.h"
#include "mpi/line.h"
#include "mpi/restart.h"
#include "mpi/wire.h"

enum { IDLE_MS = 1000, BUSY_MS = 20, REASON = 128 }; /* MS: milliseconds */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t listens; /* rank 0; with mutex */
    pthread_t thread;
    const char *directory; /* immutable once open */
    char token[33];        /* rank 0: immutable once it listens */
    /* guarded by mutex */
    int status; /* of the start: 1 until it is known */
    bool wanted, opens;
    bool over;                  /* the lines of the run are removed: there are no more */
    enum tic_failpoint arrived; /* when the last letter to rank 0 is sent */
    bool awaits;                /* the checkpoint thread does, that a line begins */
    bool taken;                 /* the checkpoint thread is at the line of the member */
    struct tic_member member;
    struct tic_lead lead;   /* rank 0 */
    struct tic_wire up;     /* to rank 0, which has one to itself, too; the thread reads */
    struct tic_wire *wires; /* rank 0: one to each */
    /* the thread's */
    int listener, wake[2];           /* wake: immutable once the status is known */
    uint64_t in_transit;             /* of the last cut; rank 0 */
    struct tic_channel_counts *cuts; /* the same */
    struct pollfd *waits;
    /* the checkpoint thread's */
    struct tic_channel_count *counts;
    unsigned long count;
    bool disorder;
} job = {.mutex = PTHREAD_MUTEX_INITIALIZER,
         .listens = PTHREAD_COND_INITIALIZER,
         .status = 1,
         .arrived = TIC_FAIL_COUNT,
         .up = {.fd = -1},
         .listener = -1,
         .wake = {-1, -1}};

static bool is_leader(void)
{
    return tic_mpi_core->rank == 0;
}

static void wake(void)
{
    if (job.wake[1] >= 0 && write(job.wake[1], "", 1) < 0)
        return; /* it is full: the thread comes */
}

/* ---- letters; the mutex is held -------------------------------------------------------------- */

static void put_on(struct tic_wire *wire, const struct tic_agree_message *message)
{
    if (wire->fd >= 0 && !tic_wire_put(wire, message))
        tic_mpi_core->give_up("out of memory");
}

static void send_to_member(void *arg, unsigned to, const struct tic_agree_message *message)
{
    (void)arg;
    put_on(&job.wires[to], message);
}

static void send_to_leader(void *arg, const struct tic_agree_message *message)
{
    (void)arg;
    put_on(&job.up, message);
    job.arrived = message->kind == TIC_AGREE_READY      ? TIC_FAIL_RANK_READY
                  : message->kind == TIC_AGREE_CUT_DONE ? TIC_FAIL_RANK_CUT
                  : message->kind == TIC_AGREE_PART     ? TIC_FAIL_RANK_PART
                                                        : TIC_FAIL_COUNT;
    wake();
}

/* ---- the leader ------------------------------------------------------------------------------ */

static const char *judge(void *arg, const struct tic_agree_answer *cuts,
                         struct tic_agree_answer *incoming)
{
    const unsigned ranks = tic_mpi_core->count;
    struct tic_channel_counts *counts = job.cuts;
    static char why[REASON];

    (void)arg;
    for (unsigned i = 0; i < ranks; i++) {
        unsigned long count = cuts[i].size / sizeof(*counts[i].items);
        tic_channels_sort(cuts[i].bytes, count);
        counts[i] = (struct tic_channel_counts){cuts[i].bytes, count};
    }
    uint64_t orphans = tic_channels_orphans(counts, ranks);
    job.in_transit = tic_channels_in_transit(counts, ranks);
    for (unsigned i = 0; i < ranks; i++) {
        unsigned long found;
        incoming[i].bytes = tic_channels_incoming(counts, ranks, i, &found);
        incoming[i].size = found * sizeof(struct tic_channel_count);
        if (!incoming[i].bytes)
            return "out of memory";
    }
    if (orphans == 0)
        return NULL;
    snprintf(why, sizeof(why),
             "internal error: %" PRIu64 " messages were received before they were sent", orphans);
    tic_mpi_core->log(TIC_LOG_WARN, "no job line %" PRIu64 ": %s", job.lead.line, why);
    return why;
}

static unsigned generation(void)
{
    return tic_restart_found()->generation;
}

/* All but so many, the newest ones. */
static void remove_lines(unsigned keep)
{
    unsigned long count;
    uint64_t *numbers = tic_job_line_list(job.directory, &count);

    for (unsigned long i = keep; i < count; i++)
        tic_job_line_remove(job.directory, numbers[i]);
    free(numbers);
}

/* A folder of ours, and of another generation. */
static bool is_other(const char *name, unsigned own)
{
    unsigned rank, other = 0;
    int end = 0;

    if (sscanf(name, "p%u%n.%u%n", &rank, &end, &other, &end) < 1)
        return false;
    return name[end] == '\0' && other != own;
}

static void remove_folder(const char *directory, const char *name)
{
    char path[PATH_MAX];
    struct dirent *entry;

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    DIR *stream = opendir(path);
    while (stream && (entry = readdir(stream)))
        unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
    rmdir(path);
}

/* Of restarts on another number of ranks before, when no line is of them any more. */
static void remove_generations(void)
{
    unsigned long count;
    uint64_t *numbers = tic_job_line_list(job.directory, &count);
    bool others = false;
    struct dirent *entry;

    for (unsigned long i = 0; i < count; i++) {
        struct tic_job_line line;
        others |= tic_job_line_read(job.directory, numbers[i], &line) == 0 &&
                  line.generation != generation();
        tic_job_line_clear(&line);
    }
    free(numbers);
    DIR *stream = others ? NULL : opendir(job.directory);
    while (stream && (entry = readdir(stream)))
        if (is_other(entry->d_name, generation()))
            remove_folder(job.directory, entry->d_name);
    if (stream)
        closedir(stream);
}

static void pass_written(void)
{
    tic_mpi_core->pass(TIC_FAIL_JOB_LINE_WRITTEN);
}

/* A part, and in the next line why it needs as many ranks. */
static bool scan_letter(struct tic_job_part *part, const char *text)
{
    const char *why = strchr(text, '\n');

    snprintf(part->why, sizeof(part->why), "%s", why ? why + 1 : "");
    return tic_job_part_scan(part, text);
}

static int commit(void *arg, uint64_t number, const struct tic_agree_answer *cuts,
                  const struct tic_agree_answer *parts)
{
    const unsigned ranks = tic_mpi_core->count;
    struct tic_job_line line = {
        number, job.in_transit, ranks, calloc(ranks, sizeof(*line.parts)), generation(), ""};
    bool fine = line.parts != NULL;

    (void)arg;
    for (unsigned i = 0; i < ranks && fine; i++) {
        fine = scan_letter(&line.parts[i], parts[i].bytes);
        line.parts[i].counts = cuts[i].bytes;
        line.parts[i].count = cuts[i].size / sizeof(*line.parts[i].counts);
    }
    if (fine)
        tic_tables_read(job.directory, &line, NULL, line.why);
    int status = fine ? tic_job_line_write(job.directory, &line, pass_written) : -ENOMEM;
    free(line.parts);
    if (status) {
        tic_mpi_core->log(TIC_LOG_WARN, "job line %" PRIu64 " cannot be written to %s: %s", number,
                          job.directory, strerror(-status));
        return status;
    }
    tic_mpi_core->pass(TIC_FAIL_JOB_LINE_RENAMED);
    remove_lines(tic_mpi_core->keep()); /* before their parts go */
    remove_generations();
    const struct tic_hold_statistics holds = tic_channels_statistics();
    tic_mpi_core->log(TIC_LOG_DETAIL,
                      "job line %" PRIu64 ": %u ranks, %" PRIu64
                      " messages in transit, 0 orphans; rank 0 has held %" PRIu64
                      " sends so far, %.1f ms at most; any number of ranks: %s",
                      number, ranks, job.in_transit, holds.held, holds.longest * 1e3,
                      line.why[0] ? line.why : "yes");
    return 0;
}

static void note_drop(void *arg, uint64_t line, unsigned rank, const char *why)
{
    (void)arg;
    tic_mpi_core->log(TIC_LOG_DETAIL, "job line %" PRIu64 " is dropped: rank %u: %s", line, rank,
                      why);
}

static const struct tic_lead_ops lead_ops = {send_to_member, judge, commit, note_drop};

/* ---- the member ------------------------------------------------------------------------------ */

static void prepare(void *arg, uint64_t line)
{
    (void)arg;
    (void)line;
    bool ahead = tic_labels_are_ahead();
    if (!ahead && (job.awaits || tic_mpi_core->request()))
        return;
    tic_member_fail(&job.member,
                    ahead ? "what ranks had done is coming back" : "it takes no line now");
    tic_member_end(&job.member);
}

/* Held sends begin on the thread of this file, without the mutex. */
static void open_sends(void *arg, const struct tic_agree_message *all_cut)
{
    const unsigned long count = all_cut ? all_cut->size / sizeof(struct tic_channel_count) : 0;

    (void)arg;
    job.opens = true;
    if (!tic_channels_expect(all_cut ? all_cut->bytes : NULL, count))
        tic_mpi_core->give_up("out of memory");
    wake();
}

static const struct tic_member_ops member_ops = {send_to_leader, prepare, open_sends};

/* ---- the thread ------------------------------------------------------------------------------ */

static void say_lost(void)
{
    tic_mpi_core->log(TIC_LOG_DETAIL, "a connection to another rank is gone: no more job lines");
}

static void exchange_as_leader(unsigned rank)
{
    struct tic_wire *wire = &job.wires[rank];
    struct tic_agree_message message;
    bool there = tic_wire_read(wire);

    while (tic_wire_take(wire, &message)) {
        job.wanted |= message.kind == TIC_AGREE_WANTED;
        tic_lead_receive(&job.lead, rank, &message, tic_mpi_seconds());
    }
    if (there)
        return;
    tic_wire_close(wire);
    tic_lead_lose(&job.lead, rank);
    say_lost();
}

static void exchange_as_member(void)
{
    struct tic_agree_message message;
    bool there = tic_wire_read(&job.up), any = !there;

    while (tic_wire_take(&job.up, &message)) {
        tic_member_receive(&job.member, &message, tic_mpi_seconds());
        if (job.member.state == TIC_MEMBER_COMMITTED && message.kind == TIC_AGREE_COMMITTED)
            tic_mpi_core->pass(TIC_FAIL_JOB_LINE_HEARD);
        any = true;
    }
    if (!there) {
        tic_wire_close(&job.up);
        tic_member_lose(&job.member);
        say_lost();
    }
    if (any)
        tic_mpi_core->wake();
}

static void accept_all(void)
{
    struct tic_wire wire;
    unsigned rank;
    int status;

    while ((status = tic_wire_accept(job.listener, job.token, &rank, &wire)) != -EAGAIN) {
        if (status == 0 && rank < job.lead.ranks && job.wires[rank].fd < 0)
            job.wires[rank] = wire;
        else if (status == 0)
            tic_wire_close(&wire);
        else if (status != -EPERM && status != -EINTR)
            return;
    }
}

static bool is_complete(void)
{
    unsigned there = 0;

    while (there < job.lead.ranks && job.wires[there].fd >= 0)
        there++;
    return there == job.lead.ranks;
}

static void lead(void)
{
    accept_all();
    if (job.wanted && is_complete() && tic_lead_begin(&job.lead, tic_mpi_seconds()))
        job.wanted = false;
    for (unsigned i = 0; i < job.lead.ranks; i++)
        if (job.wires[i].fd >= 0)
            exchange_as_leader(i);
    tic_lead_tick(&job.lead, tic_mpi_seconds());
    for (unsigned i = 0; i < job.lead.ranks; i++)
        tic_wire_write(&job.wires[i]);
}

/* One round of the thread; the mutex is held. */
static void work(void)
{
    if (is_leader() && !job.over)
        lead();
    if (job.up.fd >= 0)
        exchange_as_member();
    tic_member_tick(&job.member, tic_mpi_seconds());
    if (!job.taken && job.member.state == TIC_MEMBER_DROPPED)
        tic_member_end(&job.member); /* before the checkpoint thread came to it */
    tic_wire_write(&job.up);
    if (job.up.out_size == 0 && job.arrived != TIC_FAIL_COUNT) {
        tic_mpi_core->pass(job.arrived);
        job.arrived = TIC_FAIL_COUNT;
    }
}

static void watch(nfds_t *count, const struct tic_wire *wire)
{
    if (wire->fd >= 0)
        job.waits[(*count)++] = (struct pollfd){
            .fd = wire->fd, .events = (short)(wire->out_size > 0 ? POLLIN | POLLOUT : POLLIN)};
}

/* Until something comes, or may be late. */
static void sleep_until_called(void)
{
    char bytes[64];
    nfds_t count = 0;

    job.waits[count++] = (struct pollfd){.fd = job.wake[0], .events = POLLIN};
    if (job.listener >= 0)
        job.waits[count++] = (struct pollfd){.fd = job.listener, .events = POLLIN};
    pthread_mutex_lock(&job.mutex);
    watch(&count, &job.up);
    for (unsigned i = 0; i < job.lead.ranks; i++)
        watch(&count, &job.wires[i]);
    bool busy = job.lead.until > 0 || job.member.until > 0;
    pthread_mutex_unlock(&job.mutex);
    poll(job.waits, count, busy ? BUSY_MS : IDLE_MS);
    while (read(job.wake[0], bytes, sizeof(bytes)) == sizeof(bytes))
        ;
}

static void *run(void *arg)
{
    int status = is_leader() ? tic_wire_listen(job.directory, &job.listener, job.token) : 0;

    (void)arg;
    pthread_setname_np(pthread_self(), "tic-agree");
    status = status ? status : tic_wire_connect(job.directory, tic_mpi_core->rank, &job.up);
    if (status == 0 && pipe2(job.wake, O_CLOEXEC | O_NONBLOCK) != 0)
        status = -errno;
    pthread_mutex_lock(&job.mutex);
    job.status = status;
    pthread_cond_broadcast(&job.listens);
    while (status == 0) {
        work();
        bool opens = job.opens;
        job.opens = false;
        pthread_mutex_unlock(&job.mutex);
        if (opens)
            tic_mpi_core->note_hold(tic_channels_open());
        sleep_until_called();
        pthread_mutex_lock(&job.mutex);
    }
    pthread_mutex_unlock(&job.mutex);
    return NULL;
}

/* What lies beside a part goes with it. */
static void sweep_beside(int directory, const char *name)
{
    const char *part = strncmp(name, "late-", 5) == 0    ? name + 5
                       : strncmp(name, "ranks-", 6) == 0 ? name + 6
                                                         : NULL;

    if (part && faccessat(directory, part, F_OK, 0) != 0)
        unlinkat(directory, name, 0);
}

static void sweep(void)
{
    char path[PATH_MAX];
    struct dirent *entry;

    tic_job_folder(job.directory, generation(), tic_mpi_core->rank, path);
    DIR *stream = opendir(path);
    while (stream && (entry = readdir(stream)))
        sweep_beside(dirfd(stream), entry->d_name);
    if (stream)
        closedir(stream);
}

/* ---- the start ------------------------------------------------------------------------------- */

static int start(void)
{
    int status = tic_mpi_core->start_thread(&job.thread, run, NULL);

    pthread_mutex_lock(&job.mutex);
    while (status == 0 && job.status == 1)
        pthread_cond_wait(&job.listens, &job.mutex);
    status = status ? status : job.status;
    job.status = status;
    pthread_mutex_unlock(&job.mutex);
    return status;
}

static int make_leader(unsigned ranks)
{
    job.wires = malloc(ranks * sizeof(*job.wires));
    job.cuts = malloc(ranks * sizeof(*job.cuts));
    if (!job.wires || !job.cuts || tic_lead_init(&job.lead, ranks, &lead_ops, NULL) != 0)
        return -ENOMEM;
    job.lead.line = tic_restart_found()->newest; /* later ones have other numbers */
    for (unsigned i = 0; i < ranks; i++)
        job.wires[i] = (struct tic_wire){.fd = -1};
    return start();
}

int tic_job_open(void)
{
    const unsigned ranks = tic_mpi_core->count;

    job.directory = tic_mpi_core->directory();
    if (!job.directory)
        return -ENOENT;
    job.waits = malloc((ranks + 3) * sizeof(*job.waits));
    if (!job.waits)
        return -ENOMEM;
    sweep(); /* of a run before */
    tic_member_init(&job.member, &member_ops, NULL);
    return is_leader() ? make_leader(ranks) : 0;
}

int tic_job_join(void)
{
    return is_leader() || !job.directory ? 0 : start();
}

/* ---- the checkpoint thread ------------------------------------------------------------------- */

bool tic_job_begin(bool wanted)
{
    static const struct tic_agree_message ask = {.kind = TIC_AGREE_WANTED};

    pthread_mutex_lock(&job.mutex);
    bool prepares = job.member.state == TIC_MEMBER_PREPARING;
    job.taken = prepares;
    job.awaits = wanted && !prepares;
    if (!prepares && job.status == 0 && is_leader())
        job.wanted = true;
    else if (!prepares && job.status == 0 && wanted)
        put_on(&job.up, &ask);
    wake();
    pthread_mutex_unlock(&job.mutex);
    return prepares;
}

void tic_job_ready(void)
{
    pthread_mutex_lock(&job.mutex);
    tic_member_ready(&job.member, tic_mpi_seconds());
    pthread_mutex_unlock(&job.mutex);
}

enum tic_ranks_step tic_job_step(void)
{
    static const enum tic_ranks_step steps[] = {
        [TIC_MEMBER_IDLE] = TIC_RANKS_DROPPED,    [TIC_MEMBER_PREPARING] = TIC_RANKS_WAIT,
        [TIC_MEMBER_READY] = TIC_RANKS_WAIT,      [TIC_MEMBER_CUTTING] = TIC_RANKS_CUT,
        [TIC_MEMBER_HELD] = TIC_RANKS_WAIT,       [TIC_MEMBER_SAVING] = TIC_RANKS_SAVE,
        [TIC_MEMBER_PARTED] = TIC_RANKS_WAIT,     [TIC_MEMBER_COMMITTED] = TIC_RANKS_COMMITTED,
        [TIC_MEMBER_DROPPED] = TIC_RANKS_DROPPED, [TIC_MEMBER_UNKNOWN] = TIC_RANKS_UNKNOWN,
    };

    pthread_mutex_lock(&job.mutex);
    enum tic_ranks_step step = steps[job.member.state];
    if (job.member.state == TIC_MEMBER_IDLE && (job.member.lost || job.lead.lost))
        step = TIC_RANKS_UNKNOWN;
    pthread_mutex_unlock(&job.mutex);
    return step;
}

void tic_job_cut(void)
{
    job.counts = tic_channels_hold(&job.count, &job.disorder);
    tic_labels_cut();
}

/* That nothing is held for ever is the machine's, once it knows of the cut. */
void tic_job_tell_cut(void)
{
    const char *why = !job.counts ? "out of memory"
                      : job.disorder
                          ? "messages of one tag begin in another order than main() asks for them"
                          : NULL;

    pthread_mutex_lock(&job.mutex);
    if (why) {
        open_sends(NULL, NULL);
        tic_member_fail(&job.member, why);
    } else {
        tic_member_cut(&job.member, job.counts, job.count * sizeof(*job.counts), tic_mpi_seconds());
    }
    pthread_mutex_unlock(&job.mutex);
    free(job.counts);
    job.counts = NULL;
}

bool tic_job_has_late(bool tells)
{
    static bool told; /* the checkpoint thread's */
    const bool has = tic_channels_late() > 0 || tic_labels_wait();
    const int peer = has && tells && !told ? tic_channels_find_unasked() : -1;

    told |= peer >= 0;
    if (peer >= 0)
        tic_mpi_core->log(TIC_LOG_WARN,
                          "a checkpoint waits for main(), which has not asked yet for a message "
                          "that rank %d has sent: none comes until it does",
                          peer);
    return has;
}

/* Beside the part, and before it is told of. */
static bool write_late(struct tic_job_part *part)
{
    char path[PATH_MAX];
    unsigned long count;
    struct tic_late *late = tic_channels_take_late(&count);
    bool fine = true;

    if (count > 0) {
        tic_job_beside(job.directory, generation(), tic_mpi_core->rank, "late", part->name, path);
        fine = tic_late_write(path, late, count) == 0 &&
               tic_mpi_core->hash(path, &part->late_size, &part->late_hash) == 0;
    }
    for (unsigned long i = 0; i < count; i++)
        free(late[i].bytes);
    free(late);
    return fine;
}

static bool write_table(struct tic_job_part *part)
{
    char path[PATH_MAX];

    tic_job_beside(job.directory, generation(), tic_mpi_core->rank, "ranks", part->name, path);
    int status = tic_labels_write(path, part->why);
    return status == 0 ||
           (status == 1 && tic_mpi_core->hash(path, &part->ranks_size, &part->ranks_hash) == 0);
}

void tic_job_part(const char *name, uint64_t size, uint64_t hash)
{
    struct tic_job_part part = {.size = size, .hash = hash};
    char text[256 + TIC_REASON];

    snprintf(part.name, sizeof(part.name), "%s", name);
    bool fine = write_late(&part) && write_table(&part);
    int length = tic_job_part_print(&part, text, sizeof(text));
    length += snprintf(text + length, sizeof(text) - (size_t)length, "\n%s", part.why) + 1;
    pthread_mutex_lock(&job.mutex);
    if (fine)
        tic_member_part(&job.member, text, (size_t)length);
    else
        tic_member_fail(&job.member, "what lies beside its part cannot be written");
    pthread_mutex_unlock(&job.mutex);
}

void tic_job_end(const char *why)
{
    pthread_mutex_lock(&job.mutex);
    if (why)
        tic_member_fail(&job.member, why);
    tic_member_end(&job.member);
    job.taken = false;
    pthread_mutex_unlock(&job.mutex);
    wake();
    sweep();
}

void tic_job_remove(void)
{
    char name[PATH_MAX];

    if (!job.directory)
        return;
    sweep();
    snprintf(name, sizeof(name), "%s/meeting", job.directory);
    if (is_leader()) {
        pthread_mutex_lock(&job.mutex);
        job.over = true;
        remove_lines(0);
        tic_job_line_remove(job.directory, 0);
        pthread_mutex_unlock(&job.mutex);
        unlink(name);
        remove_generations();
    }
    tic_restart_log(false);
    tic_job_folder(job.directory, generation(), tic_mpi_core->rank, name);
    rmdir(name);
    rmdir(job.directory); /* the last one */
}
