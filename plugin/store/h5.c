/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All that needs libhdf5 or libz: formatting segments, lines to and from HDF5 images, deflate. */
#include "store/h5.h"

#include <dlfcn.h>
#include <errno.h>
#include <hdf5.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/types.h"
#include "store/schema.h"
#include "store/table.h"

enum { CORE_INCREMENT = 1 << 16, PAYLOAD_ALIGNMENT = 4096, MAX_TEXT = 1 << 16 };
enum { DEFLATE_AT_ONCE = 1 << 16 }; /* at level 9 a tenth of a second, at the worst */
enum { CONVERTED_AT_ONCE = 1 << 14 };
#define MAX_TABLE_ROWS (UINT64_C(1) << 32)

#define TABLE_FIELDS(path, S, array, count, FIELDS)                                                \
    static const struct tic_field array##_fields[] = {FIELDS(S, TIC_FIELD_ROW){NULL, 0, 0}};
TIC_LINE_TABLES(TABLE_FIELDS)
TIC_LINE_LATER_TABLES(TABLE_FIELDS)
TIC_LINE_EARLIER_TABLES(TABLE_FIELDS)

static hid_t field_type(char type, bool in_memory)
{
    if (type == 'I')
        return in_memory ? H5T_NATIVE_INT64 : H5T_STD_I64LE;
    if (type == 'U')
        return in_memory ? H5T_NATIVE_UINT64 : H5T_STD_U64LE;
    return in_memory ? H5T_NATIVE_UINT32 : H5T_STD_U32LE;
}

static hid_t compound_type(const struct tic_field *fields, size_t struct_size, bool in_memory)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, in_memory ? struct_size : tic_fields_size(fields));
    size_t at = 0;
    for (const struct tic_field *f = fields; f->name && type >= 0; f++) {
        H5Tinsert(type, f->name, in_memory ? f->offset : at, field_type(f->type, in_memory));
        at += f->type == 'u' ? 4 : 8;
    }
    return type;
}

/* HDF5 fills two buffers with zeros for each table, each of a megabyte by default: half the time of
 * a short line. */
static hid_t conversion(void)
{
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_buffer(transfer, CONVERTED_AT_ONCE, NULL, NULL);
    return transfer;
}

/* Does the program call this very library? */
static bool is_shared(void)
{
    return dlsym(RTLD_DEFAULT, "H5open") == (void *)H5open;
}

/* Children of fork that end by exit() must not run an exit handler of the library: the checkpoint
 * thread may have held its lock when they were made. A program that has the same library may need
 * the handler: it writes what the program has left open. */
__attribute__((constructor)) static void forbid_exit_handler(void)
{
    if (!is_shared())
        H5dont_atexit();
}

static enum tic_h5_trouble trouble(void)
{
    hbool_t safe = false;

    if (H5open() < 0 || H5Tget_class(H5T_NATIVE_UINT64) != H5T_INTEGER ||
        H5Pequal(H5P_FILE_ACCESS, H5P_FILE_ACCESS) <= 0)
        return TIC_H5_DEAD;
    return is_shared() && (H5is_library_threadsafe(&safe) < 0 || !safe) ? TIC_H5_RACES
                                                                        : TIC_H5_FINE;
}

/* ---- writing -------------------------------------------------------------------------------- */

static int write_array(hid_t file, const char *path, hid_t disk, hid_t memory, const void *data,
                       size_t count)
{
    hsize_t dims[1] = {count};
    hid_t space = H5Screate_simple(1, dims, NULL);
    hid_t set = H5Dcreate2(file, path, disk, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t transfer = conversion();
    int status = set < 0 ? -ELIBBAD : 0;
    if (status == 0 && count > 0 && H5Dwrite(set, memory, H5S_ALL, H5S_ALL, transfer, data) < 0)
        status = -ELIBBAD;
    H5Pclose(transfer);
    H5Dclose(set);
    H5Sclose(space);
    return status;
}

static int write_table(hid_t file, const char *path, const struct tic_field *fields, size_t item,
                       const void *data, size_t count)
{
    hid_t disk = compound_type(fields, item, false), memory = compound_type(fields, item, true);
    int status = write_array(file, path, disk, memory, data, count);
    H5Tclose(disk);
    H5Tclose(memory);
    return status;
}

static int write_attribute(hid_t file, const char *name, hid_t disk, hid_t memory, const void *data)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(file, name, disk, space, H5P_DEFAULT, H5P_DEFAULT);
    int status = attribute < 0 || H5Awrite(attribute, memory, data) < 0 ? -ELIBBAD : 0;
    H5Aclose(attribute);
    H5Sclose(space);
    return status;
}

static int write_number(hid_t file, const char *name, uint64_t number)
{
    return write_attribute(file, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &number);
}

static int write_text(hid_t file, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(text) + 1);
    H5Tset_cset(type, H5T_CSET_UTF8);
    int status = write_attribute(file, name, type, type, text);
    H5Tclose(type);
    return status;
}

static int write_line(hid_t file, const struct tic_line *line)
{
    int status = 0;
#define TRY(call) status = status ? status : (call);
#define WRITE_NUMBER(member) TRY(write_number(file, #member, line->member))
#define WRITE_ACCOUNT_NUMBER(member) TRY(write_number(file, #member, line->account.member))
#define WRITE_NAMED_NUMBER(name, member) TRY(write_number(file, #name, line->member))
#define WRITE_MACHINE_NUMBER(member) TRY(write_number(file, #member, line->on.member))
#define WRITE_MACHINE_TEXT(member)                                                                 \
    TRY(write_text(file, #member, line->on.member ? line->on.member : ""))
#define WRITE_TEXT(member) TRY(write_text(file, #member, line->member ? line->member : ""))
#define WRITE_TABLE(path, S, array, count, FIELDS)                                                 \
    status = status ? status                                                                       \
                    : write_table(file, path, array##_fields, sizeof(struct S), line->array,       \
                                  line->count);
#define DISK_UINT8 H5T_STD_U8LE
#define DISK_UINT32 H5T_STD_U32LE
#define DISK_UINT64 H5T_STD_U64LE
#define WRITE_ARRAY(path, type, array, count)                                                      \
    status = status ? status                                                                       \
                    : write_array(file, path, DISK_##type, H5T_NATIVE_##type, line->array,         \
                                  line->count);
    TIC_LINE_NUMBERS(WRITE_NUMBER)
    TIC_MACHINE_NUMBERS(WRITE_MACHINE_NUMBER)
    TIC_MACHINE_LATER_NUMBERS(WRITE_MACHINE_NUMBER)
    TIC_MACHINE_LATER_TEXTS(WRITE_MACHINE_TEXT)
    TIC_ACCOUNT_NUMBERS(WRITE_ACCOUNT_NUMBER)
    TIC_ACCOUNT_LATER_NUMBERS(WRITE_ACCOUNT_NUMBER)
    TIC_LINE_TEXTS(WRITE_TEXT)
    TIC_LINE_LATER_TEXTS(WRITE_TEXT)
    TIC_LINE_LATER_NUMBERS(WRITE_NUMBER)
    TIC_LINE_NAMED_NUMBERS(WRITE_NAMED_NUMBER)
    TIC_LINE_TABLES(WRITE_TABLE)
    TIC_LINE_LATER_TABLES(WRITE_TABLE)
    status = status ? status
                    : write_attribute(file, TIC_LINE_CREATED, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
                                      &line->created);
    TIC_LINE_ARRAYS(WRITE_ARRAY)
    TIC_LINE_LATER_ARRAYS(WRITE_ARRAY)
    return status;
}

static hid_t core_access(const void *image, size_t size)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, CORE_INCREMENT, false);
    if (image)
        H5Pset_file_image(access, (void *)image, size);
    return access;
}

static int line_encode(const struct tic_line *line, void **image, size_t *size)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t access = core_access(NULL, 0);
    hid_t file = H5Fcreate("line", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    int status = file < 0 ? -ELIBBAD : write_line(file, line);
    void *bytes = NULL;
    ssize_t length = 0;

    if (status == 0 && H5Fflush(file, H5F_SCOPE_LOCAL) < 0)
        status = -ELIBBAD;
    if (status == 0)
        length = H5Fget_file_image(file, NULL, 0);
    if (status == 0 && (length <= 0 || !(bytes = malloc((size_t)length)) ||
                        H5Fget_file_image(file, bytes, (size_t)length) != length))
        status = -ELIBBAD;
    H5Fclose(file);
    H5Pclose(access);
    if (status) {
        free(bytes);
        return status;
    }
    *image = bytes;
    *size = (size_t)length;
    return 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Reads a whole one-dimensional dataset into a new array. */
static int read_array(hid_t file, const char *path, hid_t memory, size_t item, void *data,
                      size_t *count)
{
    hsize_t rows = 0, whole = 0;
    hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
    hid_t space = set < 0 ? -1 : H5Dget_space(set);
    bool fine = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                H5Sget_simple_extent_dims(space, &rows, NULL) == 1 && rows < MAX_TABLE_ROWS &&
                H5Fget_filesize(file, &whole) >= 0 && H5Dget_storage_size(set) <= whole &&
                rows <= H5Dget_storage_size(set); /* so what is allocated is bounded by the file */
    void *array = fine ? calloc(rows ? rows : 1, item) : NULL;
    hid_t transfer = conversion();
    fine = array && (rows == 0 || H5Dread(set, memory, H5S_ALL, H5S_ALL, transfer, array) >= 0);
    H5Pclose(transfer);
    H5Sclose(space);
    H5Dclose(set);
    if (!fine) {
        free(array);
        return -EIO;
    }
    *(void **)data = array;
    *count = rows;
    return 0;
}

static int read_table(hid_t file, const char *path, const struct tic_field *fields, size_t item,
                      void *data, size_t *count)
{
    hid_t memory = compound_type(fields, item, true);
    int status = read_array(file, path, memory, item, data, count);
    H5Tclose(memory);
    return status;
}

static int read_number(hid_t file, const char *name, hid_t memory, void *out)
{
    hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
    hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
    bool fine = space >= 0 && H5Sget_simple_extent_npoints(space) == 1 &&
                H5Aread(attribute, memory, out) >= 0;
    H5Sclose(space);
    H5Aclose(attribute);
    return fine ? 0 : -EIO;
}

static int read_text(hid_t file, const char *name, char **out)
{
    hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
    hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
    size_t size = type < 0 ? 0 : H5Tget_size(type);
    bool fine = size > 0 && size <= MAX_TEXT && H5Tget_class(type) == H5T_STRING &&
                H5Tis_variable_str(type) == 0;
    char *text = fine ? calloc(1, size + 1) : NULL;
    fine = text && H5Aread(attribute, type, text) >= 0;
    H5Tclose(type);
    H5Aclose(attribute);
    if (!fine) {
        free(text);
        return -EIO;
    }
    *out = text;
    return 0;
}

/* Empty in lines of before it was written. */
static int read_later_text(hid_t file, const char *name, char **out)
{
    if (H5Aexists(file, name) > 0)
        return read_text(file, name, out);
    *out = strdup("");
    return *out ? 0 : -ENOMEM;
}

/* Of a later minor format. */
static int read_later_number(hid_t file, const char *name, uint64_t *number)
{
    return H5Aexists(file, name) > 0 ? read_number(file, name, H5T_NATIVE_UINT64, number) : 0;
}

static int read_line(hid_t file, struct tic_line *line)
{
    int status = 0;
#define READ_NUMBER(member) TRY(read_number(file, #member, H5T_NATIVE_UINT64, &line->member))
#define READ_ACCOUNT_NUMBER(member)                                                                \
    TRY(read_number(file, #member, H5T_NATIVE_UINT64, &line->account.member))
#define READ_LATER_ACCOUNT_NUMBER(member)                                                          \
    TRY(read_later_number(file, #member, &line->account.member))
#define READ_MACHINE_NUMBER(member)                                                                \
    TRY(read_number(file, #member, H5T_NATIVE_UINT64, &line->on.member))
#define READ_LATER_MACHINE_NUMBER(member) TRY(read_later_number(file, #member, &line->on.member))
#define READ_LATER_MACHINE_TEXT(member) TRY(read_later_text(file, #member, &line->on.member))
#define READ_TEXT(member) TRY(read_text(file, #member, &line->member))
#define READ_LATER_TEXT(member) TRY(read_later_text(file, #member, &line->member))
#define READ_LATER_NUMBER(member) TRY(read_later_number(file, #member, &line->member))
#define READ_NAMED_NUMBER(name, member) TRY(read_later_number(file, #name, &line->member))
#define READ_TABLE(path, S, array, count, FIELDS)                                                  \
    status = status ? status                                                                       \
                    : read_table(file, path, array##_fields, sizeof(struct S), &line->array,       \
                                 &line->count);
#define READ_LATER_TABLE(path, S, array, count, FIELDS)                                            \
    if (status == 0 && H5Lexists(file, path, H5P_DEFAULT) > 0)                                     \
    READ_TABLE(path, S, array, count, FIELDS)
#define READ_ARRAY(path, type, array, count)                                                       \
    status = status ? status                                                                       \
                    : read_array(file, path, H5T_NATIVE_##type, sizeof(*line->array),              \
                                 &line->array, &line->count);
#define READ_LATER_ARRAY(path, type, array, count)                                                 \
    if (status == 0 && H5Lexists(file, path, H5P_DEFAULT) > 0)                                     \
    READ_ARRAY(path, type, array, count)
    TIC_LINE_NUMBERS(READ_NUMBER)
    TIC_MACHINE_NUMBERS(READ_MACHINE_NUMBER)
    TIC_MACHINE_LATER_NUMBERS(READ_LATER_MACHINE_NUMBER)
    TIC_MACHINE_LATER_TEXTS(READ_LATER_MACHINE_TEXT)
    TIC_ACCOUNT_NUMBERS(READ_ACCOUNT_NUMBER)
    TIC_ACCOUNT_LATER_NUMBERS(READ_LATER_ACCOUNT_NUMBER)
    TIC_LINE_TEXTS(READ_TEXT)
    TIC_LINE_LATER_TEXTS(READ_LATER_TEXT)
    TIC_LINE_LATER_NUMBERS(READ_LATER_NUMBER)
    TIC_LINE_NAMED_NUMBERS(READ_NAMED_NUMBER)
    TIC_LINE_TABLES(READ_TABLE)
    TIC_LINE_LATER_TABLES(READ_LATER_TABLE)
    TIC_LINE_EARLIER_TABLES(READ_LATER_TABLE)
    TRY(read_number(file, TIC_LINE_CREATED, H5T_NATIVE_DOUBLE, &line->created))
    TIC_LINE_ARRAYS(READ_ARRAY)
    TIC_LINE_LATER_ARRAYS(READ_LATER_ARRAY)
    TIC_LINE_EARLIER_ARRAYS(READ_LATER_ARRAY)
    return status;
}

static int line_decode(const void *image, size_t size, struct tic_line *line)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t access = core_access(image, size);
    hid_t file = H5Fopen("line", H5F_ACC_RDONLY, access);
    struct tic_line read = {0};
    int status = file < 0 ? -EIO : read_line(file, &read);

    H5Fclose(file);
    H5Pclose(access);
    if (status)
        tic_line_clear(&read);
    else
        *line = read;
    return status;
}

/* ---- segments ------------------------------------------------------------------------------- */

/* HDF5 leaves the errno of the call that failed; none has if the library itself refuses. */
static int failure(void)
{
    return errno ? -errno : -ELIBBAD;
}

/* Where nobody has declared it, the type says size and byte order only. */
static hid_t payload_type(const struct tic_line_extent *extent)
{
    const hid_t numbers[] = {[1] = H5T_NATIVE_UINT8,
                             [2] = H5T_NATIVE_UINT16,
                             [4] = H5T_NATIVE_UINT32,
                             [8] = H5T_NATIVE_UINT64};
    const enum tic_type_kind kind = tic_type_kind(extent->type);

    if (kind == TIC_TYPE_FLOAT && extent->element_size == sizeof(float))
        return H5Tcopy(H5T_NATIVE_FLOAT);
    if (kind == TIC_TYPE_DOUBLE && extent->element_size == sizeof(double))
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    return extent->element_size <= 8 && numbers[extent->element_size] != 0
               ? H5Tcopy(numbers[extent->element_size])
               : H5Tcreate(H5T_OPAQUE, extent->element_size);
}

static hid_t create_set(hid_t file, const char *format, hid_t creation,
                        const struct tic_line_extent *extent)
{
    char name[32];
    hsize_t dims[TIC_MAX_DIMS + 1] = {extent->rows};
    for (uint32_t i = 0; i < extent->ndim; i++)
        dims[extent->ndim - i] = extent->dims[i];
    snprintf(name, sizeof(name), format, extent->dataset);
    hid_t type = payload_type(extent);
    hid_t space = H5Screate_simple((int)extent->ndim + 1, dims, NULL);
    if (H5Pget_layout(creation) == H5D_CHUNKED) {
        dims[0] = 1;
        H5Pset_chunk(creation, (int)extent->ndim + 1, dims);
    }
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Sclose(space);
    H5Tclose(type);
    return set;
}

/* The chunks are as small as HDF5 makes empty ones: the keys will lead to the space of the rows. */
static int create_chunks(hid_t file, struct tic_line_extent *extent)
{
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    haddr_t first = HADDR_UNDEF;
    H5Pset_layout(creation, H5D_CHUNKED);
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, 1);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    hid_t set = create_set(file, TIC_SEGMENT_DATASET, creation, extent);
    hid_t space = set < 0 ? -1 : H5Dget_space(set);
    if (space < 0 || H5Dget_chunk_info(set, space, 0, NULL, NULL, &first, NULL) < 0)
        first = HADDR_UNDEF;
    H5Sclose(space);
    H5Dclose(set);
    H5Pclose(creation);
    extent->keys = first;
    return first == HADDR_UNDEF ? failure() : 0;
}

static int create_extent(hid_t file, hid_t creation, struct tic_line_extent *extent)
{
    int status = extent->keys ? create_chunks(file, extent) : 0;
    const char *format = extent->keys ? TIC_SEGMENT_SPACE : TIC_SEGMENT_DATASET;
    hid_t set = status ? -1 : create_set(file, format, creation, extent);
    haddr_t offset = set < 0 ? HADDR_UNDEF : H5Dget_offset(set);
    H5Dclose(set);
    if (offset == HADDR_UNDEF)
        return status ? status : failure();
    extent->offset = offset;
    return 0;
}

/* A node of a B-tree of chunks has this many keys for them twice at most. */
static unsigned node_size(const struct tic_line_extent *extents, size_t count)
{
    unsigned half = 32; /* as HDF5 has it */
    for (size_t i = 0; i < count; i++)
        if (extents[i].keys && (extents[i].rows + 1) / 2 > half)
            half = (unsigned)((extents[i].rows + 1) / 2);
    return half;
}

static int segment_format(const char *path, size_t header, struct tic_line_extent *extents,
                          size_t count)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_DATASET_CREATE);
    hid_t layout = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_file_locking(access, false, true); /* flock() may be missing: p*.lock is ours */
    H5Pset_userblock(layout, header);
    H5Pset_istore_k(layout, node_size(extents, count));
    H5Pset_alignment(access, PAYLOAD_ALIGNMENT, PAYLOAD_ALIGNMENT);
    H5Pset_layout(creation, H5D_CONTIGUOUS);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    errno = 0;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, layout, access);
    int status = file < 0 ? failure() : 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = create_extent(file, creation, &extents[i]);
    errno = 0;
    if (file >= 0 && H5Fclose(file) < 0)
        status = failure();
    H5Pclose(layout);
    H5Pclose(creation);
    H5Pclose(access);
    return status;
}

/* ---- compression ---------------------------------------------------------------------------- */

static int deflate_bytes(const void *bytes, size_t size, int level, void *to, size_t *written,
                         const _Atomic bool *stop)
{
    z_stream stream = {.next_in = (void *)bytes, .next_out = to};
    size_t left = size, room = *written;
    int result = deflateInit(&stream, level);

    if (result != Z_OK)
        return -ENOMEM;
    while (result == Z_OK && !atomic_load_explicit(stop, memory_order_relaxed)) {
        uInt in = left < DEFLATE_AT_ONCE ? (uInt)left : DEFLATE_AT_ONCE;
        uInt out = room < UINT_MAX ? (uInt)room : UINT_MAX;
        stream.avail_in = in;
        stream.avail_out = out;
        result = deflate(&stream, left == in ? Z_FINISH : Z_NO_FLUSH);
        left -= in - stream.avail_in;
        room -= out - stream.avail_out;
        if (result == Z_OK && room == 0)
            break;
    }
    deflateEnd(&stream);
    *written -= room;
    return result == Z_STREAM_END ? 0 : -E2BIG;
}

static int inflate_bytes(const void *from, size_t length, void *bytes, size_t size)
{
    uLongf got = size;
    int result = uncompress(bytes, &got, from, length);

    return result == Z_MEM_ERROR ? -ENOMEM : result == Z_OK && got == size ? 0 : -EBADMSG;
}

__attribute__((visibility("default"))) const struct tic_h5_ops tic_h5_ops = {
    .trouble = trouble,
    .segment_format = segment_format,
    .line_encode = line_encode,
    .line_decode = line_decode,
    .deflate = deflate_bytes,
    .inflate = inflate_bytes,
};
