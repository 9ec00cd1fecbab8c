/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pointers in the arguments of tasks: memory that StarPU does not see. */
#include "unseen/pointers.h"

#include "session/accesses.h"
#include "session/context.h"
#include "session/lookup.h"
#include "session/marks.h"
#include "unseen/observe.h"
#include "session/packed.h"
#include "unseen/statics.h"
#include "session/symbol.h"
#include "session/task.h"

static bool is_trusted(void)
{
    return tic_session->settings.pointers == TIC_POINTERS_TRUST;
}

/* Data that is a token only: StarPU orders tasks by it, and it holds nothing. Of most data the
 * first field tells, which submissions touch anyway. */
static bool is_token(const struct tic_handle *handle)
{
    return handle && !handle->is_value && handle->supported && tic_handle_is_empty(handle);
}

static bool has_tokens_only(const struct tic_accesses *accesses)
{
    unsigned tokens = 0;

    while (tokens < accesses->count && is_token(accesses->items[tokens].handle))
        tokens++;
    return tokens > 0 && tokens == accesses->count;
}

const char *tic_pointers_refuse(const struct starpu_task *task, const struct tic_accesses *accesses)
{
    uint64_t argument = (uint64_t)(uintptr_t)task->callback_arg;

    if (!has_tokens_only(accesses) || is_trusted())
        return NULL;
    if (!tic_task_runs_nowhere(task) && tic_marks_of(task) != TIC_MARK_CAN_SKIP &&
        tic_packed_has_pointer(task))
        return "it declares only data without content, and its arguments hold pointers: StarPU "
               "does "
               "not see what it reads and writes. Register and declare that data, or set "
               "STARPU_TIC_POINTERS=trust if it only reads memory that the program prepares again";
    if (tic_callback_of(task) && argument != 0 && tic_symbol_is_pointer(argument))
        return "it declares only data without content, and the argument of its callback is a "
               "pointer: StarPU does not see what the callback reads and writes. Register and "
               "declare that data, or set STARPU_TIC_POINTERS=trust if the callback only uses "
               "memory that the program prepares again";
    return NULL;
}

/* ---- the note -------------------------------------------------------------------------------- */

/* Bounds for what the search costs: per codelet and wait, as its tasks are much alike, and in all.
 */
enum { CODELETS = 64, SCANS = 8, ALL_SCANS = 1000 };

static struct {
    const struct starpu_codelet *codelet;
    unsigned scans;
    uint64_t waits;
} seen[CODELETS]; /* owner thread only; by the codelet's address; a newcomer takes the entry */
static unsigned budget = ALL_SCANS; /* owner thread only: arguments that are still to be scanned */

static bool is_worth_a_scan(const struct starpu_codelet *codelet)
{
    size_t entry = ((uintptr_t)codelet >> 5) % CODELETS;

    if (seen[entry].codelet != codelet || seen[entry].waits != tic_statics_left())
        seen[entry].scans = 0;
    seen[entry].waits = tic_statics_left();
    seen[entry].codelet = codelet;
    if (seen[entry].scans == SCANS)
        return false;
    seen[entry].scans++;
    budget--;
    return true;
}

bool tic_pointers_note(const struct starpu_task *task, const struct tic_accesses *accesses)
{
    if (__builtin_expect(budget == 0 || !task->cl_arg || !task->cl, 1) || is_trusted() ||
        has_tokens_only(accesses) || !is_worth_a_scan(task->cl) || !tic_packed_has_pointer(task))
        return false;
    tic_statics_note_arguments(task);
    tic_observe_plan(task);
    return true;
}
