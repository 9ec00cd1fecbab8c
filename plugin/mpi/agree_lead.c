/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The leader of an agreement. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/agree.h"

int tic_lead_init(struct tic_lead *lead, unsigned ranks, const struct tic_lead_ops *ops, void *arg)
{
    *lead = (struct tic_lead){.ops = ops, .arg = arg, .ranks = ranks};
    lead->answered = calloc(ranks, sizeof(*lead->answered));
    lead->cuts = calloc(ranks, sizeof(*lead->cuts));
    lead->parts = calloc(ranks, sizeof(*lead->parts));
    lead->incoming = calloc(ranks, sizeof(*lead->incoming));
    return lead->answered && lead->cuts && lead->parts && lead->incoming ? 0 : -ENOMEM;
}

static void forget(struct tic_lead *lead, struct tic_agree_answer *answers)
{
    for (unsigned i = 0; i < lead->ranks && answers; i++) {
        free(answers[i].bytes);
        answers[i] = (struct tic_agree_answer){NULL, 0};
    }
}

void tic_lead_fini(struct tic_lead *lead)
{
    forget(lead, lead->cuts);
    forget(lead, lead->parts);
    free(lead->cuts);
    free(lead->parts);
    free(lead->incoming);
    free(lead->answered);
}

static void tell_all(struct tic_lead *lead, enum tic_agree_kind kind)
{
    const struct tic_agree_message message = {.kind = kind, .line = lead->line};

    for (unsigned i = 0; i < lead->ranks; i++)
        lead->ops->send(lead->arg, i, &message);
}

static void enter(struct tic_lead *lead, enum tic_lead_state state, double until)
{
    lead->state = state;
    lead->until = until;
    lead->answers = 0;
    memset(lead->answered, 0, lead->ranks * sizeof(*lead->answered));
}

static void drop(struct tic_lead *lead, unsigned rank, const char *why)
{
    if (lead->state == TIC_LEAD_IDLE)
        return;
    enter(lead, TIC_LEAD_IDLE, 0);
    tell_all(lead, TIC_AGREE_DROP);
    lead->ops->note_drop(lead->arg, lead->line, rank, why);
}

bool tic_lead_begin(struct tic_lead *lead, double now)
{
    if (lead->state != TIC_LEAD_IDLE || lead->lost)
        return false;
    lead->line++;
    forget(lead, lead->cuts);
    forget(lead, lead->parts);
    enter(lead, TIC_LEAD_PREPARING, now + TIC_PREPARE_MOST);
    tell_all(lead, TIC_AGREE_BEGIN);
    return true;
}

static void let_go_on(struct tic_lead *lead)
{
    struct tic_agree_answer *incoming = lead->incoming;
    const char *why = lead->ops->judge(lead->arg, lead->cuts, incoming);

    if (!why)
        enter(lead, TIC_LEAD_SAVING, 0);
    for (unsigned i = 0; i < lead->ranks && !why; i++)
        lead->ops->send(lead->arg, i,
                        &(struct tic_agree_message){TIC_AGREE_ALL_CUT, lead->line,
                                                    incoming[i].bytes, incoming[i].size});
    forget(lead, incoming);
    if (why)
        drop(lead, 0, why);
}

static void commit(struct tic_lead *lead)
{
    if (lead->ops->commit(lead->arg, lead->line, lead->cuts, lead->parts) != 0) {
        drop(lead, 0, "the job line cannot be written");
        return;
    }
    enter(lead, TIC_LEAD_IDLE, 0);
    tell_all(lead, TIC_AGREE_COMMITTED);
}

static void go_on(struct tic_lead *lead, double now)
{
    switch (lead->state) {
    case TIC_LEAD_PREPARING:
        enter(lead, TIC_LEAD_CUTTING, now + TIC_CUT_MOST);
        tell_all(lead, TIC_AGREE_CUT);
        break;
    case TIC_LEAD_CUTTING:
        let_go_on(lead);
        break;
    case TIC_LEAD_SAVING:
        commit(lead);
        break;
    case TIC_LEAD_IDLE:
        break;
    }
}

/* False: no memory. */
static bool keep(struct tic_agree_answer *answer, const struct tic_agree_message *message)
{
    answer->bytes = malloc(message->size + 1);
    if (!answer->bytes)
        return false;
    if (message->size > 0)
        memcpy(answer->bytes, message->bytes, message->size);
    answer->size = message->size;
    return true;
}

static void fail(struct tic_lead *lead, unsigned from, const struct tic_agree_message *message)
{
    struct tic_agree_answer why;

    if (!keep(&why, message)) {
        drop(lead, from, "out of memory");
        return;
    }
    ((char *)why.bytes)[why.size] = '\0';
    drop(lead, from, why.bytes);
    free(why.bytes);
}

void tic_lead_receive(struct tic_lead *lead, unsigned from, const struct tic_agree_message *message,
                      double now)
{
    static const enum tic_agree_kind wanted[] = {[TIC_LEAD_PREPARING] = TIC_AGREE_READY,
                                                 [TIC_LEAD_CUTTING] = TIC_AGREE_CUT_DONE,
                                                 [TIC_LEAD_SAVING] = TIC_AGREE_PART};
    struct tic_agree_answer *answers = lead->state == TIC_LEAD_CUTTING ? lead->cuts : lead->parts;

    if (lead->state == TIC_LEAD_IDLE || message->line != lead->line || from >= lead->ranks)
        return; /* of a line that was dropped */
    if (message->kind == TIC_AGREE_FAILED) {
        fail(lead, from, message);
        return;
    }
    if (message->kind != wanted[lead->state] || lead->answered[from])
        return;
    if (lead->state != TIC_LEAD_PREPARING && !keep(&answers[from], message)) {
        drop(lead, from, "out of memory");
        return;
    }
    lead->answered[from] = true;
    if (++lead->answers == lead->ranks)
        go_on(lead, now);
}

void tic_lead_tick(struct tic_lead *lead, double now)
{
    unsigned rank = 0;

    if (lead->state == TIC_LEAD_IDLE || lead->until == 0 || now < lead->until)
        return;
    while (lead->answered[rank])
        rank++;
    drop(lead, rank, "it does not answer in time");
}

void tic_lead_lose(struct tic_lead *lead, unsigned rank)
{
    lead->lost = true;
    drop(lead, rank, "the connection to it is gone");
}
