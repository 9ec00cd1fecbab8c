/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic graph: the tasks and data that the event log holds, as a picture. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "store/forced.h"
#include "tools/arguments.h"
#include "tools/events.h"
#include "tools/tool.h"

enum {
    MOST_TASKS = 300,  /* drawn one by one; more are summarized */
    MOST_HANDLES = 40, /* of a summary; the rest is one box */
    MOST_NUMBER = 1 << 26,
};

enum state { STATE_UNKNOWN, STATE_CREATED, STATE_LOST, STATE_DONE, STATE_AGAIN, STATES };
static const struct {
    const char *words, *color;
} states[] = {
    [STATE_CREATED] = {"not started", "white"},
    [STATE_LOST] = {"lost: it was running", "#f4a6a0"},
    [STATE_DONE] = {"done", "#b7e1a1"},
    [STATE_AGAIN] = {"executed again", "#f7dc8b"},
};
#define STOLEN_COLOR "#2b5fb3"

struct task {
    const struct tic_log_record *created;
    unsigned started, finished;
    bool stolen;
};

struct picture {
    FILE *out;
    struct tic_events events;
    struct task *tasks; /* by number */
    uint64_t task_count, created;
    struct datum {
        uint64_t id, version;
        bool drawn;
    } * data; /* in the order of first use */
    unsigned long data_count, data_capacity;
};

static enum state state_of(const struct task *task)
{
    if (!task->created)
        return STATE_UNKNOWN;
    if (task->started > 1)
        return task->finished > 0 ? STATE_AGAIN : STATE_LOST;
    return task->finished > 0 ? STATE_DONE : task->started > 0 ? STATE_LOST : STATE_CREATED;
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool is_of_task(const struct tic_log_record *record)
{
    return record->count > 0 && record->words[0] < MOST_NUMBER &&
           (record->kind == TIC_LOGGED_CREATED || record->kind == TIC_LOGGED_STARTED ||
            record->kind == TIC_LOGGED_FINISHED || record->kind == TIC_LOGGED_ENDED);
}

static void note(struct picture *picture, const struct tic_log_record *record)
{
    struct task *task = &picture->tasks[record->words[0]];

    if (record->kind == TIC_LOGGED_CREATED) {
        picture->created += !task->created;
        task->created = record;
    } else if (record->kind == TIC_LOGGED_STARTED) {
        task->started++;
        task->stolen |= record->count > 1 && record->words[1] >> 32;
    } else {
        task->finished++;
    }
}

static int gather(struct picture *picture)
{
    const struct tic_events *events = &picture->events;

    for (size_t i = 0; i < events->count; i++)
        if (is_of_task(&events->items[i]) && events->items[i].words[0] >= picture->task_count)
            picture->task_count = events->items[i].words[0] + 1;
    picture->tasks = calloc(picture->task_count + 1, sizeof(*picture->tasks));
    if (!picture->tasks)
        return -ENOMEM;
    for (size_t i = 0; i < events->count; i++)
        if (is_of_task(&events->items[i]))
            note(picture, &events->items[i]);
    return 0;
}

/* The index of data, new if need be; -ENOMEM. */
static long find_data(struct picture *picture, uint64_t id)
{
    for (unsigned long i = picture->data_count; i-- > 0;)
        if (picture->data[i].id == id)
            return (long)i;
    if (tic_append(picture->data, picture->data_count, picture->data_capacity,
                   &(struct datum){.id = id}) != 0)
        return -ENOMEM;
    return (long)picture->data_count - 1;
}

/* ---- every task ----------------------------------------------------------------------------- */

/* In a label. */
static void draw_name(FILE *out, const char *name)
{
    for (const char *c = name; *c; c++) {
        if (*c == '"' || *c == '\\')
            putc('\\', out);
        putc(*c, out);
    }
}

static void draw_version(struct picture *picture, long at)
{
    if (picture->data[at].drawn)
        return;
    picture->data[at].drawn = true;
    fprintf(picture->out, "  \"d%llu.%llu\" [shape=box, label=\"%llu.%llu\"];\n",
            (unsigned long long)picture->data[at].id, (unsigned long long)picture->data[at].version,
            (unsigned long long)picture->data[at].id,
            (unsigned long long)picture->data[at].version);
}

/* From a version to a task, or back. */
static void draw_edge(struct picture *picture, long at, uint64_t task, bool writes)
{
    unsigned long long id = picture->data[at].id, version = picture->data[at].version;

    draw_version(picture, at);
    if (writes)
        fprintf(picture->out, "  t%llu -> \"d%llu.%llu\";\n", (unsigned long long)task, id,
                version);
    else
        fprintf(picture->out, "  \"d%llu.%llu\" -> t%llu;\n", id, version,
                (unsigned long long)task);
}

static int draw_task(struct picture *picture, uint64_t number)
{
    const struct task *task = &picture->tasks[number];
    char name[TIC_EVENT_NAME] = "?";
    size_t accesses = tic_event_accesses(task->created);

    fprintf(picture->out, "  t%llu [style=filled, fillcolor=\"%s\"%s, label=\"",
            (unsigned long long)number, states[state_of(task)].color,
            task->stolen ? ", penwidth=2.5, color=\"" STOLEN_COLOR "\"" : "");
    tic_event_name(task->created, name);
    draw_name(picture->out, name);
    fprintf(picture->out, "\\n%llu\"];\n", (unsigned long long)number);
    for (int writes = 0; writes < 2; writes++)
        for (size_t i = 0; i < accesses; i++) {
            long at = find_data(picture, tic_event_data(task->created, i));
            uint64_t mode = tic_event_mode_bits(task->created, i);
            if (at < 0)
                return (int)at;
            if (writes && mode & 2) {
                picture->data[at].version++;
                picture->data[at].drawn = false;
            }
            if (mode & (writes ? 2 : 1))
                draw_edge(picture, at, number, writes);
        }
    return 0;
}

/* ---- a summary ------------------------------------------------------------------------------ */

struct group {
    char name[TIC_EVENT_NAME];
    uint64_t counts[STATES], stolen;
    uint64_t reads[MOST_HANDLES + 1], writes[MOST_HANDLES + 1]; /* the last: all other data */
};

struct groups {
    struct group *items;
    unsigned long count, capacity;
};

static struct group *find_group(struct groups *groups, const char *name)
{
    for (unsigned long i = 0; i < groups->count; i++)
        if (strcmp(groups->items[i].name, name) == 0)
            return &groups->items[i];
    struct group group = {.stolen = 0};

    strcpy(group.name, name);
    return tic_append(groups->items, groups->count, groups->capacity, &group) == 0
               ? &groups->items[groups->count - 1]
               : NULL;
}

static int count_task(struct picture *picture, struct groups *groups, const struct task *task)
{
    char name[TIC_EVENT_NAME] = "?";

    tic_event_name(task->created, name);
    struct group *group = find_group(groups, name);
    if (!group)
        return -ENOMEM;
    group->counts[state_of(task)]++;
    group->stolen += task->stolen;
    for (size_t i = 0; i < tic_event_accesses(task->created); i++) {
        uint64_t id = tic_event_data(task->created, i);
        uint64_t mode = tic_event_mode_bits(task->created, i);
        long at = MOST_HANDLES;
        for (unsigned long k = 0; k < picture->data_count; k++)
            at = picture->data[k].id == id ? (long)k : at;
        if (at == MOST_HANDLES && picture->data_count < MOST_HANDLES)
            at = find_data(picture, id);
        if (at < 0)
            return (int)at;
        group->reads[at] += mode & 1;
        group->writes[at] += (mode & 2) >> 1;
    }
    return 0;
}

static void draw_group(struct picture *picture, unsigned long number, const struct group *group)
{
    uint64_t total = 0;

    for (int state = 0; state < STATES; state++)
        total += group->counts[state];
    bool done = group->counts[STATE_DONE] == total;
    fprintf(picture->out, "  g%lu [style=filled, fillcolor=\"%s\", label=\"", number,
            states[done ? STATE_DONE : STATE_CREATED].color);
    draw_name(picture->out, group->name);
    fprintf(picture->out, "\\n%llu tasks", (unsigned long long)total);
    for (int state = STATE_CREATED; state < STATES; state++)
        if (group->counts[state] > 0)
            fprintf(picture->out, "\\n%llu %s", (unsigned long long)group->counts[state],
                    states[state].words);
    fprintf(picture->out, "\\n%llu stolen\"];\n", (unsigned long long)group->stolen);
    for (unsigned long k = 0; k <= MOST_HANDLES; k++) {
        if (group->reads[k] > 0)
            fprintf(picture->out, "  d%lu -> g%lu [label=\"%llu\"];\n", k, number,
                    (unsigned long long)group->reads[k]);
        if (group->writes[k] > 0)
            fprintf(picture->out, "  g%lu -> d%lu [label=\"%llu\"];\n", number, k,
                    (unsigned long long)group->writes[k]);
    }
}

static bool uses_others(const struct groups *groups)
{
    bool used = false;

    for (unsigned long i = 0; i < groups->count; i++)
        used |= groups->items[i].reads[MOST_HANDLES] + groups->items[i].writes[MOST_HANDLES] > 0;
    return used;
}

static int draw_summary(struct picture *picture)
{
    struct groups groups = {0};
    int status = 0;

    for (uint64_t i = 0; i < picture->task_count && status == 0; i++)
        if (picture->tasks[i].created)
            status = count_task(picture, &groups, &picture->tasks[i]);
    for (unsigned long k = 0; k < picture->data_count && status == 0; k++)
        fprintf(picture->out, "  d%lu [shape=box, label=\"data %llu\"];\n", k,
                (unsigned long long)picture->data[k].id);
    if (status == 0 && uses_others(&groups))
        fprintf(picture->out, "  d%d [shape=box, label=\"other data\"];\n", (int)MOST_HANDLES);
    for (unsigned long i = 0; i < groups.count && status == 0; i++)
        draw_group(picture, i, &groups.items[i]);
    free(groups.items);
    return status;
}

/* ---- the picture ---------------------------------------------------------------------------- */

static void draw_legend(FILE *out)
{
    fputs("  subgraph cluster_legend {\n    label=\"tasks; boxes: data.version\"; fontsize=10;\n",
          out);
    for (int state = STATE_CREATED; state < STATES; state++)
        fprintf(out, "    l%d [style=filled, fillcolor=\"%s\", label=\"%s\"];\n", state,
                states[state].color, states[state].words);
    fputs("    stolen [penwidth=2.5, color=\"" STOLEN_COLOR "\"];\n  }\n", out);
}

static int draw(struct picture *picture)
{
    bool summary = picture->created > MOST_TASKS;
    int status = 0;

    fputs("digraph tasks {\n  node [fontsize=10, fontname=\"Helvetica\"];\n"
          "  edge [arrowsize=0.6, fontsize=9];\n",
          picture->out);
    draw_legend(picture->out);
    if (summary)
        status = draw_summary(picture);
    for (uint64_t i = 0; !summary && i < picture->task_count && status == 0; i++)
        if (picture->tasks[i].created)
            status = draw_task(picture, i);
    fputs("}\n", picture->out);
    return status ? status : ferror(picture->out) ? -EIO : 0;
}

/* What there is to draw, before a file is touched. */
static int read_events(const char *path, struct picture *picture)
{
    int status = tic_events_read(path, &picture->events);

    status = status ? status : gather(picture);
    if (status)
        tic_arguments_cannot_read(path, status);
    else if (picture->created == 0)
        fprintf(stderr,
                "starpu-tic: the event log in %s holds no task: only sel and tic+sel log them\n",
                path);
    return status ? status : picture->created == 0 ? -ENODATA : 0;
}

static void forget_events(struct picture *picture)
{
    free(picture->tasks);
    free(picture->data);
    tic_events_clear(&picture->events);
}

/* Formats that graphviz writes, by the end of the file's name; NULL: its own language. */
static const char *format_of(const char *file)
{
    static const char *const formats[] = {"-Tsvg", "-Tpng", "-Tpdf", "-Tps", "-Tjpg", "-Tgif"};
    const char *end = strrchr(file, '.');

    for (size_t i = 0; end && i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcasecmp(end + 1, formats[i] + strlen("-T")) == 0)
            return formats[i];
    return NULL;
}

/* A picture in a format that is not written would be a surprise. */
static bool is_known_end(const char *file)
{
    const char *slash = strrchr(file, '/'), *end = strrchr(slash ? slash : file, '.');

    return !end || format_of(file) || strcmp(end, ".dot") == 0 || strcmp(end, ".gv") == 0;
}

/* Graphviz reads what is written to its standard input. NULL after a message. */
static FILE *open_dot(const char *file, const char *format, pid_t *child)
{
    int ends[2];

    if (pipe(ends) != 0)
        return NULL;
    *child = fork();
    if (*child == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execlp("dot", "dot", format, "-o", file, (char *)NULL);
        fprintf(stderr, "starpu-tic: the command dot is needed for pictures: install graphviz, or "
                        "write a file that ends in .dot\n");
        _exit(127);
    }
    close(ends[0]);
    if (*child < 0)
        close(ends[1]);
    return *child < 0 ? NULL : fdopen(ends[1], "w");
}

/* A picture that is there stays until there is a new one: what is written has another name first,
 * unless it goes to something else than a file. NULL when out of memory. */
static char *name_to_write(const char *file)
{
    struct stat info;
    char *name = NULL;

    if (stat(file, &info) == 0 && !S_ISREG(info.st_mode))
        return strdup(file);
    return asprintf(&name, "%s.new", file) < 0 ? NULL : name;
}

static int put_in_place(const char *written, const char *file, int status)
{
    if (strcmp(written, file) == 0)
        return status;
    if (status == 0 && rename(written, file) == 0)
        return 0;
    status = status ? status : -errno;
    unlink(written);
    return status;
}

/* 0 or -errno; -ECANCELED when dot has said why. */
static int draw_into(struct picture *picture, const char *file, const char *format)
{
    pid_t child = -1;
    int ended = 0;

    picture->out = format ? open_dot(file, format, &child) : fopen(file, "we");
    if (!picture->out)
        return -errno;
    int status = draw(picture);
    if (fclose(picture->out) != 0 && status == 0)
        status = -errno;
    if (child > 0 && (waitpid(child, &ended, 0) != child || ended != 0))
        status = -ECANCELED;
    return status;
}

static int write_picture(const char *path, const char *file)
{
    struct picture picture = {0};
    char *written = name_to_write(file);
    int status = read_events(path, &picture);

    if (status == 0) {
        status = written ? draw_into(&picture, written, format_of(file)) : -ENOMEM;
        status = written ? put_in_place(written, file, status) : status;
        if (status && status != -ECANCELED)
            fprintf(stderr, "starpu-tic: cannot write %s: %s\n", file, strerror(-status));
    }
    free(written);
    forget_events(&picture);
    return status ? TIC_TOOL_FAILED : TIC_TOOL_OK;
}

int tic_tool_graph(int argc, char **argv)
{
    const char *file = NULL;
    const struct tic_option options[] = {{"output", 'o', tic_option_text, &file}, {0}};
    int status = tic_options_read(argc, argv, options, false, NULL);

    if (status >= 0)
        return status;
    if (optind + 1 != argc || !file)
        return tic_tool_usage("graph", TIC_TOOL_USAGE);
    if (!is_known_end(file)) {
        fprintf(stderr,
                "starpu-tic: %s: name a file that ends in .svg, .png, .pdf, .ps, .jpg, .gif or "
                ".dot\n",
                file);
        return TIC_TOOL_USAGE;
    }
    signal(SIGPIPE, SIG_IGN); /* when there is no dot */
    return write_picture(argv[optind], file);
}
