/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How all ranks of a job come to one line: two state machines without threads, clocks and sockets.
 * The leader (rank 0) asks for a line and decides what becomes of it; each rank, rank 0 too, has a
 * member. The caller synchronises, carries messages in the order of each pair, and tells the time.
 *
 *   leader: BEGIN          member: READY      what may wait on this rank is done; or FAILED
 *           CUT                    CUT_DONE   it has cut, sends are held, counts of its channels
 *           ALL_CUT                PART       sends go on; its part of the line is on the disk
 *           COMMITTED              -          the line counts, older ones may go
 *           DROP, at any time: the line is none
 *
 * A member answers CUT at once: one that waited could wait for a send that another rank holds. It
 * holds sends from its cut until ALL_CUT or DROP, and no longer than TIC_HOLD_MOST: then it drops
 * the line itself, and as it never sends PART, no line comes of it. After PART only the leader
 * decides. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Seconds. Nothing is held while ranks prepare. */
#define TIC_PREPARE_MOST 10.0
#define TIC_CUT_MOST 2.0
#define TIC_HOLD_MOST 5.0
#define TIC_READY_MOST 30.0 /* a member, for CUT */

enum tic_agree_kind {
    TIC_AGREE_BEGIN,
    TIC_AGREE_READY,
    TIC_AGREE_CUT,
    TIC_AGREE_CUT_DONE,
    TIC_AGREE_ALL_CUT,
    TIC_AGREE_PART,
    TIC_AGREE_COMMITTED,
    TIC_AGREE_DROP,
    TIC_AGREE_FAILED,
    TIC_AGREE_WANTED, /* to rank 0, of no line: somebody waits for one */
};

struct tic_agree_message {
    enum tic_agree_kind kind;
    uint64_t line;
    const void *bytes; /* FAILED: why, a text without its end */
    size_t size;
};

/* Bytes that one rank has sent, or is to be sent; malloc'ed. */
struct tic_agree_answer {
    void *bytes;
    size_t size;
};

/* ---- the leader ------------------------------------------------------------------------------ */

struct tic_lead_ops {
    void (*send)(void *arg, unsigned to, const struct tic_agree_message *message);
    /* Of all CUT_DONE makes what each rank gets with ALL_CUT. Why there is to be no line, or NULL.
     */
    const char *(*judge)(void *arg, const struct tic_agree_answer *cuts,
                         struct tic_agree_answer *incoming);
    /* All parts are there: 0 when the line is on the disk. */
    int (*commit)(void *arg, uint64_t line, const struct tic_agree_answer *cuts,
                  const struct tic_agree_answer *parts);
    void (*note_drop)(void *arg, uint64_t line, unsigned rank, const char *why);
};

enum tic_lead_state {
    TIC_LEAD_IDLE,
    TIC_LEAD_PREPARING, /* waits for READY */
    TIC_LEAD_CUTTING,   /* for CUT_DONE */
    TIC_LEAD_SAVING,    /* for PART */
};

struct tic_lead {
    const struct tic_lead_ops *ops;
    void *arg;
    unsigned ranks, answers;
    enum tic_lead_state state;
    uint64_t line; /* the last one begun */
    double until;  /* 0: any time */
    bool lost;     /* a rank does not answer any more: there will be no line */
    bool *answered;
    struct tic_agree_answer *cuts, *parts, *incoming;
};

/* 0 or -ENOMEM. */
int tic_lead_init(struct tic_lead *lead, unsigned ranks, const struct tic_lead_ops *ops, void *arg);
void tic_lead_fini(struct tic_lead *lead);
/* A line is wanted; false: not now. */
bool tic_lead_begin(struct tic_lead *lead, double now);
void tic_lead_receive(struct tic_lead *lead, unsigned from, const struct tic_agree_message *message,
                      double now);
void tic_lead_tick(struct tic_lead *lead, double now);
/* The connection to this rank is gone. */
void tic_lead_lose(struct tic_lead *lead, unsigned rank);

/* ---- a member -------------------------------------------------------------------------------- */

struct tic_member_ops {
    void (*send)(void *arg, const struct tic_agree_message *message); /* to the leader */
    void (*prepare)(void *arg, uint64_t line); /* somebody is to call tic_member_ready */
    /* The hold ends. With ALL_CUT what it brought, else NULL. */
    void (*open)(void *arg, const struct tic_agree_message *all_cut);
};

enum tic_member_state {
    TIC_MEMBER_IDLE,
    TIC_MEMBER_PREPARING, /* until tic_member_ready */
    TIC_MEMBER_READY,     /* for CUT */
    TIC_MEMBER_CUTTING,   /* until tic_member_cut */
    TIC_MEMBER_HELD,      /* for ALL_CUT */
    TIC_MEMBER_SAVING,    /* until tic_member_part */
    TIC_MEMBER_PARTED,    /* for COMMITTED */
    TIC_MEMBER_COMMITTED, /* these three until tic_member_end */
    TIC_MEMBER_DROPPED,
    TIC_MEMBER_UNKNOWN, /* the leader is gone, and may have committed the line */
};

struct tic_member {
    const struct tic_member_ops *ops;
    void *arg;
    enum tic_member_state state;
    uint64_t line;
    double until; /* 0: any time */
    bool lost;    /* the leader does not answer any more */
};

void tic_member_init(struct tic_member *member, const struct tic_member_ops *ops, void *arg);
void tic_member_receive(struct tic_member *member, const struct tic_agree_message *message,
                        double now);
void tic_member_tick(struct tic_member *member, double now);
void tic_member_lose(struct tic_member *member);
/* Of whoever takes the line on this rank, in this order; all but the last may find the line dropped
 * meanwhile, and do nothing then. */
void tic_member_ready(struct tic_member *member, double now);
void tic_member_cut(struct tic_member *member, const void *counts, size_t size, double now);
void tic_member_part(struct tic_member *member, const void *part, size_t size);
/* There will be no part. Not after tic_member_part. */
void tic_member_fail(struct tic_member *member, const char *why);
/* This rank is done with the line, whatever came of it. */
void tic_member_end(struct tic_member *member);
