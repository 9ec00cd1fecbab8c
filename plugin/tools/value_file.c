/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/value_file.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_plain(uint32_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool is_number(const struct tic_value_file *file)
{
    return is_plain(file->shape.element_size);
}

bool tic_value_file_type(const struct tic_value_file *file, char type[8])
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

int tic_value_file_write(const struct tic_value_file *file, const char *path)
{
    const char *end = strrchr(path, '.');

    if (end && strcmp(end, ".npy") == 0)
        return write_stream(file, path, write_npy);
    if (end && strcmp(end, ".txt") == 0)
        return write_stream(file, path, write_text);
    return end && strcmp(end, ".h5") == 0 ? write_h5(file, path) : -ENOTSUP;
}
