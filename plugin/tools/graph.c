/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic graph: the tasks and data that the event log holds, as a picture. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/draw.h"
#include "tools/events.h"
#include "tools/reach.h"
#include "tools/tool.h"

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

static bool has_task(const struct tic_events *events)
{
    for (size_t i = 0; i < events->count; i++)
        if (events->items[i].kind == TIC_LOGGED_CREATED)
            return true;
    return false;
}

static void write_events(FILE *out, const void *events)
{
    tic_events_write(out, events);
}

/* Without a picture the events are printed. */
static int draw(const struct tic_events *events, const char *file)
{
    char dot[PATH_MAX];
    const char *format = format_of(file);

    if (format && !tic_reach_find("dot", dot)) {
        fputs("starpu-tic: the command dot is needed for pictures: install graphviz, or write a "
              "file that ends in .dot\n",
              stderr);
        return TIC_TOOL_FAILED;
    }
    FILE *drawn = tic_draw("graph", write_events, events);
    if (!drawn)
        tic_events_print(events);
    return format ? tic_draw_put_by_dot(drawn, file, format) : tic_draw_put(drawn, file);
}

static int write_picture(const char *path, const char *file)
{
    struct tic_events events = {0};
    int status = tic_events_read(path, &events);

    if (status) {
        tic_arguments_cannot_read(path, status);
        return TIC_TOOL_FAILED;
    }
    if (has_task(&events)) {
        status = draw(&events, file);
    } else {
        fprintf(stderr,
                "starpu-tic: the event log in %s holds no task: only sel and tic+sel log them\n",
                path);
        status = TIC_TOOL_FAILED;
    }
    tic_events_clear(&events);
    return status;
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
    return write_picture(argv[optind], file);
}
