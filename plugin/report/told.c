/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/told.h"

#include <gnu/libc-version.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "session/context.h"

/* ---- who asks -------------------------------------------------------------------------------- */

static struct code {
    uintptr_t begin, end;
} starpu, others[4]; /* immutable after start; others: we, the C library, the loader, our HDF5 */
static __thread bool is_first __attribute__((tls_model("initial-exec"))); /* of the process */

/* code: begins at a place of it that is known. */
static int note_code(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct code *code = arg;
    const uintptr_t known = code->begin;
    uintptr_t first = UINTPTR_MAX, end = 0;
    (void)size;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD)
            continue;
        first = begin < first ? begin : first;
        end = begin + segment->p_memsz > end ? begin + segment->p_memsz : end;
    }
    if (known < first || known >= end)
        return 0;
    *code = (struct code){first, end};
    return 1;
}

static bool has(const struct code *code, const void *place)
{
    return (uintptr_t)place >= code->begin && (uintptr_t)place < code->end;
}

/* place: in it, or NULL. */
static void note(struct code *code, const void *place)
{
    code->begin = (uintptr_t)place;
    if (place)
        dl_iterate_phdr(note_code, code);
}

__attribute__((constructor)) static void note_others(void)
{
    note(&others[0], &starpu);
    note(&others[1], (const void *)(uintptr_t)gnu_get_libc_version);
    note(&others[2], &_r_debug);
    is_first = true;
}

void tic_answers_note_store(const void *place)
{
    note(&others[3], place);
}

bool tic_answers_are_starpu(const void *caller)
{
    return has(&starpu, caller);
}

bool tic_answers_are_main(const void *caller)
{
    if (!(is_first || tic_is_owner) || tic_guard > 0 || tic_in_callback > 0)
        return false;
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (has(&others[i], caller))
            return false;
    return true;
}

bool tic_answers_are_asked(const void *caller)
{
    if (tic_guard > 0 || tic_answers_are_starpu(caller))
        return false;
    if (!tic_session)
        return gettid() == getpid();
    return tic_session_is_watching() && tic_session_is_owner();
}

/* ---- numbers of workers ---------------------------------------------------------------------- */

struct tic_workers tic_workers;

const char *tic_told_plural(unsigned count)
{
    return count == 1 ? "" : "s";
}

/* What a message says of the numbers of workers then and now, or "". */
static const char *workers_differ(char *text, size_t size)
{
    uint64_t then = tic_session ? tic_session->graph.recovered.workers : 0;
    unsigned count = tic_workers.count;
    unsigned told = atomic_load_explicit(&tic_workers.told, memory_order_relaxed);

    text[0] = '\0';
    if (then == 0 || count == 0 || then == count)
        return text;
    int used = snprintf(text, size, ". It had %llu worker%s then, and has %u now",
                        (unsigned long long)then, tic_told_plural((unsigned)then), count);
    if (told == tic_workers.recorded && told > 0 && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, "; main() was told of %u both times", told);
    return text;
}

/* ---- differences ----------------------------------------------------------------------------- */

static struct {
    const char *call;
    char how[64];
} differences[TIC_ANSWER_CALLS];
static unsigned difference_count; /* owner thread only, but for a message that ends the process */

void tic_answers_differ(const char *call, const char *how)
{
    for (unsigned i = 0; i < difference_count; i++)
        if (strcmp(differences[i].call, call) == 0)
            return;
    if (difference_count == TIC_ANSWER_CALLS)
        return;
    differences[difference_count].call = call;
    snprintf(differences[difference_count].how, sizeof(differences[0].how), "%s", how);
    difference_count++;
}

/* The end of a message that the replay differs: what main() was told otherwise. */
static const char *explain(void)
{
    static char text[1024];
    char workers[256];
    size_t used =
        (size_t)snprintf(text, sizeof(text), "%s", workers_differ(workers, sizeof(workers)));

    for (unsigned i = 0; i < difference_count && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s (%s)",
                                 i > 0 ? ", " : ". Answers to main() that differ: ",
                                 differences[i].call, differences[i].how);
    return text;
}

void tic_answers_start(void)
{
    note(&starpu, (const void *)(uintptr_t)tic_real.starpu_worker_get_count);
    tic_stop_explain(explain);
}

bool tic_successors_were_asked(const struct tic_graph *graph)
{
    for (size_t i = 0; i < graph->recovered.event_count; i++) {
        uint32_t kind = graph->recovered.events[i].kind;
        if (kind == TIC_EVENT_ANSWER + (uint32_t)TIC_starpu_task_get_task_succs ||
            kind == TIC_EVENT_ANSWER + (uint32_t)TIC_starpu_task_get_task_scheduled_succs)
            return true;
    }
    return false;
}
