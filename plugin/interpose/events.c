/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nondeterministic events of main() that are logged, and replayed in a recovered run. Most are
 * noted where they happen; time() here. */
#include "interpose/events.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "interpose/answers.h"
#include "session/context.h"
#include "interpose/opening.h"
#include "interpose/record.h"

void tic_session_event(enum tic_event kind, int64_t *value)
{
    struct tic_session *session = tic_session_of_events();

    if (!session)
        return;
    tic_answers_break();
    uint64_t known = tic_tail_total(&session->graph.events); /* the owner thread adds to it */
    int status = tic_graph_event(&session->graph, kind, value);
    if (status == -EILSEQ)
        tic_stop(TIC_EXIT_DIVERGED, "the replay differs from the recorded run: its calls of time() "
                                    "and the like come in another order");
    if (status)
        tic_snapshot_break(&session->snapshot, "out of memory");
    else
        tic_record_event(known, kind, *value);
}

/* ---- time() --------------------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static time_t (*real_time)(time_t *);        /* immutable after resolve */
static bool has_starpu;                      /* immutable after resolve */
static time_t behind;                        /* immutable after resolve: STARPU_TIC_CLOCK */
static uintptr_t program_begin, program_end; /* immutable after resolve: the main program's code */

/* The first object is the program itself. */
static int note_program(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
            program_begin = begin;
            program_end = begin + segment->p_memsz;
        }
    }
    return 1;
}

static void resolve(void)
{
    void *found = dlsym(RTLD_NEXT, "time");
    __builtin_memcpy(&real_time, &found, sizeof(found));
    has_starpu = dlsym(RTLD_NEXT, "starpu_task_create") != NULL;
    const char *clock = secure_getenv("STARPU_TIC_CLOCK"); /* no session need be there */
    time_t begin = clock ? (time_t)strtoll(clock, NULL, 10) : 0;
    behind = begin > 0 ? real_time(NULL) - begin : 0;
    dl_iterate_phdr(note_program, NULL);
}

static bool is_program(const void *caller)
{
    return (uintptr_t)caller >= program_begin && (uintptr_t)caller < program_end;
}

__attribute__((visibility("default"))) time_t time(time_t *out)
{
    pthread_once(&once, resolve);
    time_t now = real_time(NULL);
    if (has_starpu && gettid() == getpid() && is_program(__builtin_return_address(0))) {
        int64_t value = now - behind;
        tic_session_event(TIC_EVENT_TIME, &value);
        now = (time_t)value;
    }
    if (out)
        *out = now;
    return now;
}
