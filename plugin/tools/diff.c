/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic diff: what lies between two recovery lines: tasks that were done, data that changed.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "tools/arguments.h"
#include "tools/chosen.h"
#include "tools/events.h"
#include "tools/json_text.h"
#include "tools/saved.h"
#include "tools/scale.h"
#include "tools/tool.h"

enum change { SAME, CHANGED, NEW, GONE };
static const char *const change_names[] = {"same", "changed", "new", "gone"};

/* A datum in both lines, or one of them. */
struct pair {
    uint64_t id;
    const struct tic_line_value *a, *b; /* NULL: it is not there */
};

struct comparison {
    const struct tic_line *a, *b;
    struct tic_store *store; /* that has b */
    bool as_json, all;
    json_t *tasks;  /* ranges that only b has as done: [first, last] */
    json_t *undone; /* that only a has */
    json_t *data;   /* those that are not the same */
    uint64_t tasks_more, tasks_less, bytes_changed;
    uint64_t counts[4]; /* by enum change */
};

/* ---- tasks ---------------------------------------------------------------------------------- */

/* What of the range no range of `other` has. */
static uint64_t subtract(json_t *list, struct tic_range range, const struct tic_range *other,
                         size_t count)
{
    uint64_t sum = 0, from = range.first;

    for (size_t i = 0; i <= count; i++) {
        bool is_end = i == count || other[i].first > range.last;
        uint64_t until = is_end ? range.last + 1 : other[i].first;
        if (until > from) {
            json_array_append_new(list,
                                  json_pack("[I, I]", (json_int_t)from, (json_int_t)until - 1));
            sum += until - from;
        }
        if (is_end)
            break;
        if (other[i].last >= from)
            from = other[i].last + 1;
        if (from > range.last)
            break;
    }
    return sum;
}

static uint64_t compare_done(json_t *list, const struct tic_line *line,
                             const struct tic_line *other)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < line->done_count; i++)
        sum += subtract(list, line->done[i], other->done, other->done_count);
    return sum;
}

/* ---- data ----------------------------------------------------------------------------------- */

static bool has_same_shape(const struct comparison *comparison, const struct pair *pair)
{
    struct tic_shape a = tic_line_extent_shape(&comparison->a->extents[pair->a->extent]);
    struct tic_shape b = tic_line_extent_shape(&comparison->b->extents[pair->b->extent]);

    return tic_shape_equal(&a, &b);
}

/* The checksum is of the content: a task that writes what was there changes nothing. */
static enum change judge(const struct comparison *comparison, const struct pair *pair)
{
    if (!pair->a)
        return NEW;
    if (!pair->b)
        return GONE;
    return pair->a->checksum == pair->b->checksum && has_same_shape(comparison, pair) ? SAME
                                                                                      : CHANGED;
}

static void note_pair(struct comparison *comparison, const struct pair *pair)
{
    enum change change = judge(comparison, pair);
    const struct tic_line *line = pair->b ? comparison->b : comparison->a;
    uint64_t bytes = tic_saved_value_bytes(line, pair->b ? pair->b : pair->a);

    comparison->counts[change]++;
    if (change == SAME)
        return;
    json_t *entry = json_pack("{s:I, s:s, s:I}", "data", (json_int_t)pair->id, "change",
                              change_names[change], "bytes", (json_int_t)bytes);
    if (tic_name_plain(pair->id))
        json_object_set_new(entry, "name", tic_json_text(tic_name_plain(pair->id)));
    if (pair->a)
        json_object_set_new(entry, "version_before", json_integer((json_int_t)pair->a->version));
    if (pair->b)
        json_object_set_new(entry, "version", json_integer((json_int_t)pair->b->version));
    json_array_append_new(comparison->data, entry);
    if (change != GONE)
        comparison->bytes_changed += bytes;
}

/* Both are in the order of ids. */
static void compare_data(struct comparison *comparison)
{
    const struct tic_line *a = comparison->a, *b = comparison->b;
    size_t i = 0, k = 0;

    while (i < a->value_count || k < b->value_count) {
        uint64_t of_a = i < a->value_count ? a->values[i].id : UINT64_MAX;
        uint64_t of_b = k < b->value_count ? b->values[k].id : UINT64_MAX;
        uint64_t id = of_a < of_b ? of_a : of_b;
        struct pair pair = {id, of_a == id ? &a->values[i++] : NULL,
                            of_b == id ? &b->values[k++] : NULL};
        note_pair(comparison, &pair);
    }
}

/* ---- words ---------------------------------------------------------------------------------- */

static void print_ranges(const json_t *ranges, const char *what, bool all)
{
    enum { MOST = 20 };
    size_t i;
    const json_t *range;

    if (json_array_size(ranges) == 0)
        return;
    printf("%s", what);
    json_array_foreach(ranges, i, range)
    {
        json_int_t first = json_integer_value(json_array_get(range, 0));
        json_int_t last = json_integer_value(json_array_get(range, 1));
        if (i == MOST && !all) {
            printf(", and %zu ranges more; --all shows them", json_array_size(ranges) - i);
            break;
        }
        printf(i ? ", %" JSON_INTEGER_FORMAT : " %" JSON_INTEGER_FORMAT, first);
        if (last > first)
            printf("-%" JSON_INTEGER_FORMAT, last);
    }
    putchar('\n');
}

static json_int_t number_of(const json_t *entry, const char *key)
{
    return json_integer_value(json_object_get(entry, key));
}

/* How much more often it was written; 0 where that is not known. */
static json_int_t writes_of(const json_t *entry)
{
    return json_object_get(entry, "version_before") && json_object_get(entry, "version")
               ? number_of(entry, "version") - number_of(entry, "version_before")
               : 0;
}

/* Data with following numbers and without names, to which the same happened, is a row. */
static bool continues(const json_t *entry, const json_t *next)
{
    return next && !json_object_get(entry, "name") && !json_object_get(next, "name") &&
           number_of(next, "data") == number_of(entry, "data") + 1 &&
           number_of(next, "bytes") == number_of(entry, "bytes") &&
           writes_of(next) == writes_of(entry) &&
           json_equal(json_object_get(next, "change"), json_object_get(entry, "change"));
}

static void print_data(const json_t *first, const json_t *last)
{
    json_int_t from = number_of(first, "data"), to = number_of(last, "data");
    char bytes[TIC_SCALE_TEXT], numbers[64];

    tic_scale_bytes(bytes, json_number_value(json_object_get(first, "bytes")));
    snprintf(numbers, sizeof(numbers), to > from ? "%lld-%lld" : "%lld", (long long)from,
             (long long)to);
    printf("  data %-15s %-8s %10s%s", numbers, json_string_value(json_object_get(first, "change")),
           bytes, to > from ? " each" : "");
    if (writes_of(first) > 0)
        printf("  written %lld more times", (long long)writes_of(first));
    puts(to > from ? "" : tic_name_of((uint64_t)from));
}

static void print_all_data(const json_t *data, bool all)
{
    enum { MOST = 20 };
    size_t count = json_array_size(data), rows = 0;

    for (size_t first = 0, last; first < count; first = last + 1) {
        for (last = first; continues(json_array_get(data, last), json_array_get(data, last + 1));)
            last++;
        if (rows++ == MOST && !all) {
            printf("  and %zu data more; --all shows them\n", count - first);
            break;
        }
        print_data(json_array_get(data, first), json_array_get(data, last));
    }
}

/* ---- codelets ------------------------------------------------------------------------------- */

struct codelets {
    struct codelet {
        char name[TIC_EVENT_NAME];
        uint64_t count;
    } * items;
    unsigned long count, capacity;
};

static bool is_in(const json_t *ranges, uint64_t task)
{
    size_t low = 0, high = json_array_size(ranges);

    while (low < high) { /* they ascend */
        size_t middle = low + (high - low) / 2;
        const json_t *range = json_array_get(ranges, middle);
        if (task < (uint64_t)json_integer_value(json_array_get(range, 0)))
            high = middle;
        else if (task > (uint64_t)json_integer_value(json_array_get(range, 1)))
            low = middle + 1;
        else
            return true;
    }
    return false;
}

static void count_codelet(struct codelets *codelets, const char *name)
{
    unsigned long i = 0;

    while (i < codelets->count && strcmp(codelets->items[i].name, name) != 0)
        i++;
    if (i == codelets->count) {
        if (tic_append(codelets->items, codelets->count, codelets->capacity,
                       &(struct codelet){0}) != 0)
            return;
        strcpy(codelets->items[i].name, name);
    }
    codelets->items[i].count++;
}

static int by_count(const void *a, const void *b)
{
    const struct codelet *x = a, *y = b;

    return tic_order(y->count, x->count) ?: strcmp(x->name, y->name);
}

/* Only an event log has the names of codelets: that of SEL. */
static void print_codelets(struct tic_store *store, const json_t *ranges, bool all)
{
    enum { MOST = 10 };
    struct codelets codelets = {0};
    struct tic_events events = {0};
    char name[TIC_EVENT_NAME];

    if (tic_events_load(store, &events) != 0)
        return;
    for (size_t i = 0; i < events.count; i++)
        if (events.items[i].kind == TIC_LOGGED_CREATED && events.items[i].count > 0 &&
            is_in(ranges, events.items[i].words[0]) && tic_event_name(&events.items[i], name))
            count_codelet(&codelets, name);
    tic_events_clear(&events);
    tic_sort(codelets.items, codelets.count, by_count);
    for (unsigned long i = 0; i < codelets.count && (all || i < MOST); i++)
        printf("%s %" PRIu64 " %s", i > 0 ? "," : "  by codelet:", codelets.items[i].count,
               codelets.items[i].name);
    if (codelets.count > MOST && !all)
        printf(", and %lu codelets more; --all shows them", codelets.count - MOST);
    if (codelets.count > 0)
        putchar('\n');
    free(codelets.items);
}

static void print_plain(const struct comparison *comparison)
{
    char bytes[TIC_SCALE_TEXT];

    tic_scale_bytes(bytes, (double)comparison->bytes_changed);
    printf("line %llu to line %llu, %.1f s later\n", (unsigned long long)comparison->a->number,
           (unsigned long long)comparison->b->number,
           comparison->b->created - comparison->a->created);
    printf("tasks: %llu done before, %llu after\n", (unsigned long long)comparison->a->tasks_done,
           (unsigned long long)comparison->b->tasks_done);
    print_codelets(comparison->store, comparison->tasks, comparison->all);
    print_ranges(comparison->tasks, "  of main(), done since:", comparison->all);
    print_ranges(comparison->undone, "  of main(), no more done:", comparison->all);
    printf("data: %llu changed, %llu new, %llu gone, %llu the same; %s changed or new\n",
           (unsigned long long)comparison->counts[CHANGED],
           (unsigned long long)comparison->counts[NEW],
           (unsigned long long)comparison->counts[GONE],
           (unsigned long long)comparison->counts[SAME], bytes);
    print_all_data(comparison->data, comparison->all);
}

static void print_json(const struct comparison *comparison)
{
    json_t *answer = json_pack(
        "{s:{s:I, s:I, s:f}, s:{s:I, s:I, s:f}, s:I, s:O, s:I, s:O, s:I, s:I, s:I, s:I, s:I, s:O}",
        "before", "number", (json_int_t)comparison->a->number, "tasks_done",
        (json_int_t)comparison->a->tasks_done, "created", comparison->a->created, //
        "after", "number", (json_int_t)comparison->b->number, "tasks_done",
        (json_int_t)comparison->b->tasks_done, "created", comparison->b->created, //
        "tasks", (json_int_t)comparison->tasks_more, "task_ranges", comparison->tasks,
        "tasks_undone", (json_int_t)comparison->tasks_less, "undone_ranges", comparison->undone,
        "data_changed", (json_int_t)comparison->counts[CHANGED], "data_new",
        (json_int_t)comparison->counts[NEW], "data_gone", (json_int_t)comparison->counts[GONE],
        "data_same", (json_int_t)comparison->counts[SAME], "bytes",
        (json_int_t)comparison->bytes_changed, "data", comparison->data);

    tic_json_print(answer, 17);
}

static int compare(struct comparison *comparison)
{
    const struct tic_line *a = comparison->a, *b = comparison->b;

    comparison->tasks = json_array();
    comparison->undone = json_array();
    comparison->data = json_array();
    comparison->tasks_more = compare_done(comparison->tasks, b, a);
    comparison->tasks_less = compare_done(comparison->undone, a, b);
    compare_data(comparison);
    if (comparison->as_json)
        print_json(comparison);
    else
        print_plain(comparison);
    bool same = a->tasks_done == b->tasks_done && comparison->tasks_more == 0 &&
                comparison->tasks_less == 0 && json_array_size(comparison->data) == 0;
    json_decref(comparison->tasks);
    json_decref(comparison->undone);
    json_decref(comparison->data);
    return same ? TIC_TOOL_OK : TIC_TOOL_FAILED;
}

/* ---- the command ---------------------------------------------------------------------------- */

/* DIRECTORY; DIRECTORY A B, with numbers; or two of directories and files. */
static int open_both(int count, char **arguments, struct tic_chosen *a, struct tic_chosen *b)
{
    uint64_t numbers[2] = {0, 0};
    bool is_numbered = count == 3 && tic_chosen_parse_number(arguments[1], &numbers[0]) &&
                       tic_chosen_parse_number(arguments[2], &numbers[1]) && numbers[0] > 0 &&
                       numbers[1] > 0;

    if (count == 3 && !is_numbered)
        return TIC_TOOL_USAGE;
    const char *second = count == 2 ? arguments[1] : arguments[0];
    if (tic_chosen_open(a, arguments[0], numbers[0], count == 1 ? 1 : 0) != 0)
        return TIC_TOOL_NOTHING;
    if (tic_chosen_open(b, second, numbers[1], 0) == 0)
        return TIC_TOOL_OK;
    tic_chosen_close(a);
    return TIC_TOOL_NOTHING;
}

int tic_tool_diff(int argc, char **argv)
{
    static struct tic_chosen a, b;
    struct comparison comparison = {.a = &a.line, .b = &b.line, .store = &b.store};
    const struct tic_option options[] = {
        {"json", 'j', NULL, &comparison.as_json}, {"all", 'a', NULL, &comparison.all}, {0}};
    int status = tic_options_read(argc, argv, options, false, NULL), count = argc - optind;

    if (status >= 0)
        return status;
    status = count >= 1 && count <= 3 ? open_both(count, argv + optind, &a, &b) : TIC_TOOL_USAGE;
    if (status == TIC_TOOL_USAGE)
        return tic_tool_usage("diff", status);
    if (status != TIC_TOOL_OK)
        return status;
    status = compare(&comparison);
    tic_chosen_close(&a);
    tic_chosen_close(&b);
    return status;
}
