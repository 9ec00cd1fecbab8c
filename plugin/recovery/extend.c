/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which tasks of the event log extend a recovery line. */
#include "recovery/extend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/spawn.h"
#include "snapshot/extension.h"

/* Values that nobody has saved are found one after the other: so often. */
enum { PASSES = 64 };

/* ---- what the log tells ---------------------------------------------------------------------- */

/* The words of a record are there only now. */
static int note_submitted(struct tic_extend *extend, const struct tic_log_record *record)
{
    struct tic_log_record copy = *record;
    struct tic_extend_submitted entry = {.words = malloc(record->count * 8)};

    if (!entry.words || tic_reserve(extend->submitted, extend->submitted_capacity,
                                    extend->submitted_count + 1) != 0) {
        free(entry.words);
        return -ENOMEM;
    }
    memcpy(entry.words, record->words, record->count * 8);
    copy.words = entry.words;
    if (tic_submitted_decode(&copy, &entry.what))
        extend->submitted[extend->submitted_count++] = entry;
    else
        free(entry.words);
    return 0;
}

int tic_extend_note(struct tic_extend *extend, const struct tic_log_record *record)
{
    const uint64_t *words = record->words;
    struct tic_ended ended;

    if (record->kind == TIC_LOGGED_STARTED && record->count == TIC_BEGUN_WORDS)
        return tic_append(extend->begun, extend->begun_count, extend->begun_capacity,
                          &(struct tic_extend_begin){words[2], words[3]});
    if (record->kind == TIC_LOGGED_RUN && record->count == 6)
        return tic_append(extend->runs, extend->run_count, extend->run_capacity,
                          &(struct tic_extend_run){words[2], words[0], words[5]});
    if (record->kind == TIC_LOGGED_SUBMITTED)
        return note_submitted(extend, record);
    if (!tic_ended_decode(record, &ended))
        return 0;
    return tic_append(extend->ended, extend->ended_count, extend->ended_capacity, &ended);
}

void tic_extend_clear(struct tic_extend *extend)
{
    for (size_t i = 0; i < extend->submitted_count; i++)
        free(extend->submitted[i].words);
    free(extend->submitted);
    free(extend->ended);
    free(extend->begun);
    free(extend->runs);
    free(extend->applied);
    free(extend->by_key);
    free(extend->kept);
    free(extend->values);
    memset(extend, 0, sizeof(*extend));
}

void tic_extend_give_up(struct tic_extend *extend)
{
    extend->count = extend->value_count = 0;
    if (extend->applied)
        memset(extend->applied, 0, extend->ended_count * sizeof(*extend->applied));
}

/* ---- orders ---------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
    const struct tic_ended *x = a, *y = b;

    return tic_order(x->run, y->run) ?: tic_order(x->began, y->began);
}

static int by_key(const void *a, const void *b, void *arg)
{
    const struct tic_ended *ended = arg;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return tic_order(ended[x].key, ended[y].key) ?: tic_order(x, y);
}

/* By identity; of one that was submitted in several runs the last comes last. */
static int by_identity(const void *a, const void *b)
{
    const struct tic_submitted *x = &((const struct tic_extend_submitted *)a)->what;
    const struct tic_submitted *y = &((const struct tic_extend_submitted *)b)->what;

    return tic_order(x->task.id, y->task.id) ?: tic_order(x->run, y->run);
}

/* ---- preparing ------------------------------------------------------------------------------- */

static int list_values(struct tic_extend *extend)
{
    size_t most = 0;

    for (size_t i = 0; i < extend->ended_count; i++)
        most += extend->ended[i].count;
    extend->values = calloc(most + 1, sizeof(*extend->values));
    if (!extend->values)
        return -ENOMEM;
    for (size_t i = 0; i < extend->ended_count; i++)
        for (size_t k = 0; k < extend->ended[i].count; k++)
            extend->values[extend->value_count++].id = extend->ended[i].outputs[k].id;
    extend->value_count = tic_sort_once(extend->values, extend->value_count, tic_line_by_number);
    return 0;
}

/* Those of the line that are not done. */
static int list_kept(struct tic_extend *extend, const struct tic_line *line)
{
    extend->kept = calloc(line->kept_count + 1, sizeof(*extend->kept));
    if (!extend->kept)
        return -ENOMEM;
    for (size_t i = 0; i < line->kept_count; i++)
        if (!(line->kept[i].flags & TIC_KEPT_DONE))
            extend->kept[extend->kept_count++] = line->kept[i].id;
    tic_sort(extend->kept, extend->kept_count, tic_line_by_number);
    return 0;
}

static int prepare(struct tic_extend *extend, const struct tic_line *line)
{
    tic_sort(extend->ended, extend->ended_count, by_begin);
    tic_sort(extend->submitted, extend->submitted_count, by_identity);
    extend->applied = calloc(extend->ended_count + 1, sizeof(*extend->applied));
    extend->by_key = calloc(extend->ended_count + 1, sizeof(*extend->by_key));
    if (!extend->applied || !extend->by_key)
        return -ENOMEM;
    for (size_t i = 0; i < extend->ended_count; i++)
        extend->by_key[i] = i;
    qsort_r(extend->by_key, extend->ended_count, sizeof(*extend->by_key), by_key, extend->ended);
    int status = list_kept(extend, line);
    return status ? status : list_values(extend);
}

/* ---- who is known ---------------------------------------------------------------------------- */

static uint64_t key_at(const struct tic_extend *extend, size_t place)
{
    return extend->ended[extend->by_key[place]].key;
}

static uint64_t identity_at(const struct tic_extend *extend, size_t place)
{
    return extend->submitted[place].what.task.id;
}

/* The first of `count` places, in ascending order, whose number is not below this one. */
static size_t find_first(const struct tic_extend *extend, size_t count,
                         uint64_t (*number_at)(const struct tic_extend *extend, size_t place),
                         uint64_t number)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (number_at(extend, middle) < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool tic_extend_has(const struct tic_extend *extend, uint64_t key)
{
    if (extend->count == 0)
        return false;
    for (size_t i = find_first(extend, extend->ended_count, key_at, key);
         i < extend->ended_count && key_at(extend, i) == key; i++)
        if (extend->applied[extend->by_key[i]])
            return true;
    return false;
}

/* Has a task that is chosen submitted it? */
static bool was_submitted(const struct tic_extend *extend, uint64_t id)
{
    for (size_t i = find_first(extend, extend->submitted_count, identity_at, id);
         i < extend->submitted_count && identity_at(extend, i) == id; i++)
        if (tic_extend_has(extend, extend->submitted[i].what.parent))
            return true;
    return false;
}

static bool is_known(const struct tic_extend *extend, const struct tic_line *line, uint64_t key)
{
    if (tic_extend_has(extend, key))
        return false; /* nothing ends twice */
    if (!(key & TIC_SPAWN_KEY))
        return key < line->tasks_submitted && !tic_line_is_done(line, key);
    return was_submitted(extend, key) ||
           tic_find(&key, extend->kept, extend->kept_count, tic_line_by_number);
}

/* main() was where it was at the cut, inside of that call; or, in a later run, not so far. */
static bool is_in_time(const struct tic_line *line, const struct tic_ended *ended, bool is_later)
{
    uint64_t at = ended->position >> TIC_WHERE_BITS, last = line->log.position >> TIC_WHERE_BITS;

    return ended->position == line->log.position ||
           (is_later && (at < last || ended->position == last << TIC_WHERE_BITS));
}

/* ---- one run --------------------------------------------------------------------------------- */

struct walk {
    struct tic_extend *extend;
    const struct tic_line *line;
    uint64_t run;
    size_t first, end; /* of extend->ended */
    bool writes_line;  /* this run has: what is in its cut does not count */
    uint64_t limit;    /* what begins at this tick, or later, may depend on what is not chosen */
};

/* The first tick from `tick` on that no record tells of. */
static int find_missing(const struct walk *walk, uint64_t tick, uint64_t *missing)
{
    const struct tic_extend *extend = walk->extend;
    size_t count = 0;
    uint64_t *ticks = malloc((extend->begun_count + walk->end - walk->first + 1) * sizeof(*ticks));

    if (!ticks)
        return -ENOMEM;
    for (size_t i = 0; i < extend->begun_count; i++)
        if (extend->begun[i].run == walk->run)
            ticks[count++] = extend->begun[i].tick;
    for (size_t i = walk->first; i < walk->end; i++)
        ticks[count++] = extend->ended[i].ended;
    tic_sort(ticks, count, tic_line_by_number);
    *missing = tick;
    for (size_t i = 0; i < count && ticks[i] <= *missing; i++)
        *missing += ticks[i] == *missing;
    free(ticks);
    return 0;
}

static struct tic_extend_value *find_value(const struct tic_extend *extend, uint64_t id)
{
    return tic_find(&id, extend->values, extend->value_count, tic_line_by_number);
}

/* Each write made one version, and nobody else made one in between. */
static bool follows(const struct tic_extend *extend, const struct tic_ended *ended)
{
    for (size_t i = 0; i < ended->count; i++)
        if (ended->outputs[i].version != find_value(extend, ended->outputs[i].id)->version + 1)
            return false;
    return true;
}

static void apply(struct tic_extend *extend, size_t place)
{
    const struct tic_ended *ended = &extend->ended[place];

    extend->applied[place] = true;
    extend->count++;
    for (size_t i = 0; i < ended->count; i++) {
        struct tic_extend_value *value = find_value(extend, ended->outputs[i].id);
        value->version++;
        value->output = &ended->outputs[i];
        value->by = place;
    }
}

/* In order of their begins: who is not chosen moves the limit before anything that could depend on
 * it is looked at. */
static void choose_once(struct walk *walk)
{
    struct tic_extend *extend = walk->extend;

    for (size_t i = walk->first; i < walk->end; i++) {
        const struct tic_ended *ended = &extend->ended[i];
        if (walk->writes_line && ended->epoch <= walk->line->log.epoch)
            continue;
        if (ended->began >= walk->limit)
            break;
        if (ended->count > 0 && is_in_time(walk->line, ended, !walk->writes_line) &&
            is_known(extend, walk->line, ended->key) && follows(extend, ended))
            apply(extend, i);
        else if (ended->ended < walk->limit)
            walk->limit = ended->ended;
    }
}

/* The value that was written last, but was not saved, is not known: its task is executed again.
 * True when there was one. */
static bool drop_unsaved(struct tic_extend *extend)
{
    bool any = false;

    for (size_t i = 0; i < extend->value_count; i++) {
        const struct tic_extend_value *value = &extend->values[i];
        if (!value->output || value->output->segment != TIC_ENDED_REPLACED)
            continue;
        extend->ended[value->by].count = 0;
        any = true;
    }
    return any;
}

static int choose_in_run(struct walk *walk)
{
    struct tic_extend *extend = walk->extend;
    size_t bytes = extend->value_count * sizeof(*extend->values), count = extend->count;
    struct tic_extend_value *before = malloc(bytes + 1);
    uint64_t missing = 0;
    int passes = 0;
    int status = before ? find_missing(walk, walk->limit, &missing) : -ENOMEM;

    if (status == 0)
        memcpy(before, extend->values, bytes);
    while (status == 0) {
        walk->limit = missing;
        choose_once(walk);
        if (!drop_unsaved(extend))
            break;
        memcpy(extend->values, before, bytes);
        for (size_t i = walk->first; i < walk->end; i++)
            extend->applied[i] = false;
        extend->count = count;
        if (++passes == PASSES)
            missing = 0;
    }
    free(before);
    return status;
}

/* ---- all runs -------------------------------------------------------------------------------- */

static void load_versions(struct tic_extend *extend, const struct tic_line *line)
{
    for (size_t i = 0; i < extend->value_count; i++) {
        const struct tic_line_value *known =
            tic_find(&extend->values[i], line->values, line->value_count, tic_line_by_number);
        extend->values[i].version = known ? known->version : 0;
    }
}

/* Did this run begin with the line, and with what is chosen so far? */
static bool went_on(const struct tic_extend *extend, const struct tic_line *line, uint64_t run)
{
    for (size_t i = 0; i < extend->run_count; i++)
        if (extend->runs[i].run == run)
            return extend->runs[i].line == line->number && extend->runs[i].count == extend->count;
    return false;
}

int tic_extend_choose(struct tic_extend *extend, const struct tic_line *line)
{
    int status = prepare(extend, line);

    if (status || line->log.tick == 0) {
        tic_extend_give_up(extend);
        return status;
    }
    load_versions(extend, line);
    for (uint64_t run = line->account.runs;
         status == 0 && (run == line->account.runs || went_on(extend, line, run)); run++) {
        struct walk walk = {.extend = extend,
                            .line = line,
                            .run = run,
                            .writes_line = run == line->account.runs,
                            .limit = run == line->account.runs ? line->log.tick - 1 : 0};
        while (walk.first < extend->ended_count && extend->ended[walk.first].run < run)
            walk.first++;
        walk.end = walk.first;
        while (walk.end < extend->ended_count && extend->ended[walk.end].run == run)
            walk.end++;
        status = choose_in_run(&walk);
    }
    return status;
}
