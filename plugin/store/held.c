/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values that wait in memory until the store can be written again. */
#include "store/held.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/image.h"
#include "base/io.h"
#include "base/memory.h"

enum { HUGE_PAGE = 2 << 20, BATCH = 16 << 20 }; /* bytes */

struct tic_held {
    char *bytes;             /* a copy; or */
    struct tic_image *image; /* has it; neither: written, or nobody needs it any more */
    struct tic_layout where; /* in the image */
    uint64_t checksum;       /* of it there */
    struct tic_shape shape;
    struct tic_row real; /* if written */
    bool written;
    bool busy;   /* referenced from nowhere yet */
    bool pinned; /* survives all sweeps */
    bool keep;   /* survives the sweep under way */
    bool unused; /* nobody refers to it: its number may be given again */
};

static bool is_there(const struct tic_held *held)
{
    return held->bytes || held->image;
}

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

static void drop_locked(struct tic_rows *rows, struct tic_held *held) TIC_REQUIRES(rows->lock)
{
    if (is_there(held))
        rows->held_bytes -= tic_shape_bytes(&held->shape);
    release_locked(rows, held->bytes, tic_shape_bytes(&held->shape));
    held->bytes = NULL;
    forget_image_locked(rows, held);
}

/* Nobody else has it any more. */
void tic_held_fini(struct tic_rows *rows) TIC_THREAD_SAFETY(no_thread_safety_analysis)
{
    for (unsigned long i = 0; i < rows->held_count; i++)
        drop_locked(rows, &rows->held[i]);
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
    void *grown =
        rows->held_count >= UINT32_MAX
            ? NULL
            : tic_grow(rows->held, &rows->held_capacity, rows->held_count + 1, sizeof(*rows->held));
    if (!grown)
        return NULL;
    rows->held = grown;
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
           (rows->image_part == 0 || size >= tic_memory_resident() / rows->image_part);
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

/* A program may need what is left of memory more than that. */
static bool is_too_much(uint64_t size)
{
    return size >= HUGE_PAGE && size > tic_memory_available() / 4;
}

int tic_held_save(struct tic_store *store, const struct tic_layout *layout, bool steady,
                  struct tic_saved *saved)
{
    uint64_t size = tic_shape_bytes(&layout->shape);
    struct tic_held held = {.shape = layout->shape, .busy = true, .keep = true};

    if (!has_room(&store->rows, size))
        return -ENOBUFS;
    if (is_too_much(size))
        return -ENOMEM;
    bool image = steady && is_worth_an_image(&store->rows, size);
    int status = image ? take_image(layout, &held, &saved->checksum) : -ENOTSUP;
    status = status ? copy(&store->rows, layout, &held, &saved->checksum) : 0;
    saved->row.extent = TIC_HELD_EXTENT;
    status = status ? status : add(&store->rows, &held, &saved->row.row);
    if (status && held.image)
        tic_image_drop(held.image);
    if (status)
        release(&store->rows, held.bytes, size);
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
            drop_locked(rows, held);
    }
    rows->held_next = rows->held_written = 0;
    tic_arena_trim(&rows->arena);
}

/* ---- writing -------------------------------------------------------------------------------- */

static struct tic_held look_up(struct tic_rows *rows, uint32_t number)
{
    tic_lock(&rows->lock);
    struct tic_held held = rows->held[number];
    tic_unlock(&rows->lock);
    return held;
}

/* Its value, from the image to memory; the image goes. */
static int copy_from_image(struct tic_store *store, uint32_t number, const _Atomic bool *hurry)
{
    struct tic_rows *rows = &store->rows;
    struct tic_held held = look_up(rows, number);
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

int tic_held_copy_images(struct tic_store *store, const _Atomic bool *hurry)
{
    unsigned long count;
    int status = 0;

    if (!has_images(&store->rows, &count))
        return 0;
    for (unsigned long i = 0; i < count && status == 0; i++)
        status = copy_from_image(store, (uint32_t)i, hurry);
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

/* tic_store_save, or that with compression. */
typedef int (*way_to_save)(struct tic_store *store, const struct tic_layout *layout,
                           struct tic_saved *saved);

static int write_held(struct tic_store *store, struct tic_row row, way_to_save save)
{
    struct tic_rows *rows = &store->rows;
    struct tic_saved saved;

    int status = copy_from_image(store, row.row, NULL);
    if (status)
        return status;
    struct tic_held held = look_up(rows, row.row);
    if (!held.bytes)
        return 0;
    struct tic_layout packed = tic_layout_packed(&held.shape, held.bytes);
    enum tic_io_way before = tic_io_set_way(TIC_IO_OWN);
    status = save(store, &packed, &saved);
    tic_io_set_way(before);
    if (status)
        return status;
    tic_lock(&rows->lock);
    drop_locked(rows, &rows->held[row.row]);
    rows->held[row.row].real = saved.row;
    rows->held[row.row].written = true;
    bool pinned = rows->held[row.row].pinned;
    tic_unlock(&rows->lock);
    if (pinned)
        tic_rows_pin(rows, saved.row);
    tic_rows_settle(rows, saved.row); /* the next sweep finds it by its number */
    return 0;
}

int tic_held_write(struct tic_store *store, struct tic_row row)
{
    return write_held(store, row, tic_store_save_compressed);
}

/* Only this thread sweeps, so the bytes stay while they are written. */
static int write_one(struct tic_store *store, uint32_t number, way_to_save save)
{
    const struct tic_row row = {TIC_HELD_EXTENT, number};
    int status = write_held(store, row, save);

    while (status == -EAGAIN) { /* somebody else may take the row */
        struct tic_demand demand = {look_up(&store->rows, number).shape, 1};
        status = tic_store_provide(store, &demand, 1);
        status = status ? status : write_held(store, row, save);
    }
    return status;
}

int tic_held_write_all(struct tic_store *store)
{
    int status = 0;

    tic_lock(&store->rows.lock);
    unsigned long count = store->rows.held_bytes > 0 ? store->rows.held_count : 0;
    store->rows.held_stays = false;
    tic_unlock(&store->rows.lock);
    for (unsigned long i = 0; i < count && status == 0; i++)
        status = write_one(store, (uint32_t)i, tic_store_save);
    return status;
}

bool tic_held_is_much(struct tic_rows *rows)
{
    tic_lock(&rows->lock);
    bool much = rows->held_bytes > TIC_HELD_SOON && !rows->held_stays;
    tic_unlock(&rows->lock);
    return much;
}

/* The next one that has not been written, the number behind the last if there is none. */
static uint32_t find_next(struct tic_rows *rows, uint64_t *bytes)
{
    tic_lock(&rows->lock);
    while (rows->held_written < rows->held_count && !is_there(&rows->held[rows->held_written]))
        rows->held_written++;
    uint32_t number = (uint32_t)rows->held_written;
    bool any = number < rows->held_count;
    *bytes = any ? tic_shape_bytes(&rows->held[number].shape) : 0;
    if (!any)
        rows->held_written = 0; /* numbers below may be in use again by then */
    tic_unlock(&rows->lock);
    return number;
}

int tic_held_write_some(struct tic_store *store)
{
    uint64_t written = 0, bytes;
    int status = 0;

    while (tic_held_is_much(&store->rows) && written < BATCH && status == 0) {
        uint32_t number = find_next(&store->rows, &bytes);
        if (bytes == 0)
            break;
        status = write_one(store, number, tic_store_save_compressed);
        written += bytes;
    }
    tic_lock(&store->rows.lock);
    store->rows.held_stays |= status != 0;
    tic_unlock(&store->rows.lock);
    return status ? status : written > 0;
}

static int resolve(void *arg, const struct tic_line_reference *reference)
{
    struct tic_row real = tic_rows_real(arg, (struct tic_row){*reference->extent, *reference->row});

    *reference->extent = real.extent;
    *reference->row = real.row;
    return real.extent == TIC_HELD_EXTENT ? -EIO : 0;
}

int tic_held_resolve(struct tic_rows *rows, struct tic_line *line)
{
    return tic_line_each(line, resolve, rows);
}
