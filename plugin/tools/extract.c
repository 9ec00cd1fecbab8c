/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic extract: the value of a datum in a recovery line as a file of its own. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "store/payload.h"
#include "tools/arguments.h"
#include "tools/chosen.h"
#include "tools/json_text.h"
#include "tools/saved.h"
#include "tools/scale.h"
#include "tools/tool.h"
#include "tools/value_file.h"

struct request {
    const char *path, *output;
    const char *name;    /* of the datum; NULL: its number is given */
    uint64_t data, line; /* line 0: the newest */
    bool has_data, as_json;
    char type; /* 'f', 'i', 'u'; 0: not said */
};

static void print_help(void)
{
    tic_tool_usage("extract", TIC_TOOL_OK);
    puts("\n  -o, --output FILE   .npy, .txt or .h5: in which form the ending tells\n"
         "  -l, --line NUMBER   recovery line (the newest that can be read)\n"
         "  -t, --type TYPE     float, int or uint: a line knows sizes, but not what bits mean\n"
         "                      (uint)\n"
         "  -j, --json          print a JSON object with what was written\n\n"
         "DATA is the number of a registration, or the name that the program has given the\n"
         "datum. Without it, all data of the line is listed.");
}

static bool parse_type(const char *text, char *type)
{
    *type = strcmp(text, "float") == 0  ? 'f'
            : strcmp(text, "int") == 0  ? 'i'
            : strcmp(text, "uint") == 0 ? 'u'
                                        : 0;
    return *type != 0;
}

static bool parse_option(int option, struct request *request)
{
    switch (option) {
    case 'o':
        request->output = optarg;
        return true;
    case 'l':
        return tic_chosen_parse_number(optarg, &request->line) && request->line > 0;
    case 't':
        return parse_type(optarg, &request->type);
    default:
        return request->as_json = true;
    }
}

/* -1, or an exit status. */
static int parse_options(int argc, char **argv, struct request *request)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"line", required_argument, NULL, 'l'},
        {"type", required_argument, NULL, 't'},   {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},         {0}};
    int option;

    while ((option = getopt_long(argc, argv, "o:l:t:jh", options, NULL)) != -1) {
        if (option == 'h') {
            print_help();
            return TIC_TOOL_OK;
        }
        if (option != '?' && parse_option(option, request))
            continue;
        return option == '?' ? tic_tool_usage("extract", TIC_TOOL_USAGE)
                             : tic_arguments_refuse("extract", options, option, optarg);
    }
    int count = argc - optind;
    request->has_data = count == 2;
    if (!(count == 1 && !request->output) && !(count == 2 && request->output))
        return tic_tool_usage("extract", TIC_TOOL_USAGE);
    if (count == 2 && !tic_chosen_parse_number(argv[optind + 1], &request->data))
        request->name = argv[optind + 1];
    request->path = argv[optind];
    return -1;
}

/* ---- all data ------------------------------------------------------------------------------- */

static json_t *describe(const struct tic_line *line, const struct tic_line_value *value)
{
    struct tic_shape shape = tic_line_extent_shape(&line->extents[value->extent]);
    json_t *dims = json_array();

    for (unsigned i = shape.ndim; i-- > 0;)
        json_array_append_new(dims, json_integer((json_int_t)shape.dims[i]));
    json_t *entry = json_pack(
        "{s:I, s:I, s:I, s:I, s:o, s:b}", "data", (json_int_t)value->id, "version",
        (json_int_t)value->version, "bytes", (json_int_t)tic_shape_bytes(&shape), "element_size",
        (json_int_t)shape.element_size, "shape", dims, "gone", value->gone != 0);
    if (tic_name_plain(value->id))
        json_object_set_new(entry, "name", tic_json_text(tic_name_plain(value->id)));
    return entry;
}

static int list_data(const struct tic_line *line, bool as_json)
{
    json_t *list = json_array();

    if (!as_json)
        printf("line %" PRIu64 "\n%10s  %10s  %10s  %s\n", line->number, "data", "size", "written",
               "shape");
    for (size_t i = 0; i < line->value_count; i++) {
        const struct tic_line_value *value = &line->values[i];
        struct tic_shape shape = tic_line_extent_shape(&line->extents[value->extent]);
        char bytes[TIC_SCALE_TEXT], text[128];
        json_array_append_new(list, describe(line, value));
        tic_scale_bytes(bytes, (double)tic_shape_bytes(&shape));
        tic_saved_shape_text(text, sizeof(text), &shape);
        if (!as_json)
            printf("%10" PRIu64 "  %10s  %10" PRIu64 "  %s%s\n", value->id, bytes, value->version,
                   text, tic_name_of(value->id));
    }
    json_t *answer = json_pack("{s:I, s:o}", "line", (json_int_t)line->number, "data", list);
    if (as_json) {
        json_dumpf(answer, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        putchar('\n');
    }
    json_decref(answer);
    return TIC_TOOL_OK;
}

/* ---- one ------------------------------------------------------------------------------------ */

static const struct tic_line_value *find(const struct tic_line *line, uint64_t id)
{
    for (size_t i = 0; i < line->value_count; i++)
        if (line->values[i].id == id)
            return &line->values[i];
    return NULL;
}

/* The datum that is meant; NULL after a message. */
static const struct tic_line_value *find_meant(const struct request *request,
                                               const struct tic_line *line)
{
    uint64_t id = request->data;
    int status = request->name ? tic_saved_find_name(line, request->name, &id) : 0;
    const struct tic_line_value *value = status ? NULL : find(line, id);

    if (status)
        fprintf(stderr, "starpu-tic: %s named \"%s\" in line %" PRIu64 " of %s\n",
                status == -EEXIST ? "several data are" : "no data is", request->name, line->number,
                request->path);
    else if (!value)
        fprintf(stderr, "starpu-tic: no data %" PRIu64 " in line %" PRIu64 " of %s\n", id,
                line->number, request->path);
    return value;
}

/* The value (malloc'ed), whose checksum is right. 0 or -errno. */
static int read_value(struct tic_chosen *chosen, const struct tic_line_value *value, char **bytes)
{
    const struct tic_line_extent *extent = &chosen->line.extents[value->extent];
    struct tic_shape shape = tic_line_extent_shape(extent);
    int fd = tic_store_peek_segment(&chosen->store, extent->segment);
    uint64_t checksum;

    if (fd < 0)
        return fd;
    *bytes = malloc(tic_shape_bytes(&shape) + 1);
    struct tic_layout layout = tic_layout_packed(&shape, *bytes);
    struct tic_place place = tic_payload_place(extent, value->row, fd);
    int status = *bytes ? tic_payload_read(chosen->store.h5, &place, &layout, &checksum) : -ENOMEM;
    close(fd);
    if (status == 0 && checksum != value->checksum)
        status = -EBADMSG;
    if (status) {
        free(*bytes);
        *bytes = NULL;
    }
    return status;
}

static void print_written(const struct request *request, const struct tic_line *line,
                          const struct tic_line_value *value, const char *type)
{
    json_t *answer = describe(line, value);

    json_object_set_new(answer, "line", json_integer((json_int_t)line->number));
    json_object_set_new(answer, "type", json_string(type));
    json_object_set_new(answer, "file", json_string(request->output));
    json_dumpf(answer, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    putchar('\n');
    json_decref(answer);
}

static int extract(const struct request *request, struct tic_chosen *chosen)
{
    const struct tic_line_value *value = find_meant(request, &chosen->line);
    char *bytes = NULL, type[8];

    if (!value)
        return TIC_TOOL_FAILED;
    struct tic_value_file file = {.shape =
                                      tic_line_extent_shape(&chosen->line.extents[value->extent]),
                                  .h5 = chosen->store.h5,
                                  .kind = request->type};
    if (!tic_value_file_type(&file, type)) {
        fprintf(stderr, "starpu-tic: elements of %u bytes are not of this type\n",
                file.shape.element_size);
        return TIC_TOOL_USAGE;
    }
    int status = read_value(chosen, value, &bytes);
    if (status) {
        fprintf(stderr, "starpu-tic: data %" PRIu64 " of line %" PRIu64 ": %s\n", value->id,
                chosen->line.number, tic_store_reason(status));
        return TIC_TOOL_FAILED;
    }
    file.bytes = bytes;
    status = tic_value_file_write(&file, request->output);
    free(bytes);
    if (status) {
        fprintf(stderr, "starpu-tic: cannot write %s: %s\n", request->output,
                status == -ENOTSUP ? "its name must end with .npy, .txt or .h5"
                                   : strerror(-status));
        return status == -ENOTSUP ? TIC_TOOL_USAGE : TIC_TOOL_FAILED;
    }
    if (request->as_json)
        print_written(request, &chosen->line, value, type);
    return TIC_TOOL_OK;
}

int tic_tool_extract(int argc, char **argv)
{
    static struct tic_chosen chosen;
    struct request request = {0};
    int status = parse_options(argc, argv, &request);

    if (status >= 0)
        return status;
    if (tic_chosen_open(&chosen, request.path, request.line, 0) != 0)
        return TIC_TOOL_FAILED;
    status =
        request.has_data ? extract(&request, &chosen) : list_data(&chosen.line, request.as_json);
    tic_chosen_close(&chosen);
    return status;
}
