/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The trace: memory of workers, and the thread that writes it to the file. */
#include "base/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/numbers.h"
#include "base/quiet.h"
#include "base/thread.h"

_Atomic bool tic_trace_on;

enum kind { BEGIN, END, STALL };

struct record {
    uint64_t begin, end; /* ns of CLOCK_MONOTONIC */
    uint64_t number;     /* of the task */
    int32_t victim;
    uint32_t kind;
    char name[TIC_TRACE_NAME];
};
_Static_assert(sizeof(struct record) == 64, "a line of the cache");

/* One writes at the head and one reads at the tail. */
struct ring {
    _Atomic uint64_t head; /* the worker only writes it: release, after the record */
    _Atomic uint64_t tail; /* the trace's thread only: release, when it has read the record */
    _Atomic uint64_t dropped;
    struct record current; /* the worker only */
    struct record shown;   /* the trace's thread only: begun, and not known to have ended */
    bool has_shown;
    struct record records[TIC_TRACE_RECORDS];
};

enum { TEXT = 65536, LINE = 2048, FLUSH_SECONDS = 2 };

static struct {
    pid_t process; /* immutable once it is on, as the next two */
    uint64_t epoch;
    char path[PATH_MAX];
    struct ring *_Atomic rings[TIC_TRACE_SLOTS]; /* their workers set them: release */
    struct tic_lock lock;
    /* guarded by lock */
    pthread_cond_t changed;
    char text[TEXT]; /* rare events */
    unsigned used;
    _Atomic uint64_t lost;    /* of them, and of workers in slots without memory; relaxed */
    uint64_t wanted, drained; /* flushes that were asked for, and that are over */
    /* the trace's thread only */
    char out[TEXT];
    unsigned out_used;
    uint64_t size;
    bool full;
} trace = {.lock = TIC_LOCK_INITIALIZER(TIC_RANK_TRACE)};

/* ---- workers -------------------------------------------------------------------------------- */

static void note_lost(void)
{
    atomic_fetch_add_explicit(&trace.lost, 1, memory_order_relaxed);
}

static struct ring *ring_of(unsigned slot)
{
    struct ring *ring = slot < TIC_TRACE_SLOTS ? atomic_load(&trace.rings[slot]) : NULL;

    if (ring || slot >= TIC_TRACE_SLOTS)
        return ring;
    ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ring == MAP_FAILED)
        return NULL;
    atomic_store_explicit(&trace.rings[slot], ring, memory_order_release);
    return ring;
}

static void put(struct ring *ring, const struct record *record)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    if (head - atomic_load_explicit(&ring->tail, memory_order_acquire) >= TIC_TRACE_RECORDS) {
        atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
        return;
    }
    ring->records[head % TIC_TRACE_RECORDS] = *record;
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

void tic_trace_begin(unsigned slot, uint64_t number, int victim, const char *name)
{
    struct ring *ring = ring_of(slot);

    if (!ring)
        return;
    ring->current = (struct record){.begin = tic_nanoseconds(CLOCK_MONOTONIC),
                                    .number = number,
                                    .victim = victim,
                                    .kind = BEGIN};
    memccpy(ring->current.name, name, '\0', TIC_TRACE_NAME - 1); /* the last byte stays 0 */
    put(ring, &ring->current);
}

void tic_trace_end(unsigned slot)
{
    struct ring *ring = ring_of(slot);

    if (!ring)
        note_lost();
    if (!ring || ring->current.begin == 0)
        return;
    ring->current.end = tic_nanoseconds(CLOCK_MONOTONIC);
    ring->current.kind = END;
    put(ring, &ring->current);
    ring->current.begin = 0;
}

void tic_trace_stall(unsigned slot, uint64_t begin, uint64_t end)
{
    struct ring *ring = ring_of(slot);

    if (ring)
        put(ring, &(struct record){.begin = begin, .end = end, .kind = STALL});
}

/* ---- rare events ---------------------------------------------------------------------------- */

double tic_trace_time(uint64_t nanoseconds)
{
    return (double)(int64_t)(nanoseconds - trace.epoch) * 1e-9;
}

void tic_trace_quote(char *quoted, unsigned size, const char *text)
{
    unsigned used = 0;

    for (; *text && used + 3 < size; text++) {
        if (*text == '"' || *text == '\\')
            quoted[used++] = '\\';
        quoted[used++] = *text >= ' ' && *text < 127 ? *text : *text == '\n' ? ' ' : '?';
    }
    quoted[used] = '\0';
}

/* The line of an event, in `line`; its length, or 0 if it is too long. */
static unsigned format_event(char line[LINE], const char *clock, double time, const char *kind,
                             const char *members, va_list args)
{
    int head = tic_numbers_print(line, LINE, "{\"kind\": \"%s\", \"%s\": %.6f", kind, clock, time);
    int body = tic_numbers_vprint(line + head, (size_t)(LINE - head), members, args);

    if (body < 0 || head + body + 3 > LINE)
        return 0;
    memcpy(line + head + body, "}\n", 3);
    return (unsigned)(head + body) + 2;
}

/* In a child of fork nobody would write it, and the lock may be held by nobody. */
void tic_trace_put(const char *kind, const char *members, ...)
{
    char line[LINE];
    va_list args;

    if (!tic_trace_is_on() || getpid() != trace.process)
        return;
    va_start(args, members);
    unsigned length = format_event(line, "at", tic_trace_time(tic_nanoseconds(CLOCK_MONOTONIC)),
                                   kind, members, args);
    va_end(args);
    tic_lock(&trace.lock);
    if (length > 0 && trace.used + length <= TEXT) {
        memcpy(trace.text + trace.used, line, length);
        trace.used += length;
    } else {
        note_lost();
    }
    tic_unlock(&trace.lock);
}

/* ---- the file ------------------------------------------------------------------------------- */

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
}

/* Whole lines only, as far as the file takes them. 0 or -errno. */
static int write_lines(const char *path, const char *text, unsigned length, uint64_t *size)
{
    struct tic_quiet quiet;
    struct stat info;
    int status = 0, fd = open_file(path);

    if (fd < 0)
        return -errno;
    tic_quiet_begin(&quiet);
    while (length > 0 && status == 0) {
        ssize_t written = write(fd, text, length);
        if (written < 0 && errno != EINTR)
            status = -errno;
        text += written > 0 ? written : 0;
        length -= written > 0 ? (unsigned)written : 0;
    }
    tic_quiet_end(&quiet);
    if (size && fstat(fd, &info) == 0)
        *size = (uint64_t)info.st_size;
    close(fd);
    return status;
}

static void give_up(int status)
{
    if (atomic_exchange(&tic_trace_on, false))
        tic_log(TIC_LOG_WARN, "cannot write the trace %s: %s. It ends here", trace.path,
                strerror(-status));
}

static void write_out(void)
{
    int status = trace.out_used > 0 && tic_trace_is_on()
                     ? write_lines(trace.path, trace.out, trace.out_used, &trace.size)
                     : 0;

    trace.out_used = 0;
    if (status)
        give_up(status);
}

static void print(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void print(const char *format, ...)
{
    enum { MOST = 512 };
    va_list args;

    if (TEXT - trace.out_used < MOST)
        write_out();
    va_start(args, format);
    int length = tic_numbers_vprint(trace.out + trace.out_used, MOST, format, args);
    va_end(args);
    trace.out_used += length > 0 && length < MOST ? (unsigned)length : 0;
}

/* ---- the thread ----------------------------------------------------------------------------- */

static void print_record(unsigned slot, const struct record *record)
{
    char name[2 * TIC_TRACE_NAME];

    if (record->kind == STALL) {
        print("{\"kind\": \"stall\", \"worker\": %u, \"begin\": %.6f, \"end\": %.6f}\n", slot,
              tic_trace_time(record->begin), tic_trace_time(record->end));
        return;
    }
    tic_trace_quote(name, sizeof(name), record->name);
    print("{\"kind\": \"task\", \"worker\": %u, \"name\": \"%s\", \"begin\": %.6f", slot, name,
          tic_trace_time(record->begin));
    if (record->kind == END)
        print(", \"end\": %.6f", tic_trace_time(record->end));
    if (record->number != TIC_TRACE_NO_NUMBER)
        print(", \"task\": %" PRIu64, record->number);
    if (record->victim >= 0)
        print(", \"victim\": %d", record->victim);
    print("}\n");
}

static void note_full(void)
{
    if (!trace.full && trace.size >= TIC_TRACE_MOST) {
        trace.full = true;
        print("{\"kind\": \"full\", \"at\": %.6f}\n",
              tic_trace_time(tic_nanoseconds(CLOCK_MONOTONIC)));
    }
}

static void take_record(struct ring *ring, unsigned slot, const struct record *record)
{
    ring->has_shown = record->kind == BEGIN || (ring->has_shown && record->kind == STALL);
    if (record->kind == BEGIN)
        ring->shown = *record;
    else if (!trace.full)
        print_record(slot, record);
}

/* A task that has begun is printed at once, as it may never end, and once more when it has. */
static void drain_ring(struct ring *ring, unsigned slot)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

    for (; tail != head; tail++) {
        take_record(ring, slot, &ring->records[tail % TIC_TRACE_RECORDS]);
        atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    }
    if (ring->has_shown && !trace.full)
        print_record(slot, &ring->shown);
    ring->has_shown = false;
    uint64_t dropped = atomic_exchange_explicit(&ring->dropped, 0, memory_order_relaxed);
    if (dropped > 0)
        print("{\"kind\": \"dropped\", \"worker\": %u, \"records\": %" PRIu64 "}\n", slot, dropped);
}

static void drain_events(void)
{
    tic_lock(&trace.lock);
    unsigned used = trace.used;
    uint64_t lost = atomic_exchange_explicit(&trace.lost, 0, memory_order_relaxed);
    if (used > TEXT - trace.out_used) { /* room for all of them, without a call under the lock */
        tic_unlock(&trace.lock);
        write_out();
        tic_lock(&trace.lock);
        used = trace.used;
    }
    memcpy(trace.out + trace.out_used, trace.text, used);
    trace.out_used += used;
    trace.used = 0;
    tic_unlock(&trace.lock);
    if (lost > 0)
        print("{\"kind\": \"dropped\", \"records\": %" PRIu64 "}\n", lost);
}

static void drain(void)
{
    drain_events();
    note_full();
    for (unsigned i = 0; i < TIC_TRACE_SLOTS; i++) {
        struct ring *ring = atomic_load_explicit(&trace.rings[i], memory_order_acquire);
        if (ring)
            drain_ring(ring, i);
    }
    write_out();
}

static void *drain_often(void *unused)
{
    pthread_setname_np(pthread_self(), "tic-trace");
    tic_lock(&trace.lock);
    for (;;) {
        struct timespec until = tic_after(TIC_TRACE_PAUSE);
        while (trace.wanted == trace.drained &&
               pthread_cond_timedwait(&trace.changed, &trace.lock.mutex, &until) == 0)
            ;
        uint64_t wanted = trace.wanted;
        tic_unlock(&trace.lock);
        drain();
        tic_lock(&trace.lock);
        trace.drained = wanted;
        pthread_cond_broadcast(&trace.changed);
    }
    return unused;
}

void tic_trace_wake(void)
{
    if (!tic_trace_is_on() || getpid() != trace.process)
        return;
    tic_lock(&trace.lock);
    trace.wanted++;
    pthread_cond_broadcast(&trace.changed);
    tic_unlock(&trace.lock);
}

void tic_trace_flush(void)
{
    struct timespec until = tic_after(FLUSH_SECONDS);

    if (!tic_trace_is_on() || getpid() != trace.process)
        return;
    tic_lock(&trace.lock);
    uint64_t wanted = ++trace.wanted;
    pthread_cond_broadcast(&trace.changed);
    while (trace.drained < wanted &&
           pthread_cond_timedwait(&trace.changed, &trace.lock.mutex, &until) == 0)
        ;
    tic_unlock(&trace.lock);
}

/* ---- begin ---------------------------------------------------------------------------------- */

static void note_message(int level, const char *text)
{
    char quoted[LINE / 2];

    if (!tic_trace_is_on())
        return;
    tic_trace_quote(quoted, sizeof(quoted), text);
    tic_trace_put("message", ", \"level\": %d, \"text\": \"%s\"", level, quoted);
}

/* Does the file end within a line, as a SIGKILL may leave it? */
static bool is_torn(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    char last = '\n';

    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size > 0 &&
        pread(fd, &last, 1, info.st_size - 1) != 1)
        last = '\n';
    if (fd >= 0)
        close(fd);
    return last != '\n';
}

static int check_file(const char *path)
{
    struct stat info;
    int fd = open_file(path);

    if (fd < 0)
        return -errno;
    int status = fstat(fd, &info) != 0 ? -errno : S_ISREG(info.st_mode) ? 0 : -EINVAL;
    close(fd);
    return status;
}

static int start(void)
{
    pthread_t thread;

    tic_cond_init(&trace.changed);
    int status = tic_thread_start(&thread, drain_often, NULL);
    if (status == 0)
        pthread_detach(thread);
    return status;
}

/* At once: who has seen the end of a run that is not in the file would take it for that of the one
 * before. */
static int write_first(void)
{
    char line[LINE];
    int length = tic_numbers_print(
        line, sizeof(line), "%s{\"kind\": \"run\", \"at\": 0.0, \"time\": %.6f, \"process\": %d}\n",
        is_torn(trace.path) ? "\n" : "", (double)tic_nanoseconds(CLOCK_REALTIME) * 1e-9,
        (int)trace.process);

    return write_lines(trace.path, line, (unsigned)length, &trace.size);
}

struct opening {
    const char *path;
    int status;
};

static void open_apart(void *arg)
{
    struct opening *opening = arg;

    opening->status = check_file(opening->path);
    if (opening->status || trace.process != 0)
        return;
    if (!realpath(opening->path, trace.path)) {
        opening->status = -errno;
        return;
    }
    trace.epoch = tic_nanoseconds(CLOCK_MONOTONIC);
    trace.process = getpid();
    opening->status = write_first();
    opening->status = opening->status ? opening->status : start();
}

int tic_trace_open(const char *path)
{
    struct opening opening = {path, 0};

    tic_apart_call(open_apart, &opening);
    if (opening.status)
        return opening.status;
    atomic_store(&tic_trace_on, true);
    tic_log_tell(note_message, tic_trace_flush);
    return 0;
}

int tic_trace_append(const char *path, const char *kind, const char *members, ...)
{
    struct timespec now;
    char line[LINE + 1];
    va_list args;

    clock_gettime(CLOCK_REALTIME, &now);
    line[0] = '\n'; /* what was killed may have left half a line */
    va_start(args, members);
    unsigned length = format_event(
        line + 1, "time", (double)now.tv_sec + (double)now.tv_nsec * 1e-9, kind, members, args);
    va_end(args);
    bool torn = is_torn(path);
    return length == 0 ? -EINVAL : write_lines(path, torn ? line : line + 1, length + torn, NULL);
}
