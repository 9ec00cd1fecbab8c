/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of registered data that is pinned while it is registered. */
#include "interpose/pins.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "interpose/shape.h"
#include "real/real.h"
#include "unseen/heap.h"

enum { MOST_PINS = 1024 };

struct range {
    const char *begin, *end;
};

struct pin {
    struct range range;
    unsigned data; /* that is registered there */
    bool later;    /* some of it may be used by tasks still */
};

static struct {
    pthread_mutex_t mutex; /* a leaf, under which nothing is allocated; guards: */
    struct pin items[MOST_PINS];
    _Atomic unsigned count; /* relaxed: whoever gives memory back knows what lies there */
    uint64_t bytes;         /* of all */
    uint64_t most, least;   /* of all, of data; immutable while StarPU runs */
} pins = {.mutex = PTHREAD_MUTEX_INITIALIZER};

bool tic_pins_are_any(void)
{
    return atomic_load_explicit(&pins.count, memory_order_relaxed) > 0;
}

/* ---- calls of StarPU ------------------------------------------------------------------------- */

struct call {
    int (*make)(void *at, size_t bytes);
    const struct range *range;
    int status;
};

static void *make(void *arg)
{
    struct call *call = arg;
    const struct range *range = call->range;

    call->status = call->make((void *)range->begin, (size_t)(range->end - range->begin));
    return NULL;
}

/* On a thread of its own: a driver keeps the last error of each thread for the program. */
static bool call_starpu(int (*function)(void *at, size_t bytes), const struct range *range)
{
    struct call call = {function, range, -1};
    pthread_t thread;

    if (tic_thread_start_beside(&thread, make, &call) == 0)
        pthread_join(thread, NULL);
    return call.status == 0;
}

/* ---- which ----------------------------------------------------------------------------------- */

typedef bool is_meant(const struct pin *pin, const struct range *range);

static bool overlaps(const struct pin *pin, const struct range *range)
{
    return range->begin < pin->range.end && range->end > pin->range.begin;
}

static bool is_inside(const struct pin *pin, const struct range *range)
{
    return range->begin <= pin->range.begin && range->end >= pin->range.end;
}

static bool has(const struct pin *pin, const struct range *range)
{
    return range->begin >= pin->range.begin && range->end <= pin->range.end;
}

static bool is_empty(const struct pin *pin, const struct range *range)
{
    (void)range;
    return pin->data == 0 && !pin->later;
}

static bool has_no_data(const struct pin *pin, const struct range *range)
{
    (void)range;
    return pin->data == 0;
}

static bool is_any(const struct pin *pin, const struct range *range)
{
    (void)pin;
    (void)range;
    return true;
}

static struct pin *find_locked(is_meant *meant, const struct range *range)
{
    unsigned i = 0;

    while (i < pins.count && !meant(&pins.items[i], range))
        i++;
    return i < pins.count ? &pins.items[i] : NULL;
}

/* One that is meant is no longer there. */
static bool take(is_meant *meant, const struct range *range, struct pin *taken)
{
    pthread_mutex_lock(&pins.mutex);
    struct pin *pin = find_locked(meant, range);
    if (pin) {
        *taken = *pin;
        *pin = pins.items[--pins.count];
        pins.bytes -= (uint64_t)(taken->range.end - taken->range.begin);
    }
    pthread_mutex_unlock(&pins.mutex);
    return pin != NULL;
}

/* The data that was there. */
static unsigned release_all(is_meant *meant, const struct range *range)
{
    struct pin pin;
    unsigned data = 0;

    while (take(meant, range, &pin)) {
        call_starpu(tic_real.starpu_memory_unpin, &pin.range);
        data += pin.data;
    }
    return data;
}

/* ---- registration ---------------------------------------------------------------------------- */

/* Pages that nobody has touched become memory. The drivers do not count what is pinned for
 * RLIMIT_MEMLOCK; where one does it refuses. */
static bool has_room(const struct range *range)
{
    uint64_t bytes = (uint64_t)(range->end - range->begin);

    pthread_mutex_lock(&pins.mutex);
    bool room = pins.count < MOST_PINS && bytes <= pins.most && pins.bytes <= pins.most - bytes;
    pthread_mutex_unlock(&pins.mutex);
    return room && bytes <= tic_memory_left() / 2;
}

static bool join(const struct range *range)
{
    pthread_mutex_lock(&pins.mutex);
    struct pin *pin = find_locked(has, range);
    if (pin) {
        pin->data++;
        pin->later = false;
    }
    pthread_mutex_unlock(&pins.mutex);
    return pin != NULL;
}

static void add(const struct range *range, unsigned data)
{
    pthread_mutex_lock(&pins.mutex);
    if (pins.count < MOST_PINS) {
        pins.items[pins.count++] = (struct pin){.range = *range, .data = data};
        pins.bytes += (uint64_t)(range->end - range->begin);
    }
    pthread_mutex_unlock(&pins.mutex);
}

static void tell_refused(void)
{
    static _Atomic bool told;

    if (!atomic_exchange(&told, true))
        tic_log(TIC_LOG_DETAIL,
                "memory of data is not pinned: StarPU refuses, as where the program "
                "has pinned it");
}

/* The block of malloc() that the data lies in; else its own memory, if it has no gaps. */
static bool choose(const struct tic_layout *layout, const struct range *own, struct range *range)
{
    size_t bytes;
    const char *block = tic_heap_around(own->begin, &bytes);

    *range = (struct range){block, block + bytes};
    if (block && !tic_heap_is_mapped(block) && range->end >= own->end && has_room(range))
        return true;
    *range = *own;
    return tic_layout_span(layout) == tic_shape_bytes(&layout->shape) && has_room(own);
}

static bool lies_across(const struct range *range)
{
    bool across = false;

    pthread_mutex_lock(&pins.mutex);
    for (unsigned i = 0; i < pins.count && !across; i++)
        across = overlaps(&pins.items[i], range) && !is_inside(&pins.items[i], range);
    pthread_mutex_unlock(&pins.mutex);
    return across;
}

static bool find_layout(starpu_data_handle_t data, struct tic_layout *layout)
{
    return tic_interface_layout(tic_real.starpu_data_get_interface_id(data),
                                tic_real.starpu_data_get_interface_on_node(data, STARPU_MAIN_RAM),
                                layout) &&
           layout->shape.ndim > 0;
}

void tic_pins_register(starpu_data_handle_t data, int home_node)
{
    struct tic_layout layout;
    struct range range;

    if (pins.least == 0 || home_node != STARPU_MAIN_RAM || !find_layout(data, &layout))
        return;
    struct range own = {layout.base, layout.base + tic_layout_span(&layout)};
    if (join(&own))
        return;
    bool wanted = tic_shape_bytes(&layout.shape) >= pins.least && choose(&layout, &own, &range);
    if (!wanted || lies_across(&range)) {
        release_all(overlaps, &own);
        return;
    }
    unsigned others = release_all(overlaps, &range);
    if (call_starpu(tic_real.starpu_memory_pin, &range))
        add(&range, others + 1);
    else
        tell_refused();
}

/* ---- the end --------------------------------------------------------------------------------- */

const void *tic_pins_place(starpu_data_handle_t data)
{
    struct tic_layout layout;

    return tic_pins_are_any() && find_layout(data, &layout) ? layout.base : NULL;
}

void tic_pins_leave(const void *at, bool later)
{
    if (!at)
        return;
    const struct range range = {at, (const char *)at + 1};
    pthread_mutex_lock(&pins.mutex);
    struct pin *pin = find_locked(has, &range);
    if (pin) {
        pin->data -= pin->data > 0;
        pin->later |= later;
    }
    pthread_mutex_unlock(&pins.mutex);
    if (!later)
        release_all(is_empty, NULL);
}

void tic_pins_settle(void)
{
    if (tic_pins_are_any())
        release_all(has_no_data, NULL);
}

void tic_pins_release(const void *at, size_t bytes)
{
    const struct range range = {at, (const char *)at + bytes};

    release_all(overlaps, &range);
}

void tic_pins_start(uint64_t least)
{
    pins.least = least;
    pins.most = tic_memory_total() / 2;
}

/* As StarPU does first of all. */
void tic_pins_end(void)
{
    pins.least = 0;
    if (!tic_pins_are_any())
        return;
    tic_real.starpu_task_wait_for_no_ready();
    release_all(is_any, NULL);
}
