/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A member of an agreement. */
#include <string.h>

#include "mpi/agree.h"

void tic_member_init(struct tic_member *member, const struct tic_member_ops *ops, void *arg)
{
    *member = (struct tic_member){.ops = ops, .arg = arg};
}

static void answer(struct tic_member *member, enum tic_agree_kind kind, const void *bytes,
                   size_t size)
{
    const struct tic_agree_message message = {kind, member->line, bytes, size};

    member->ops->send(member->arg, &message);
}

static void enter(struct tic_member *member, enum tic_member_state state, double until)
{
    member->state = state;
    member->until = until;
}

/* Nothing is held any more. */
static void drop(struct tic_member *member)
{
    bool held = member->state == TIC_MEMBER_HELD;

    enter(member, TIC_MEMBER_DROPPED, 0);
    if (held)
        member->ops->open(member->arg, NULL);
}

static bool is_open(const struct tic_member *member)
{
    return member->state > TIC_MEMBER_IDLE && member->state < TIC_MEMBER_PARTED;
}

static void refuse(struct tic_member *member, uint64_t line)
{
    static const char why[] = "it is not done with the line before";
    const struct tic_agree_message message = {TIC_AGREE_FAILED, line, why, strlen(why)};

    member->ops->send(member->arg, &message);
}

static void begin(struct tic_member *member, uint64_t line)
{
    if (member->state != TIC_MEMBER_IDLE) {
        refuse(member, line);
        return;
    }
    member->line = line;
    enter(member, TIC_MEMBER_PREPARING, 0);
    member->ops->prepare(member->arg, line);
}

void tic_member_receive(struct tic_member *member, const struct tic_agree_message *message,
                        double now)
{
    if (message->kind == TIC_AGREE_BEGIN) {
        begin(member, message->line);
        return;
    }
    if (message->line != member->line)
        return;
    if (message->kind == TIC_AGREE_CUT && member->state == TIC_MEMBER_READY) {
        enter(member, TIC_MEMBER_CUTTING, now + TIC_HOLD_MOST);
    } else if (message->kind == TIC_AGREE_ALL_CUT && member->state == TIC_MEMBER_HELD) {
        enter(member, TIC_MEMBER_SAVING, 0);
        member->ops->open(member->arg, message);
    } else if (message->kind == TIC_AGREE_COMMITTED && member->state == TIC_MEMBER_PARTED) {
        enter(member, TIC_MEMBER_COMMITTED, 0);
    } else if (message->kind == TIC_AGREE_DROP &&
               (is_open(member) || member->state == TIC_MEMBER_PARTED)) {
        drop(member);
    }
}

void tic_member_tick(struct tic_member *member, double now)
{
    if (is_open(member) && member->until > 0 && now >= member->until)
        tic_member_fail(member, "no answer of rank 0 in time");
}

void tic_member_lose(struct tic_member *member)
{
    member->lost = true;
    if (is_open(member))
        drop(member);
    else if (member->state == TIC_MEMBER_PARTED)
        enter(member, TIC_MEMBER_UNKNOWN, 0);
}

void tic_member_ready(struct tic_member *member, double now)
{
    if (member->state != TIC_MEMBER_PREPARING)
        return;
    enter(member, TIC_MEMBER_READY, now + TIC_READY_MOST);
    answer(member, TIC_AGREE_READY, NULL, 0);
}

void tic_member_cut(struct tic_member *member, const void *counts, size_t size, double now)
{
    if (member->state != TIC_MEMBER_CUTTING) {
        member->ops->open(member->arg, NULL); /* it was dropped meanwhile */
        return;
    }
    enter(member, TIC_MEMBER_HELD, now + TIC_HOLD_MOST);
    answer(member, TIC_AGREE_CUT_DONE, counts, size);
}

void tic_member_part(struct tic_member *member, const void *part, size_t size)
{
    if (member->state != TIC_MEMBER_SAVING)
        return;
    enter(member, TIC_MEMBER_PARTED, 0);
    answer(member, TIC_AGREE_PART, part, size);
}

void tic_member_fail(struct tic_member *member, const char *why)
{
    if (!is_open(member))
        return;
    drop(member);
    answer(member, TIC_AGREE_FAILED, why, strlen(why));
}

void tic_member_end(struct tic_member *member)
{
    tic_member_fail(member, "there is no part of it");
    enter(member, TIC_MEMBER_IDLE, 0);
}
