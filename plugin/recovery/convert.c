/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recovery lines of other machines. Values are converted once, into a line of their own that is
 * committed as any other: what else reads the store knows one byte order only. Until that line has
 * its name nothing of the old one is changed. */
#include "recovery/convert.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/type_rules.h"
#include "base/types.h"
#include "snapshot/provide.h"
#include "snapshot/snapshot.h"
#include "store/schema.h"

bool tic_convert_is_other(const struct tic_line *line)
{
    return line->on.machine && line->on.machine[0] &&
           strcmp(line->on.machine, tic_machine_name()) != 0;
}

bool tic_convert_is_swapped(const struct tic_line *line)
{
    return (line->on.big_endian != 0) != tic_machine_is_big_endian();
}

static bool has_other_words(const struct tic_line *line)
{
    return line->on.pointer_bytes != 0 && line->on.pointer_bytes != sizeof(void *);
}

/* ---- what means something else ----------------------------------------------------------------
 */

_Noreturn static void refuse(const char *path, const struct tic_line *line, const char *what)
{
    tic_stop(
        TIC_EXIT_REFUSED,
        "cannot continue from %s on this machine (%s): its recovery line was written on another "
        "architecture (%s), and %s. Continue on a machine like that one, or start over with "
        "another STARPU_TIC_DIR. Nothing was overwritten",
        path, tic_machine_name(), line->on.machine, what);
}

static void check_identities(const char *path, const struct tic_line *line)
{
    unsigned matters = TIC_BOUND_BUILD;

    matters |= has_other_words(line) ? TIC_BOUND_WORDS : 0;
    matters |= tic_convert_is_swapped(line) ? TIC_BOUND_ORDER : 0;
    if (line->spawned_count > 0 && line->on.machine_bound & TIC_BOUND_BUILD & matters)
        refuse(path, line,
               "callbacks or threads submitted tasks whose codelets have no name, which are told "
               "apart by the place of their kernels in the program. Name the codelets");
    if (line->spawned_count > 0 && line->on.machine_bound & matters)
        refuse(
            path, line,
            "callbacks or threads submitted tasks that are told apart by their packed arguments, "
            "which are other bytes here. Tags, or other data, make them distinct");
}

static void check_arguments(const char *path, const struct tic_line *line)
{
    if (!tic_convert_is_swapped(line) && !has_other_words(line))
        return;
    for (size_t i = 0; i < line->look_count; i++)
        if (line->looks[i].id == TIC_LOOK_ARGUMENTS)
            refuse(path, line,
                   "kernels returned results in the arguments of their tasks (cl_arg), whose bytes "
                   "mean something else here. Return them in registered data");
}

/* Of the function with this number: what follows the tab. */
static const char *codelet_name(const struct tic_line *line, uint32_t number)
{
    size_t at = 0;

    while (number-- > 0 && at < line->functions.size)
        at += strlen(line->functions.text + at) + 1;
    const char *tab = at < line->functions.size ? strchr(line->functions.text + at, '\t') : NULL;
    return tab ? tab + 1 : "?";
}

/* Arguments of tasks that tasks submitted: bytes that only their codelets know. */
static void check_kept(const char *path, const struct tic_line *line)
{
    char what[512];

    if (!tic_convert_is_swapped(line) && !has_other_words(line))
        return;
    for (size_t i = 0; i < line->kept_count; i++) {
        const char *name = codelet_name(line, line->kept[i].codelet);
        uint64_t type = tic_type_rule_of_arguments(name);
        if (has_other_words(line) && line->kept[i].callback_argument > INT32_MAX)
            refuse(path, line,
                   "a task submitted a task with a callback whose argument is a large or negative "
                   "number, which is another one where pointers have another size");
        if (line->kept[i].arguments == 0 || tic_type_bytes(type) == line->kept[i].arguments)
            continue;
        snprintf(what, sizeof(what),
                 "a task submitted tasks \"%s\" that are not done, with %u bytes of arguments, "
                 "whose type nobody has declared%s. If they are a structure of numbers of one size "
                 "everywhere, STARPU_TIC_TYPES='%s:args=int,double', say, declares it",
                 name, line->kept[i].arguments, type ? " with as many bytes" : "", name);
        refuse(path, line, what);
    }
}

/* After check_kept(). */
static void swap_kept(struct tic_line *line)
{
    char *bytes = (char *)line->bytes.items;

    for (size_t i = 0; i < line->kept_count; bytes += line->kept[i++].arguments)
        tic_type_swap(tic_type_rule_of_arguments(codelet_name(line, line->kept[i].codelet)), bytes,
                      line->kept[i].arguments);
}

static bool is_of_data(const struct tic_line_reference *reference)
{
    return strcmp(reference->table, TIC_LINE_READS) != 0;
}

/* As it was declared when the value was saved, or is now. */
static uint64_t type_of(const struct tic_line_extent *extent, bool has_id, uint64_t id)
{
    const struct tic_shape shape = tic_line_extent_shape(extent);
    uint64_t types[3] = {extent->type, has_id ? tic_type_rule_of_id(id) : TIC_TYPE_UNKNOWN,
                         tic_type_rule_of_size(extent->element_size)};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i] && tic_type_fits(types[i], &shape))
            return types[i];
    return TIC_TYPE_UNKNOWN;
}

/* A long double is the one number that has another format, and the same size, in the same byte
 * order. */
enum { LONG_DOUBLE = 16 };

struct check {
    const char *path;
    const struct tic_line *line;
};

static int check_long(void *arg, const struct tic_line_reference *reference)
{
    const struct check *check = arg;
    const struct tic_line_extent *extent = &check->line->extents[*reference->extent];
    bool data = is_of_data(reference);
    char what[512];

    if (strcmp(reference->table, TIC_LINE_BLOCKS) == 0 || extent->element_size != LONG_DOUBLE ||
        type_of(extent, data, reference->id))
        return 0;
    snprintf(what, sizeof(what),
             "%s %llu has elements of %d bytes, whose type nobody has declared: a long double is "
             "another one here. If they are two doubles, say, STARPU_TIC_TYPES='%d=2*double' says "
             "so; see starpu-tic(7)",
             data ? "data (number of registration)" : "what was read by task",
             (unsigned long long)reference->id, LONG_DOUBLE, LONG_DOUBLE);
    refuse(check->path, check->line, what);
}

void tic_convert_check(const char *path, const struct tic_line *line)
{
    struct check check = {path, line};

    if (!tic_convert_is_other(line))
        return;
    check_identities(path, line);
    if (tic_convert_is_swapped(line) && line->point.bytes.count > 0)
        refuse(path, line,
               "main() has named variables (starpu_tic_protect_memory), whose bytes mean something "
               "else here");
    check_arguments(path, line);
    check_kept(path, line);
    tic_line_each(line, check_long, &check);
}

/* ---- types ---------------------------------------------------------------------------------- */

struct conversion {
    const struct tic_store *from;
    struct tic_store *to; /* the same directory, with nothing in it yet */
    struct tic_line *line;
    struct tic_demands demands;
};

_Noreturn static void refuse_untyped(const struct conversion *conversion, const char *data,
                                     uint64_t id, uint32_t element_size)
{
    char size[64] = "", rule[64];

    if (element_size > 0)
        snprintf(size, sizeof(size), " of %u bytes", element_size);
    if (element_size > 0)
        snprintf(rule, sizeof(rule), "%u=double", element_size);
    else
        snprintf(rule, sizeof(rule), "#%llu=double", (unsigned long long)id);
    tic_stop(
        TIC_EXIT_REFUSED,
        "cannot continue from %s on this machine: its values have the other byte order (%s), and "
        "nobody has declared the type of the elements%s of %s %llu%s. Let the program call "
        "starpu_tic_data_set_type(), or set STARPU_TIC_TYPES by element size ('%s', if that is "
        "what they are), by number of registration ('#%llu=int32,2*float'), or, when the "
        "program is started first, by codelet; see starpu-tic(7). Nothing was overwritten",
        conversion->from->path, conversion->line->on.machine, size, data, (unsigned long long)id,
        data[0] == 'd' ? " (number of registration)" : "", rule,
        (unsigned long long)(data[0] == 'd' ? id : 17));
}

static int demand(void *arg, const struct tic_line_reference *reference)
{
    struct conversion *conversion = arg;
    const struct tic_line_extent *extent = &conversion->line->extents[*reference->extent];
    struct tic_shape shape = tic_line_extent_shape(extent);
    bool data = is_of_data(reference);

    if (strcmp(reference->table, TIC_LINE_BLOCKS) == 0)
        return 0;
    shape.type = type_of(extent, data, reference->id);
    if (!shape.type)
        refuse_untyped(conversion, data ? "data" : "what was read by task", reference->id,
                       extent->element_size);
    return tic_demands_add(&conversion->demands, &shape);
}

/* ---- values --------------------------------------------------------------------------------- */

static void set_checksum(struct tic_line *line, const struct tic_line_reference *reference,
                         uint64_t checksum)
{
    if (strcmp(reference->table, TIC_LINE_VALUES) == 0)
        line->values[reference->index].checksum = checksum;
    else if (strcmp(reference->table, TIC_LINE_ACQUIRES) == 0)
        line->acquires[reference->index].checksum = checksum;
    else
        line->reads[reference->index].checksum = checksum;
}

static int read_value(const struct conversion *conversion, const struct tic_line_extent *extent,
                      const struct tic_line_reference *reference, const struct tic_layout *layout)
{
    int fd = tic_store_peek_segment(conversion->from, extent->segment);
    uint64_t checksum;

    if (fd < 0)
        return fd;
    struct tic_place place = tic_payload_place(extent, *reference->row, fd);
    int status = tic_payload_read(conversion->from->h5, &place, layout, &checksum);
    close(fd);
    return status ? status : checksum == reference->checksum ? 0 : -EBADMSG;
}

static int convert_value(void *arg, const struct tic_line_reference *reference)
{
    struct conversion *conversion = arg;
    const struct tic_line_extent *extent = &conversion->line->extents[*reference->extent];
    struct tic_shape shape = tic_line_extent_shape(extent);
    const uint64_t size = tic_shape_bytes(&shape);
    struct tic_saved saved;

    if (strcmp(reference->table, TIC_LINE_BLOCKS) == 0)
        return 0;
    shape.type = type_of(extent, is_of_data(reference), reference->id);
    char *bytes = malloc(size);
    if (!bytes)
        return -ENOMEM;
    struct tic_layout layout = tic_layout_packed(&shape, bytes);
    int status = read_value(conversion, extent, reference, &layout);
    if (status == 0) {
        tic_type_swap(shape.type, bytes, size);
        status = tic_store_save_compressed(conversion->to, &layout, &saved);
    }
    free(bytes);
    if (status)
        return status;
    tic_rows_settle(&conversion->to->rows, saved.row);
    *reference->extent = saved.row.extent;
    *reference->row = saved.row.row;
    set_checksum(conversion->line, reference, saved.checksum);
    return 0;
}

/* ---- what main() looked at --------------------------------------------------------------------
 */

static uint64_t type_of_id(const struct tic_line *line, uint64_t id)
{
    for (size_t i = 0; i < line->value_count; i++)
        if (line->values[i].id == id)
            return type_of(&line->extents[line->values[i].extent], true, id);
    return tic_type_rule_of_id(id);
}

/* The parts of one value, whose words are the numbers that they were there. */
static int convert_look(const struct conversion *conversion, struct tic_line_look *look,
                        size_t parts)
{
    const uint64_t type = type_of_id(conversion->line, look->id);
    const size_t size = parts * TIC_LOOK_BYTES;
    char *bytes = malloc(size);

    if (!bytes)
        return -ENOMEM;
    if (!type || look->bytes % tic_type_bytes(type) != 0)
        refuse_untyped(conversion, "data", look->id, 0);
    for (size_t i = 0; i < parts; i++)
        for (size_t k = 0; k < TIC_LOOK_WORDS; k++) {
            uint64_t word = __builtin_bswap64(look[i].words[k]);
            memcpy(bytes + i * TIC_LOOK_BYTES + k * sizeof(word), &word, sizeof(word));
        }
    tic_type_swap(type, bytes, look->bytes < size ? look->bytes : size);
    for (size_t i = 0; i < parts; i++)
        memcpy(look[i].words, bytes + i * TIC_LOOK_BYTES, TIC_LOOK_BYTES);
    free(bytes);
    return 0;
}

static int convert_looks(const struct conversion *conversion)
{
    struct tic_line_look *looks = conversion->line->looks;
    const size_t count = conversion->line->look_count;
    size_t parts;
    int status = 0;

    for (size_t i = 0; i < count && status == 0; i += parts) {
        for (parts = 1; i + parts < count && looks[i + parts].id == looks[i].id &&
                        looks[i + parts].wait == looks[i].wait &&
                        looks[i + parts].part == looks[i].part + parts;)
            parts++;
        if (looks[i].bytes == 0 || looks[i].id == TIC_LOOK_PARTIAL)
            continue;
        if (looks[i].part != 0 || parts * TIC_LOOK_BYTES < looks[i].bytes)
            return -EBADMSG;
        status = convert_look(conversion, &looks[i], parts);
    }
    return status;
}

/* ---- the line ------------------------------------------------------------------------------- */

/* The highest number of such a file, and 1 more. */
static int next_number(struct tic_store *store, const char *format, uint64_t *next)
{
    uint64_t *numbers;
    unsigned long count;
    int status = tic_store_list(store, format, &numbers, &count);

    if (status == 0 && count > 0 && numbers[0] >= *next)
        *next = numbers[0] + 1;
    free(numbers);
    return status;
}

/* Another view of the directory, whose lock is ours. */
static struct tic_store *open_again(const struct tic_store *store, int *status)
{
    struct tic_store *again = calloc(1, sizeof(*again));

    *status = !again ? -ENOMEM
                     : tic_store_open(again, store->path, TIC_STORE_READ, store->sync, store->h5);
    if (*status) {
        free(again);
        return NULL;
    }
    again->lock.claimed = true;
    again->level = store->level;
    *status = next_number(again, TIC_FILE_SEGMENT, &again->next_segment);
    *status = *status ? *status : next_number(again, TIC_FILE_LINE, &again->next_line);
    return again;
}

static int write_line(struct conversion *conversion)
{
    struct tic_line *line = conversion->line;

    int status = tic_line_each(line, demand, conversion);
    swap_kept(line);
    status = status ? status : convert_looks(conversion);
    status = status ? status
                    : tic_store_provide(conversion->to, conversion->demands.items,
                                        conversion->demands.count);
    status = status ? status : tic_line_each(line, convert_value, conversion);
    if (status)
        return status;
    free(line->extents);
    line->extents = NULL;
    line->block_count = 0; /* entries of blocks are in the tables of a complete line */
    return tic_store_commit(conversion->to, line);
}

/* Its records have the other byte order. Tasks whose results they tell of are executed again. */
static int remove_log(struct tic_store *store)
{
    uint64_t *numbers;
    unsigned long count;
    int status = tic_store_list(store, TIC_FILE_LOG, &numbers, &count);
    char name[64];

    for (unsigned long i = 0; i < count && status == 0; i++) {
        snprintf(name, sizeof(name), TIC_FILE_LOG, store->process, (unsigned long long)numbers[i]);
        if (unlinkat(store->directory, name, 0) != 0 && errno != ENOENT)
            status = -errno;
    }
    free(numbers);
    return status;
}

int tic_convert_line(struct tic_store *store, struct tic_line *line)
{
    const unsigned long long number = line->number;
    int status;
    struct tic_store *again = open_again(store, &status);
    struct conversion conversion = {.from = store, .to = again, .line = line};
    char machine[64];

    snprintf(machine, sizeof(machine), "%s", line->on.machine);
    if (again) {
        status = status ? status : write_line(&conversion);
        tic_store_close(again);
    }
    free(again);
    free(conversion.demands.items);
    status = status ? status : remove_log(store);
    if (status == 0)
        tic_log(TIC_LOG_INFO,
                "recovery line %llu in %s was written on %s, and is converted; starpu-tic "
                "explain byte-order",
                number, store->path, machine);
    return status;
}
