/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values that wait in memory until the store can be written again. */
#include "store/held.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/held_value.h"

enum { HUGE_PAGE = 2 << 20 }; /* bytes */

static void forget_image_locked(struct tic_rows *rows, struct tic_held *held)
    TIC_REQUIRES(rows->lock)
{
    if (!held->image)
        return;
    rows->images--;
    tic_image_drop(held->image);
    held->image = NULL;
}

static void release_locked(struct tic_rows *rows, char *bytes, uint64_t size)
    TIC_REQUIRES(rows->lock)
{
    if (!tic_arena_give(&rows->arena, bytes, size))
        free(bytes);
}

void tic_held_drop_locked(struct tic_rows *rows, struct tic_held *held)
{
    if (tic_held_is_there(held))
        rows->held_bytes -= tic_shape_bytes(&held->shape);
    release_locked(rows, held->bytes, tic_shape_bytes(&held->shape));
    held->bytes = NULL;
    forget_image_locked(rows, held);
}

/* Nobody else has it any more. */
void tic_held_fini(struct tic_rows *rows) TIC_THREAD_SAFETY(no_thread_safety_analysis)
{
    for (unsigned long i = 0; i < rows->held_count; i++)
        tic_held_drop_locked(rows, &rows->held[i]);
    free(rows->held);
    tic_arena_fini(&rows->arena);
}

/* ---- holding -------------------------------------------------------------------------------- */

/* A number that nobody refers to any more, or a new one. NULL when out of memory. */
static struct tic_held *take_number_locked(struct tic_rows *rows) TIC_REQUIRES(rows->lock)
{
    while (rows->held_next < rows->held_count)
        if (rows->held[rows->held_next++].unused)
            return &rows->held[rows->held_next - 1];
    if (rows->held_count >= UINT32_MAX ||
        tic_reserve(rows->held, rows->held_capacity, rows->held_count + 1) != 0)
        return NULL;
    rows->held_next = ++rows->held_count;
    return &rows->held[rows->held_count - 1];
}

static int add(struct tic_rows *rows, const struct tic_held *held, uint32_t *number)
{
    uint64_t bytes = tic_shape_bytes(&held->shape);

    tic_lock(&rows->lock);
    struct tic_held *place =
        rows->held_bytes + bytes > rows->held_most ? NULL : take_number_locked(rows);
    if (place) {
        *place = *held;
        *number = (uint32_t)(place - rows->held);
        rows->held_bytes += bytes;
        rows->images += held->image != NULL;
        rows->imaged += held->image != NULL;
    }
    tic_unlock(&rows->lock);
    return place ? 0 : -ENOBUFS;
}

static bool has_room(struct tic_rows *rows, uint64_t bytes)
{
    tic_lock(&rows->lock);
    bool room = rows->held_bytes + bytes <= rows->held_most;
    tic_unlock(&rows->lock);
    return room;
}

/* Memory for a copy, or NULL. */
static char *allocate(struct tic_rows *rows, uint64_t size)
{
    tic_lock(&rows->lock);
    char *bytes = tic_arena_take(&rows->arena, size);
    tic_unlock(&rows->lock);
    if (bytes || size < HUGE_PAGE)
        return bytes ? bytes : malloc(size);
    bytes = aligned_alloc(HUGE_PAGE, (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    if (bytes)
        madvise(bytes, size, MADV_HUGEPAGE);
    return bytes;
}

static void release(struct tic_rows *rows, char *bytes, uint64_t size)
{
    tic_lock(&rows->lock);
    release_locked(rows, bytes, size);
    tic_unlock(&rows->lock);
}

static int copy(struct tic_rows *rows, const struct tic_layout *layout, struct tic_held *held,
                uint64_t *checksum)
{
    held->bytes = allocate(rows, tic_shape_bytes(&layout->shape));
    return held->bytes ? tic_layout_pack(layout, held->bytes, checksum) : -ENOMEM;
}

/* An image takes 10 ms for each GiB that the process has, on pages of 4 KiB, and more later, where
 * it writes; a copy takes 100 ms and more. */
static bool is_worth_an_image(const struct tic_rows *rows, uint64_t size)
{
    return rows->image_least > 0 && size >= rows->image_least &&
           (rows->image_part == 0 || size >= tic_memory_resident() / rows->image_part) &&
           tic_memory_may_fork();
}

/* Nobody but those who write behind StarPU's back changes it between the image and its checksum:
 * the copy tells. */
static int take_image(const struct tic_layout *layout, struct tic_held *held, uint64_t *checksum)
{
    held->image = tic_image_take();
    if (held->image && !tic_image_has(held->image, layout)) {
        tic_image_drop(held->image);
        held->image = NULL;
    }
    if (!held->image)
        return -ENOTSUP;
    held->where = *layout;
    if (!tic_layout_checksum_there(layout, checksum)) {
        tic_image_drop(held->image);
        held->image = NULL;
        return -EFAULT;
    }
    held->checksum = *checksum;
    return 0;
}

int tic_held_save(struct tic_rows *rows, const struct tic_layout *layout, bool steady,
                  struct tic_saved *saved)
{
    uint64_t size = tic_shape_bytes(&layout->shape);
    struct tic_held held = {.shape = layout->shape, .busy = true, .keep = true};

    if (!has_room(rows, size))
        return -ENOBUFS;
    if (!tic_memory_may_take(size))
        return -ENOMEM;
    bool image = steady && is_worth_an_image(rows, size);
    int status = image ? take_image(layout, &held, &saved->checksum) : -ENOTSUP;
    status = status ? copy(rows, layout, &held, &saved->checksum) : 0;
    saved->row.extent = TIC_HELD_EXTENT;
    status = status ? status : add(rows, &held, &saved->row.row);
    if (status && held.image)
        tic_image_drop(held.image);
    if (status)
        release(rows, held.bytes, size);
    return status;
}

void tic_held_pin_locked(struct tic_rows *rows, uint32_t number) TIC_REQUIRES(rows->lock)
{
    rows->held[number].pinned = true;
    rows->held[number].keep = true; /* a sweep may be under way */
}

void tic_held_unpin_all_locked(struct tic_rows *rows) TIC_REQUIRES(rows->lock)
{
    for (unsigned long i = 0; i < rows->held_count; i++)
        rows->held[i].pinned = false;
}

void tic_held_settle_locked(struct tic_rows *rows, uint32_t number) TIC_REQUIRES(rows->lock)
{
    rows->held[number].busy = false;
}

/* ---- marking -------------------------------------------------------------------------------- */

struct tic_row tic_held_real_locked(const struct tic_rows *rows, struct tic_row row)
    TIC_REQUIRES(rows->lock)
{
    bool written =
        row.extent == TIC_HELD_EXTENT && row.row < rows->held_count && rows->held[row.row].written;
    return written ? rows->held[row.row].real : row;
}

uint64_t tic_held_bytes_locked(const struct tic_rows *rows, struct tic_row row)
    TIC_REQUIRES(rows->lock)
{
    bool held = row.extent == TIC_HELD_EXTENT && row.row < rows->held_count;
    return held ? tic_shape_bytes(&rows->held[row.row].shape) : 0;
}

struct tic_row tic_held_mark_locked(struct tic_rows *rows, struct tic_row row)
    TIC_REQUIRES(rows->lock)
{
    if (row.extent == TIC_HELD_EXTENT)
        rows->held[row.row].keep = true;
    return tic_held_real_locked(rows, row);
}

struct tic_row tic_held_sweep_begin_locked(struct tic_rows *rows, uint32_t number)
    TIC_REQUIRES(rows->lock)
{
    const struct tic_row none = {TIC_HELD_EXTENT, number};

    struct tic_held *held = &rows->held[number];

    held->keep = held->busy || held->pinned;
    return held->keep ? tic_held_real_locked(rows, none) : none;
}

void tic_held_sweep_end_locked(struct tic_rows *rows) TIC_REQUIRES(rows->lock)
{
    for (unsigned long i = 0; i < rows->held_count; i++) {
        struct tic_held *held = &rows->held[i];
        held->unused = !held->keep;
        if (held->unused)
            tic_held_drop_locked(rows, held);
    }
    rows->held_next = rows->held_written = 0;
    tic_arena_trim(&rows->arena);
}

/* ---- writing -------------------------------------------------------------------------------- */

struct tic_held tic_held_look_up(struct tic_rows *rows, uint32_t number)
{
    tic_lock(&rows->lock);
    struct tic_held held = rows->held[number];
    tic_unlock(&rows->lock);
    return held;
}

int tic_held_copy_image(struct tic_rows *rows, uint32_t number, const _Atomic bool *hurry)
{
    struct tic_held held = tic_held_look_up(rows, number);
    uint64_t checksum = 0;

    if (!held.image)
        return 0;
    uint64_t size = tic_shape_bytes(&held.shape);
    char *bytes = allocate(rows, size);
    int status = bytes ? tic_image_read(held.image, &held.where, bytes, hurry, &checksum) : -ENOMEM;
    if (status == 0 && checksum != held.checksum)
        status = -EFAULT;
    if (status) {
        release(rows, bytes, size);
        return status == -EFAULT ? -ESRCH : status;
    }
    tic_lock(&rows->lock);
    rows->held[number].bytes = bytes;
    forget_image_locked(rows, &rows->held[number]);
    tic_unlock(&rows->lock);
    return 0;
}

static bool has_images(struct tic_rows *rows, unsigned long *count)
{
    tic_lock(&rows->lock);
    bool any = rows->images > 0;
    *count = rows->held_count;
    tic_unlock(&rows->lock);
    return any;
}

uint64_t tic_held_count_images(struct tic_rows *rows)
{
    tic_lock(&rows->lock);
    uint64_t count = rows->imaged;
    tic_unlock(&rows->lock);
    return count;
}

int tic_held_copy_images(struct tic_rows *rows, const _Atomic bool *hurry)
{
    unsigned long count;
    int status = 0;

    if (!has_images(rows, &count))
        return 0;
    for (unsigned long i = 0; i < count && status == 0; i++)
        status = tic_held_copy_image(rows, (uint32_t)i, hurry);
    return status;
}

/* Under the lock: whoever writes it gives its memory back. */
int tic_held_read(struct tic_rows *rows, uint32_t number, const struct tic_layout *to,
                  uint64_t *checksum)
{
    tic_lock(&rows->lock);
    const struct tic_held *held = number < rows->held_count ? &rows->held[number] : NULL;
    int status = held && held->bytes ? 0 : -ENOENT;
    if (status == 0 && tic_shape_bytes(&held->shape) != tic_shape_bytes(&to->shape))
        status = -ERANGE;
    if (status == 0) {
        struct tic_layout packed = tic_layout_packed(&to->shape, held->bytes);
        tic_layout_copy(to, &packed);
        *checksum = tic_layout_checksum(&packed);
    }
    tic_unlock(&rows->lock);
    return status;
}
