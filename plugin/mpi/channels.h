/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages of this rank by channel, that is (source, destination, tag) in the communicator of all:
 * the k-th send of a channel is received by its k-th receive. While sends are held none begins, so
 * what others receive before they have cut was sent before this rank has.
 *
 * Any thread; a mutex, a leaf: callbacks of StarPU-MPI are called without it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tic_channel;

/* A message of main(): what StarPU-MPI is to go on with when its data is granted. */
struct tic_message {
    struct tic_channel *channel;
    bool sends;
    uint64_t number; /* from 1 on, in the order of main() */
    void *data;
    void (*callback)(void *);
    void *argument;
    bool late;                /* received after the cut, and sent before those of others */
    struct tic_message *next; /* of those that are held, or are being received */
};

/* What a restart does with a message. */
enum tic_message_fate {
    TIC_MESSAGE_LIVE, /* it is made */
    TIC_MESSAGE_DONE, /* it had begun, or had been received, by the cut */
    TIC_MESSAGE_LATE, /* it had been sent and not received: its bytes are in the line */
};

/* main() asks for the next message of a channel. NULL: no memory. */
struct tic_message *tic_channels_add(bool sends, int peer, int64_t tag, void *data);

/* The data of a send is granted: StarPU-MPI begins it, or is held. */
void tic_channels_send(struct tic_message *send);
/* Until StarPU-MPI has all sends whose data was granted. */
void tic_channels_await(void);
/* The same of a receive: until tic_channels_end_receive its data is found by: */
void tic_channels_begin_receive(struct tic_message *receive);
/* NULL: no message is being received into it. */
struct tic_message *tic_channels_find_receive(const void *data);
/* It has ended. */
void tic_channels_end_receive(void *receive);
/* After that: is it late, and its bytes are to be kept? Then it is kept with these. It is freed. */
bool tic_channels_is_late(const struct tic_message *receive);
void tic_channels_settle_receive(struct tic_message *receive, void *bytes, size_t size);

/* ---- cuts ------------------------------------------------------------------------------------ */

/* What a rank tells of a channel, as bytes: sends begun, or receives ended. */
struct tic_channel_count {
    int32_t sends, peer;
    int64_t tag;
    uint64_t count;
};

/* No send begins from now on. All counts, malloc'ed; NULL: no memory. *disorder: messages of a
 * channel began, or ended, in another order than main() asked for them; counts say nothing then. */
struct tic_channel_count *tic_channels_hold(unsigned long *count, bool *disorder);
/* Had its send begun, or the receive ended, by the last cut? */
bool tic_channels_was_counted(bool sends, int peer, int64_t tag, uint64_t number);
/* Sends begin again, the held ones first. Since when they were held, by tic_mpi_seconds. */
double tic_channels_open(void);
/* What was sent to this rank before the cuts: what of it has not been received is late. */
bool tic_channels_expect(const struct tic_channel_count *incoming, unsigned long count);
/* Messages that are late and have not been received yet. */
uint64_t tic_channels_late(void);
/* The rank that has sent such a message for which main() has not asked yet; -1: there is none. */
int tic_channels_find_unasked(void);

/* Late messages of the line, malloc'ed. */
struct tic_late {
    int peer;
    int64_t tag;
    uint64_t number;
    void *bytes;
    size_t size;
};
/* Those that are kept; the caller's. */
struct tic_late *tic_channels_take_late(unsigned long *count);

/* ---- a restart: before main() asks for any --------------------------------------------------- */

/* Counts at the recovered cut, and what had been sent to this rank. False: no memory. */
bool tic_channels_recover(const struct tic_channel_count *counts, unsigned long count,
                          const struct tic_channel_count *incoming, unsigned long incoming_count);
enum tic_message_fate tic_channels_fate(const struct tic_message *message);

struct tic_hold_statistics {
    uint64_t holds, held; /* sends */
    double seconds, longest;
};
struct tic_hold_statistics tic_channels_statistics(void);

/* ---- the leader: no threads ------------------------------------------------------------------ */

struct tic_channel_counts {
    const struct tic_channel_count *items; /* sorted by tic_channels_sort */
    unsigned long count;
};

void tic_channels_sort(struct tic_channel_count *items, unsigned long count);
/* Messages that a rank has received before its cut, and that were not sent before the sender's. */
uint64_t tic_channels_orphans(const struct tic_channel_counts *ranks, unsigned count);
/* Those that were sent before and not received. */
uint64_t tic_channels_in_transit(const struct tic_channel_counts *ranks, unsigned count);
/* What was sent to this rank, malloc'ed, with the sender as peer; NULL: no memory. */
struct tic_channel_count *tic_channels_incoming(const struct tic_channel_counts *ranks,
                                                unsigned count, unsigned to, unsigned long *found);
