/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Channels of this rank: numbers, counts, and the hold of sends. */
#include "mpi/channels.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/grow.h"
#include "mpi/core.h"

enum { BUCKETS = 1024 };

struct tic_channel {
    struct tic_channel *next;
    bool sends;
    int peer;
    int64_t tag;
    uint64_t asked, count; /* by main(); begun or ended */
    uint64_t cut;          /* count at the last cut */
    uint64_t expected;     /* receives: sent before the cuts */
    uint64_t before;       /* a restart: count at the recovered cut */
    uint64_t sent;         /* the same: of receives, what had been sent */
};

/* All guarded by mutex. */
static struct {
    pthread_mutex_t mutex;
    struct tic_channel *channels[BUCKETS];
    struct tic_message *receives[BUCKETS];
    unsigned long channel_count;
    bool disorder, holds;
    struct tic_message *held, **last_held;
    uint64_t beginning; /* sends that StarPU-MPI is about to have */
    pthread_cond_t begun;
    bool cuts; /* since the cut, until a rank knows what is late: all that comes is */
    uint64_t late, unsettled; /* to come; come, and not kept yet */
    struct tic_late *kept;
    unsigned long kept_count, kept_capacity;
    double held_since;
    struct tic_hold_statistics statistics;
} all = {
    .mutex = PTHREAD_MUTEX_INITIALIZER, .last_held = &all.held, .begun = PTHREAD_COND_INITIALIZER};

static struct tic_channel *find_locked(bool sends, int peer, int64_t tag)
{
    const uint64_t key =
        ((uint64_t)tag * 2 + sends) * UINT64_C(0x9e3779b97f4a7c15) + (unsigned)peer;
    struct tic_channel **first = &all.channels[key % BUCKETS], *channel = *first;

    while (channel && (channel->sends != sends || channel->peer != peer || channel->tag != tag))
        channel = channel->next;
    if (channel)
        return channel;
    channel = calloc(1, sizeof(*channel));
    if (channel) {
        *channel = (struct tic_channel){.next = *first, .sends = sends, .peer = peer, .tag = tag};
        *first = channel;
        all.channel_count++;
    }
    return channel;
}

struct tic_message *tic_channels_add(bool sends, int peer, int64_t tag, void *data)
{
    struct tic_message *message = malloc(sizeof(*message));

    if (!message)
        return NULL;
    pthread_mutex_lock(&all.mutex);
    struct tic_channel *channel = find_locked(sends, peer, tag);
    if (channel)
        *message = (struct tic_message){
            .channel = channel, .sends = sends, .number = ++channel->asked, .data = data};
    pthread_mutex_unlock(&all.mutex);
    if (!channel)
        free(message);
    return channel ? message : NULL;
}

static void count_locked(const struct tic_message *message)
{
    struct tic_channel *channel = message->channel;

    channel->count++;
    all.disorder |= message->number != channel->count;
    if (!channel->sends && channel->count <= channel->expected)
        all.late--;
}

static bool is_late_locked(const struct tic_message *receive)
{
    return all.cuts || receive->number <= receive->channel->expected;
}

/* A cut that does not count it comes before this, so its line does not have the use. */
static void begin_send(struct tic_message *send)
{
    tic_mpi_core->messages.note_begun(send->data);
    send->callback(send->argument);
    free(send);
    pthread_mutex_lock(&all.mutex);
    if (--all.beginning == 0)
        pthread_cond_broadcast(&all.begun);
    pthread_mutex_unlock(&all.mutex);
}

void tic_channels_send(struct tic_message *send)
{
    pthread_mutex_lock(&all.mutex);
    bool holds = all.holds;
    if (holds) {
        *all.last_held = send;
        all.last_held = &send->next;
        all.statistics.held++;
    } else {
        count_locked(send);
        all.beginning++;
    }
    pthread_mutex_unlock(&all.mutex);
    if (!holds)
        begin_send(send);
}

void tic_channels_await(void)
{
    pthread_mutex_lock(&all.mutex);
    while (all.held || all.beginning > 0)
        pthread_cond_wait(&all.begun, &all.mutex);
    pthread_mutex_unlock(&all.mutex);
}

static struct tic_message **bucket_of(const void *data)
{
    return &all.receives[((uintptr_t)data >> 6) % BUCKETS];
}

void tic_channels_begin_receive(struct tic_message *receive)
{
    pthread_mutex_lock(&all.mutex);
    receive->next = *bucket_of(receive->data);
    *bucket_of(receive->data) = receive;
    pthread_mutex_unlock(&all.mutex);
}

struct tic_message *tic_channels_find_receive(const void *data)
{
    pthread_mutex_lock(&all.mutex);
    struct tic_message *receive = *bucket_of(data);
    while (receive && receive->data != data)
        receive = receive->next;
    pthread_mutex_unlock(&all.mutex);
    return receive;
}

void tic_channels_end_receive(void *receive)
{
    struct tic_message *message = receive, **at = bucket_of(message->data);

    pthread_mutex_lock(&all.mutex);
    while (*at != message)
        at = &(*at)->next;
    *at = message->next;
    message->late = is_late_locked(message);
    all.unsettled += message->late;
    count_locked(message);
    pthread_mutex_unlock(&all.mutex);
}

bool tic_channels_is_late(const struct tic_message *receive)
{
    return receive->late;
}

void tic_channels_settle_receive(struct tic_message *receive, void *bytes, size_t size)
{
    const struct tic_late late = {receive->channel->peer, receive->channel->tag, receive->number,
                                  bytes, size};

    pthread_mutex_lock(&all.mutex);
    if (receive->late && bytes &&
        tic_append(all.kept, all.kept_count, all.kept_capacity, &late) == 0)
        all.unsettled--; /* else the line is never complete */
    else
        free(bytes);
    pthread_mutex_unlock(&all.mutex);
    free(receive);
}

static void forget_late_locked(void)
{
    for (unsigned long i = 0; i < all.kept_count; i++)
        free(all.kept[i].bytes);
    all.kept_count = 0;
}

struct tic_late *tic_channels_take_late(unsigned long *count)
{
    pthread_mutex_lock(&all.mutex);
    struct tic_late *kept = all.kept;
    *count = all.kept_count;
    all.kept = NULL;
    all.kept_count = all.kept_capacity = 0;
    pthread_mutex_unlock(&all.mutex);
    return kept;
}

/* ---- cuts ------------------------------------------------------------------------------------ */

static struct tic_channel_count *copy_locked(unsigned long *count)
{
    struct tic_channel_count *counts = malloc((all.channel_count + 1) * sizeof(*counts));

    *count = 0;
    for (unsigned i = 0; counts && i < BUCKETS; i++)
        for (const struct tic_channel *each = all.channels[i]; each; each = each->next)
            if (each->count > 0)
                counts[(*count)++] =
                    (struct tic_channel_count){each->sends, each->peer, each->tag, each->count};
    return counts;
}

struct tic_channel_count *tic_channels_hold(unsigned long *count, bool *disorder)
{
    pthread_mutex_lock(&all.mutex);
    if (!all.holds) {
        all.statistics.holds++;
        all.held_since = tic_mpi_seconds();
    }
    all.holds = all.cuts = true;
    all.late = all.unsettled = 0;
    forget_late_locked();
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct tic_channel *each = all.channels[i]; each; each = each->next) {
            each->expected = 0; /* of a line that was dropped */
            each->cut = each->count;
        }
    struct tic_channel_count *counts = copy_locked(count);
    *disorder = all.disorder;
    pthread_mutex_unlock(&all.mutex);
    return counts;
}

bool tic_channels_was_counted(bool sends, int peer, int64_t tag, uint64_t number)
{
    pthread_mutex_lock(&all.mutex);
    const struct tic_channel *channel = find_locked(sends, peer, tag);
    bool counted = channel && number <= channel->cut;
    pthread_mutex_unlock(&all.mutex);
    return counted;
}

static void note_open_locked(void)
{
    double took = tic_mpi_seconds() - all.held_since;

    all.holds = false;
    all.statistics.seconds += took;
    if (took > all.statistics.longest)
        all.statistics.longest = took;
}

/* The next one that is held; NULL: there is none, and sends begin as they come. */
static struct tic_message *take_held(void)
{
    pthread_mutex_lock(&all.mutex);
    struct tic_message *send = all.held;
    if (send) {
        all.held = send->next;
        all.last_held = all.held ? all.last_held : &all.held;
        count_locked(send);
        all.beginning++;
    } else if (all.holds) {
        note_open_locked();
    }
    pthread_mutex_unlock(&all.mutex);
    return send;
}

double tic_channels_open(void)
{
    struct tic_message *send;

    pthread_mutex_lock(&all.mutex);
    double since = all.held_since;
    pthread_mutex_unlock(&all.mutex);
    while ((send = take_held()))
        begin_send(send);
    return since;
}

bool tic_channels_expect(const struct tic_channel_count *incoming, unsigned long count)
{
    bool fine = true;

    pthread_mutex_lock(&all.mutex);
    all.cuts = false;
    for (unsigned long i = 0; i < count; i++) {
        struct tic_channel *channel = find_locked(false, incoming[i].peer, incoming[i].tag);
        fine &= channel != NULL;
        if (!channel)
            continue;
        channel->expected = incoming[i].count;
        all.late += channel->expected > channel->count ? channel->expected - channel->count : 0;
    }
    pthread_mutex_unlock(&all.mutex);
    return fine;
}

uint64_t tic_channels_late(void)
{
    pthread_mutex_lock(&all.mutex);
    uint64_t late = all.late + all.unsettled;
    pthread_mutex_unlock(&all.mutex);
    return late;
}

int tic_channels_find_unasked(void)
{
    int peer = -1;

    pthread_mutex_lock(&all.mutex);
    for (unsigned i = 0; i < BUCKETS; i++)
        for (const struct tic_channel *channel = all.channels[i]; channel; channel = channel->next)
            if (!channel->sends && channel->expected > channel->asked)
                peer = channel->peer;
    pthread_mutex_unlock(&all.mutex);
    return peer;
}

/* ---- a restart ------------------------------------------------------------------------------- */

bool tic_channels_recover(const struct tic_channel_count *counts, unsigned long count,
                          const struct tic_channel_count *incoming, unsigned long incoming_count)
{
    struct tic_channel *channel;
    bool fine = true;

    pthread_mutex_lock(&all.mutex);
    for (unsigned long i = 0; i < count; i++) {
        channel = find_locked(counts[i].sends, counts[i].peer, counts[i].tag);
        fine &= channel != NULL;
        if (channel)
            channel->count = channel->before = counts[i].count;
    }
    for (unsigned long i = 0; i < incoming_count; i++) {
        channel = find_locked(false, incoming[i].peer, incoming[i].tag);
        fine &= channel != NULL;
        if (channel)
            channel->sent = incoming[i].count;
    }
    pthread_mutex_unlock(&all.mutex);
    return fine;
}

enum tic_message_fate tic_channels_fate(const struct tic_message *message)
{
    const struct tic_channel *channel = message->channel; /* what is asked does not change */

    return message->number <= channel->before ? TIC_MESSAGE_DONE
           : message->number <= channel->sent ? TIC_MESSAGE_LATE
                                              : TIC_MESSAGE_LIVE;
}

struct tic_hold_statistics tic_channels_statistics(void)
{
    pthread_mutex_lock(&all.mutex);
    struct tic_hold_statistics statistics = all.statistics;
    pthread_mutex_unlock(&all.mutex);
    return statistics;
}

/* ---- the leader ------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    const struct tic_channel_count *one = a, *other = b;

    if (one->sends != other->sends)
        return one->sends < other->sends ? -1 : 1;
    if (one->peer != other->peer)
        return one->peer < other->peer ? -1 : 1;
    return one->tag < other->tag ? -1 : one->tag > other->tag;
}

void tic_channels_sort(struct tic_channel_count *items, unsigned long count)
{
    qsort(items, count, sizeof(*items), compare);
}

static uint64_t count_of(const struct tic_channel_counts *of, bool sends, unsigned peer,
                         int64_t tag)
{
    const struct tic_channel_count wanted = {sends, (int32_t)peer, tag, 0};
    const struct tic_channel_count *found =
        bsearch(&wanted, of->items, of->count, sizeof(wanted), compare);

    return found ? found->count : 0;
}

/* What one side of the channels has beyond the other. */
static uint64_t count_beyond(const struct tic_channel_counts *ranks, unsigned count, bool sends)
{
    uint64_t beyond = 0;

    for (unsigned r = 0; r < count; r++)
        for (unsigned long i = 0; i < ranks[r].count; i++) {
            const struct tic_channel_count *item = &ranks[r].items[i];
            bool known = item->peer >= 0 && (unsigned)item->peer < count;
            uint64_t other = known ? count_of(&ranks[item->peer], !sends, r, item->tag) : 0;
            if (item->sends == sends && item->count > other)
                beyond += item->count - other;
        }
    return beyond;
}

uint64_t tic_channels_orphans(const struct tic_channel_counts *ranks, unsigned count)
{
    return count_beyond(ranks, count, false);
}

uint64_t tic_channels_in_transit(const struct tic_channel_counts *ranks, unsigned count)
{
    return count_beyond(ranks, count, true);
}

struct tic_channel_count *tic_channels_incoming(const struct tic_channel_counts *ranks,
                                                unsigned count, unsigned to, unsigned long *found)
{
    unsigned long most = 1;

    for (unsigned r = 0; r < count; r++)
        most += ranks[r].count;
    struct tic_channel_count *incoming = malloc(most * sizeof(*incoming));
    *found = 0;
    for (unsigned r = 0; incoming && r < count; r++)
        for (unsigned long i = 0; i < ranks[r].count; i++) {
            const struct tic_channel_count *item = &ranks[r].items[i];
            if (item->sends && (unsigned)item->peer == to)
                incoming[(*found)++] =
                    (struct tic_channel_count){false, (int32_t)r, item->tag, item->count};
        }
    return incoming;
}
