/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic extract: the value of a datum in a recovery line as a file of its own. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
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
#include "base/layout.h"
#include "store/h5.h"

struct tic_value_file {
    struct tic_shape shape;
    const char *bytes; /* packed, in the byte order of this machine */
    char kind;         /* 'f', 'i', 'u': what elements are; 0: not known */
    const struct tic_h5_ops *h5;
};

/* ---- the file -------------------------------------------------------------------------------- */

/* A value of a recovery line as a file that other programs read: .npy, .txt, .h5. */

static bool is_plain(uint32_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool is_number(const struct tic_value_file *file)
{
    return is_plain(file->shape.element_size);
}

/* The type of elements as NumPy names it, "<f8" or "|V24". False: there is none of this kind and
 * size. */
static bool tic_value_file_type(const struct tic_value_file *file, char type[8])
{
    uint32_t size = file->shape.element_size;
    char kind = file->kind ? file->kind : is_plain(size) ? 'u' : 'V';
    char order = size == 1 || kind == 'V' ? '|' : __BYTE_ORDER == __LITTLE_ENDIAN ? '<' : '>';

    snprintf(type, 8, "%c%c%u", order, kind, size % 10000);
    if (kind == 'f')
        return size == 4 || size == 8;
    return kind == 'V' ? size < 10000 : is_plain(size);
}

/* ---- NumPy ---------------------------------------------------------------------------------- */

/* Version 1.0 of its format: magic, the length of the header, the header, which ends with a newline
 * so that the data is aligned to 64 bytes. The slowest dimension comes first. */
static int write_npy(const struct tic_value_file *file, FILE *out)
{
    enum { MAGIC = 10, ALIGNED = 64 };
    char header[256], type[8];
    int used;

    tic_value_file_type(file, type);
    used = snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': False, 'shape': (",
                    type);
    for (unsigned i = file->shape.ndim; i-- > 0;)
        used += snprintf(header + used, sizeof(header) - (size_t)used, "%" PRIu64 ",%s",
                         file->shape.dims[i], i > 0 ? " " : "");
    used += snprintf(header + used, sizeof(header) - (size_t)used, "), }");
    int length = (MAGIC + used + 1 + ALIGNED - 1) / ALIGNED * ALIGNED - MAGIC;
    fwrite("\x93NUMPY\x01\x00", 1, 8, out);
    fputc(length & 255, out);
    fputc(length >> 8, out);
    fprintf(out, "%-*s\n", length - 1, header);
    fwrite(file->bytes, 1, tic_shape_bytes(&file->shape), out);
    return 0;
}

/* ---- text ----------------------------------------------------------------------------------- */

static void print_float(FILE *out, const char *element, uint32_t size)
{
    float single;
    double number;

    memcpy(size == 4 ? (void *)&single : (void *)&number, element, size);
    if (size == 4)
        fprintf(out, "%.9g", (double)single);
    else
        fprintf(out, "%.17g", number);
}

static void print_whole(FILE *out, const char *element, uint32_t size, bool is_signed)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t number;

    memcpy(size == 1   ? (void *)&one
           : size == 2 ? (void *)&two
           : size == 4 ? (void *)&four
                       : (void *)&number,
           element, size);
    number = size == 1 ? one : size == 2 ? two : size == 4 ? four : number;
    if (!is_signed)
        fprintf(out, "%" PRIu64, number);
    else
        fprintf(out, "%" PRId64,
                size == 1   ? (int64_t)(int8_t)number
                : size == 2 ? (int64_t)(int16_t)number
                : size == 4 ? (int64_t)(int32_t)number
                            : (int64_t)number);
}

static void print_element(const struct tic_value_file *file, FILE *out, const char *element)
{
    uint32_t size = file->shape.element_size;

    if (file->kind == 'f')
        print_float(out, element, size);
    else if (is_number(file))
        print_whole(out, element, size, file->kind == 'i');
    else
        for (uint32_t i = 0; i < size; i++)
            fprintf(out, "%02x", (unsigned char)element[i]);
}

/* A row for each of the fastest dimension; an empty line between planes. */
static int write_text(const struct tic_value_file *file, FILE *out)
{
    const struct tic_shape *shape = &file->shape;
    uint64_t count = tic_shape_bytes(shape) / shape->element_size;
    uint64_t plane = shape->dims[0] * (shape->ndim > 1 ? shape->dims[1] : 1);

    for (uint64_t i = 0; i < count; i++) {
        print_element(file, out, file->bytes + i * shape->element_size);
        bool ends_row = (i + 1) % shape->dims[0] == 0;
        fputs(!ends_row                                                  ? " "
              : (i + 1) % plane == 0 && i + 1 < count && shape->ndim > 2 ? "\n\n"
                                                                         : "\n",
              out);
    }
    return 0;
}

/* ---- HDF5 ----------------------------------------------------------------------------------- */

/* As in a segment: the dataset /payload-0 of one row. */
static int write_h5(const struct tic_value_file *file, const char *path)
{
    enum { USER_BLOCK = 4096 }; /* no less than the alignment of segments */
    const struct tic_shape *shape = &file->shape;
    struct tic_line_extent extent = {
        .element_size = shape->element_size, .ndim = shape->ndim, .rows = 1};
    struct tic_shape copy = *shape;
    struct tic_layout layout = tic_layout_packed(&copy, (char *)file->bytes);
    uint64_t checksum;

    memcpy(extent.dims, shape->dims, sizeof(extent.dims));
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    int status = file->h5->segment_format(path, USER_BLOCK, &extent, 1);
    status = status ? status : tic_layout_write(&layout, fd, (off_t)extent.offset, &checksum);
    if (close(fd) != 0 && status == 0)
        status = -errno;
    return status;
}

/* ---- the file ------------------------------------------------------------------------------- */

static int write_stream(const struct tic_value_file *file, const char *path,
                        int (*write)(const struct tic_value_file *file, FILE *out))
{
    FILE *out = fopen(path, "we");

    if (!out)
        return -errno;
    int status = write(file, out);
    if (ferror(out) && status == 0)
        status = -EIO;
    return fclose(out) != 0 && status == 0 ? -errno : status;
}

/* The ending of the path tells the form. 0; -ENOTSUP: it tells none; other -errno. */
static int tic_value_file_write(const struct tic_value_file *file, const char *path)
{
    const char *end = strrchr(path, '.');

    if (end && strcmp(end, ".npy") == 0)
        return write_stream(file, path, write_npy);
    if (end && strcmp(end, ".txt") == 0)
        return write_stream(file, path, write_text);
    return end && strcmp(end, ".h5") == 0 ? write_h5(file, path) : -ENOTSUP;
}

struct request {
    const char *path, *output;
    const char *name;    /* of the datum; NULL: its number is given */
    uint64_t data, line; /* line 0: the newest */
    bool has_data, as_json;
    char type; /* 'f', 'i', 'u'; 0: not said */
};

static const char help[] =
    "\n  -o, --output FILE   .npy, .txt or .h5: in which form the ending tells\n"
    "  -l, --line NUMBER   recovery line (the newest that can be read)\n"
    "  -t, --type TYPE     float, int or uint: a line knows sizes, but not what bits mean\n"
    "                      (uint)\n"
    "  -j, --json          print a JSON object with what was written\n\n"
    "DATA is the number of a registration, or the name that the program has given the\n"
    "datum. Without it, all data of the line is listed.";

static bool take_type(const char *text, void *to)
{
    char *type = to;

    *type = strcmp(text, "float") == 0  ? 'f'
            : strcmp(text, "int") == 0  ? 'i'
            : strcmp(text, "uint") == 0 ? 'u'
                                        : 0;
    return *type != 0;
}

/* -1, or an exit status. */
static int parse_options(int argc, char **argv, struct request *request)
{
    const struct tic_option options[] = {{"output", 'o', tic_option_text, &request->output},
                                         {"line", 'l', tic_chosen_take_number, &request->line},
                                         {"type", 't', take_type, &request->type},
                                         {"json", 'j', NULL, &request->as_json},
                                         {0}};
    int status = tic_options_read(argc, argv, options, false, help);

    if (status >= 0)
        return status;
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
    tic_json_print(answer, 17);
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
