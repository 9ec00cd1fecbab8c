/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closes the pages of registered data while main() is between two calls of StarPU and there is no
 * task. The first access to a range opens it again, and is noted. Accesses of the kernel are told
 * before they happen (syscalls/syscalls.h), as they would not fault but fail.
 *
 * Faults are synchronous: the handler interrupts the instruction that touches the data and nothing
 * else. Calls that are not safe in other signal handlers are safe here, unless the interrupted
 * function is in the midst of them. The handler allocates nothing. */
#include "report/pages.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "base/thread.h"
#include "session/context.h"
#include "report/ranges.h"
#include "report/touched.h"
#include "report/watched.h"
#include "real/real.h"
#include "syscalls/syscalls.h"

enum { OPEN = PROT_READ | PROT_WRITE };

static _Atomic bool are_closed; /* relaxed: the handler opens pages, too */

/* Lock between threads that open and close pages, in the handler or not. Its owner touches no
 * registered data. */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

/* guarded by busy */
static struct tic_page_ranges ranges;
static uint64_t calls;    /* after which pages were closed */
static const char *after; /* the last of them */
static uint64_t spent_ns; /* time that all of this took */

/* All ranges lie between these; a look without the lock: what is handed to the kernel elsewhere,
 * say by a child of fork, takes no lock. */
static _Atomic uintptr_t lowest, highest;

/* owner thread only */
static struct tic_page_ranges spare;
static uint64_t started_ns, waited_ns;

static struct sigaction before; /* the program's own; changed while pages are open */

static void enter(void)
{
    is_inside = true;
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        sched_yield();
}

static void leave(void)
{
    atomic_flag_clear_explicit(&busy, memory_order_release);
    is_inside = false;
}

/* ---- opening and closing -------------------------------------------------------------------- */

/* Adjacent ranges get their protection by one call. Ranges that cannot be closed stay open. */
static void protect_locked(int protection)
{
    size_t next;

    for (size_t i = 0; i < ranges.count; i = next) {
        char *begin = ranges.items[i].begin, *end = ranges.items[i].end;
        int given = protection;
        for (next = i + 1; next < ranges.count && ranges.items[next].begin == end; next++)
            end = ranges.items[next].end;
        if (mprotect(begin, (size_t)(end - begin), protection) != 0) {
            mprotect(begin, (size_t)(end - begin), OPEN);
            given = OPEN;
        }
        for (size_t j = i; j < next; j++)
            ranges.items[j].protection = given;
    }
}

/* The application calls StarPU. */
static void open_all(void)
{
    if (!atomic_load_explicit(&are_closed, memory_order_relaxed))
        return;
    uint64_t begin = tic_nanoseconds(CLOCK_MONOTONIC);
    int error = errno;

    enter();
    if (atomic_load(&are_closed)) {
        protect_locked(OPEN);
        atomic_store(&are_closed, false);
        spent_ns += tic_nanoseconds(CLOCK_MONOTONIC) - begin;
    }
    leave();
    errno = error;
}

static void refresh_ranges(const struct tic_views *views, bool held)
{
    if (!tic_page_ranges_find(&spare, &ranges, views, held))
        return;
    enter();
    struct tic_page_ranges old = ranges;
    ranges = spare;
    spare = old;
    bool any = ranges.count > 0;
    atomic_store(&lowest, any ? (uintptr_t)ranges.items[0].begin : 0);
    atomic_store(&highest, any ? (uintptr_t)ranges.items[ranges.count - 1].end : 0);
    leave();
}

/* ---- faults --------------------------------------------------------------------------------- */

static unsigned kind_of(const ucontext_t *context)
{
#ifdef __x86_64__
    enum { WRITE_FAULT = 2 };
    return context->uc_mcontext.gregs[REG_ERR] & WRITE_FAULT ? TIC_TOUCH_WRITE : TIC_TOUCH_READ;
#else
    (void)context;
    return TIC_TOUCH_READ | TIC_TOUCH_WRITE;
#endif
}

static void *instruction_of(const ucontext_t *context)
{
#ifdef __x86_64__
    return (void *)context->uc_mcontext.gregs[REG_RIP];
#else
    (void)context;
    return NULL;
#endif
}

/* A stack of the program's own for signals may be too small to look at callers. */
static bool has_room(void)
{
    enum { ROOM = 32768 };
    stack_t stack;

    return sigaltstack(NULL, &stack) == 0 &&
           (!(stack.ss_flags & SS_ONSTACK) || stack.ss_size >= ROOM);
}

/* The instruction, then its callers. */
static void find_frames(void *instruction, struct tic_touched_place *place)
{
    enum { OWN = 6 }; /* this function, the handler, the kernel's frame */
    void *all[TIC_TOUCHED_FRAMES + OWN];
    int count = has_room() ? backtrace(all, TIC_TOUCHED_FRAMES + OWN) : 0, first = 0;

    while (first < count && all[first] != instruction)
        first++;
    if (first == count) {
        place->frames[0] = instruction;
        place->frame_count = 1;
        return;
    }
    while (first < count && place->frame_count < TIC_TOUCHED_FRAMES)
        place->frames[place->frame_count++] = all[first++];
}

/* The first one that ends after the address, or the number of them. */
static size_t find_range(const char *address)
{
    size_t low = 0, high = ranges.count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges.items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* An access, and the first data in its memory. */
struct fault {
    const char *address, *end;
    unsigned kind;
    void *instruction; /* or where the program goes on after it */
    bool goes_on;
    bool held; /* main() holds some data */
    const struct tic_handle *data;
};

static int find_data(struct tic_handle *handle, void *arg)
{
    struct fault *fault = arg;
    const char *base = handle->layout.base;

    if (tic_page_ranges_has(handle, fault->address < base ? base : fault->address) &&
        tic_page_ranges_watches(handle, fault->held))
        fault->data = handle;
    return fault->data != NULL;
}

static int note_data(struct tic_handle *handle, void *arg)
{
    const struct fault *fault = arg;

    if (tic_page_ranges_watches(handle, fault->held))
        tic_touched_note_data(handle->id, tic_shape_bytes(&handle->layout.shape), fault->kind);
    return 0;
}

/* The whole range is open now, so all data in it counts as touched. Nothing is registered or
 * unregistered meanwhile: that would open the pages first. A worker comes to closed pages only if
 * another thread submits tasks meanwhile. */
static void note(const struct tic_page_range *range, struct fault *fault)
{
    const struct tic_views *views = &tic_session->graph.views;

    if (!tic_is_owner && tic_real.starpu_worker_get_id() >= 0)
        return;
    tic_views_visit(views, fault->address, fault->end, find_data, fault);
    if (!fault->data)
        return;
    struct tic_touched_place place = {.id = fault->data->id,
                                      .bytes = tic_shape_bytes(&fault->data->layout.shape),
                                      .calls = calls,
                                      .after = after,
                                      .kinds = fault->kind,
                                      .is_main = tic_is_owner};
    find_frames(fault->instruction, &place);
    if (fault->goes_on) /* that may be another line */
        place.frames[0] = (char *)place.frames[0] - 1;
    tic_touched_note_place(&place);
    tic_views_visit(views, range->begin, range->end, note_data, fault);
}

/* True when it was closed to such an access. */
static bool open_range(struct tic_page_range *range, struct fault *fault)
{
    int wanted = fault->kind & TIC_TOUCH_WRITE ? OPEN : PROT_READ;

    if ((range->protection & wanted) == wanted ||
        mprotect(range->begin, (size_t)(range->end - range->begin), wanted) != 0)
        return false;
    range->protection = wanted;
    fault->held = atomic_load(&tic_session->holds) > 0;
    note(range, fault);
    return true;
}

/* True when the access may be tried again. */
static bool open_one(const char *address, const ucontext_t *context)
{
    size_t i = find_range(address);
    struct fault fault = {.address = address,
                          .end = address + 1,
                          .kind = kind_of(context),
                          .instruction = instruction_of(context)};

    return atomic_load(&are_closed) && i < ranges.count && ranges.items[i].begin <= address &&
           open_range(&ranges.items[i], &fault);
}

static void open_all_of(const char *begin, const char *end, bool is_written, void *caller)
{
    for (size_t i = find_range(begin); i < ranges.count && ranges.items[i].begin < end; i++) {
        struct tic_page_range *range = &ranges.items[i];
        struct fault fault = {.address = range->begin > begin ? range->begin : begin,
                              .end = range->end < end ? range->end : end,
                              .kind = is_written ? TIC_TOUCH_WRITE : TIC_TOUCH_READ,
                              .instruction = caller,
                              .goes_on = true};
        open_range(range, &fault);
    }
}

/* As tic_syscalls_hook has it. */
static void on_handed(const void *memory, size_t size, bool is_written, void *caller)
{
    uintptr_t begin = (uintptr_t)memory, end = begin + size < begin ? UINTPTR_MAX : begin + size;
    int error = errno;

    if (is_inside || !atomic_load(&are_closed) || end <= atomic_load(&lowest) ||
        begin >= atomic_load(&highest))
        return;
    uint64_t start = tic_nanoseconds(CLOCK_MONOTONIC);
    enter();
    if (atomic_load(&are_closed))
        open_all_of((const char *)begin, (const char *)end, is_written, caller);
    spent_ns += tic_nanoseconds(CLOCK_MONOTONIC) - start;
    leave();
    errno = error;
}

/* Another thread may have opened the page since the fault: a second one in the same place is not of
 * our making. */
static bool may_try_again(const void *address)
{
    static __thread const void *last __attribute__((tls_model("initial-exec")));

    if (last == address) {
        last = NULL;
        return false;
    }
    last = address;
    return true;
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
        sigaction(number, &before, NULL); /* the fault comes again, and ends the program */
        if (info->si_code <= 0)
            raise(number); /* it was sent */
    } else if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else {
        before.sa_handler(number);
    }
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    int error = errno;
    bool ours = false;

    if (info->si_code == SEGV_ACCERR && !is_inside) {
        uint64_t begin = tic_nanoseconds(CLOCK_MONOTONIC);
        enter();
        ours = open_one(info->si_addr, context);
        spent_ns += tic_nanoseconds(CLOCK_MONOTONIC) - begin;
        leave();
        ours = ours || may_try_again(info->si_addr);
    }
    if (!ours)
        pass_on(number, info, context);
    errno = error;
}

/* The program may have set its own since. */
static bool install_handler(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK},
                     current;

    if (sigaction(SIGSEGV, NULL, &current) != 0)
        return false;
    if (current.sa_flags & SA_SIGINFO && current.sa_sigaction == on_fault)
        return true;
    before = current;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, NULL) == 0;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Looking may take a second, and then a quarter of the time. Under `busy`. */
static bool may_spend_locked(uint64_t now)
{
    enum { SHARE = 4 };
    const uint64_t grace = 1000000000;

    return spent_ns <= grace + (now - started_ns) / SHARE;
}

/* A task that main() has waited for counts as submitted a moment longer. */
static bool is_quiet(bool waited)
{
    const uint64_t patience = 2000000, bound = 1000000000;
    uint64_t begin = tic_nanoseconds(CLOCK_MONOTONIC), now = begin;

    while (tic_real.starpu_task_nsubmitted() > 0) {
        if (!waited || now - begin > patience || waited_ns > bound)
            return false;
        sched_yield();
        waited_ns += tic_nanoseconds(CLOCK_MONOTONIC) - now;
        now = tic_nanoseconds(CLOCK_MONOTONIC);
    }
    return true;
}

static void hear_of_syscalls(void)
{
    _Atomic(tic_syscalls_hook) *told = dlsym(RTLD_DEFAULT, TIC_SYSCALLS_HOOK);

    if (told)
        atomic_store(told, on_handed);
}

void tic_pages_begin(void)
{
    void *frame;

    if (!tic_page_ranges_create(&ranges) || !tic_page_ranges_create(&spare))
        return;
    started_ns = tic_nanoseconds(CLOCK_MONOTONIC);
    backtrace(&frame, 1); /* loads what it needs */
    hear_of_syscalls();
    tic_lint.call = open_all;
}

static int is_watched(struct tic_handle *handle, void *held)
{
    return tic_page_ranges_watches(handle, *(bool *)held);
}

/* main() goes on, and nothing is closed. That matters if there is data to be watched; without time
 * nobody looks for it. */
static void miss(const struct tic_graph *graph, bool held, enum tic_unwatched why)
{
    if (why == TIC_UNWATCHED_TIME ||
        tic_views_visit(&graph->views, NULL, (const char *)UINTPTR_MAX, is_watched, &held))
        tic_watched_miss(graph->next_handle, why);
}

static bool close_ranges(const struct tic_graph *graph, bool held, const char *call)
{
    if (!install_handler() || !tic_touched_reserve(graph->next_handle) ||
        !tic_watched_begin(graph->next_handle))
        return false;
    refresh_ranges(&graph->views, held);
    enter();
    calls++;
    after = call;
    atomic_store(&are_closed, true);
    protect_locked(PROT_NONE);
    tic_page_ranges_judge(&ranges, &graph->views, held);
    leave();
    return true;
}

void tic_pages_close(const char *call, bool waited)
{
    if (!tic_lint.call || !tic_session || tic_guard > 0 || !tic_session_is_owner())
        return;
    const struct tic_graph *graph = &tic_session->graph;
    bool quiet = tic_session_is_watching() && is_quiet(waited);
    if ((!quiet && !waited) || atomic_load(&are_closed))
        return;
    uint64_t begin = tic_nanoseconds(CLOCK_MONOTONIC);
    bool held = atomic_load(&tic_session->holds) > 0;
    enter();
    bool may = may_spend_locked(begin);
    leave();
    if (!may || !quiet || !close_ranges(graph, held, call))
        miss(graph, held, may ? TIC_UNWATCHED_TASKS : TIC_UNWATCHED_TIME);
    enter();
    spent_ns += tic_nanoseconds(CLOCK_MONOTONIC) - begin;
    leave();
}

void tic_pages_report(json_t *report)
{
    if (!tic_lint.call)
        return;
    open_all();
    tic_touched_report(report);
    tic_watched_report(report);
}
