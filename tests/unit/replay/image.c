/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "starpu_tic.h"
#include "store/h5load.h"

enum { PAGE = 4096, USER_BLOCK = 512 };

struct file {
    char name[64];
    char *bytes;
    size_t size;
};

struct tic_image {
    struct file files[64];
    unsigned count;
};

static void give_up(const char *what)
{
    perror(what);
    exit(99);
}

static void path_of(char *path, size_t size, const char *directory, const char *name)
{
    if ((size_t)snprintf(path, size, "%s/%s", directory, name) >= size)
        give_up(name);
}

static void read_file(struct file *file, const char *directory)
{
    char path[512];
    struct stat about;

    path_of(path, sizeof(path), directory, file->name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) != 0)
        give_up(path);
    file->size = (size_t)about.st_size;
    file->bytes = malloc(file->size + 1);
    if (!file->bytes || read(fd, file->bytes, file->size) != (ssize_t)file->size)
        give_up(path);
    close(fd);
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

struct tic_image *tic_image_read(const char *directory)
{
    struct tic_image *image = calloc(1, sizeof(*image));
    DIR *listing = opendir(directory);
    const struct dirent *entry;

    while (image && listing && (entry = readdir(listing))) {
        if (entry->d_name[0] == '.')
            continue;
        struct file *file = &image->files[image->count++];
        if (image->count > sizeof(image->files) / sizeof(image->files[0]))
            give_up("files");
        snprintf(file->name, sizeof(file->name), "%.63s", entry->d_name);
        read_file(file, directory);
    }
    if (listing)
        closedir(listing);
    qsort(image->files, image->count, sizeof(struct file), compare);
    return image;
}

void tic_image_free(struct tic_image *image)
{
    for (unsigned i = 0; i < image->count; i++)
        free(image->files[i].bytes);
    free(image);
}

static bool is_zero(const char *bytes, size_t size)
{
    static const char zeros[PAGE];

    return memcmp(bytes, zeros, size) == 0;
}

/* Most of a segment is a hole. */
static void write_file(const struct file *file, const char *directory)
{
    char path[512];

    path_of(path, sizeof(path), directory, file->name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)file->size) != 0)
        give_up(path);
    for (size_t at = 0; at < file->size; at += PAGE) {
        size_t size = file->size - at < PAGE ? file->size - at : PAGE;
        if (!is_zero(file->bytes + at, size) &&
            pwrite(fd, file->bytes + at, size, (off_t)at) != (ssize_t)size)
            give_up(path);
    }
    close(fd);
}

void tic_image_clear(const char *directory)
{
    DIR *listing = opendir(directory);
    const struct dirent *entry;
    char path[512];

    while (listing && (entry = readdir(listing))) {
        path_of(path, sizeof(path), directory, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlink(path);
    }
    if (listing)
        closedir(listing);
    rmdir(directory);
}

void tic_image_write(const struct tic_image *image, const char *directory)
{
    tic_image_clear(directory);
    if (mkdir(directory, 0700) != 0)
        give_up(directory);
    for (unsigned i = 0; i < image->count; i++)
        write_file(&image->files[i], directory);
}

/* HDF5 writes down, in seconds, when it made a dataset. */
static void forget_times(char *bytes, size_t size)
{
    const uint32_t hour = 3600;
    struct timespec now; /* the plug-in has a time() of its own */

    clock_gettime(CLOCK_REALTIME, &now);
    const uint32_t end = (uint32_t)now.tv_sec;
    for (size_t at = 0; at + sizeof(uint32_t) <= size; at += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, bytes + at, sizeof(word));
        if (word <= end && word > end - hour)
            memset(bytes + at, 0, sizeof(word));
    }
}

/* What the plug-in reads and writes lines with. */
static const struct tic_h5_ops *h5_ops(void)
{
    static const struct tic_h5_ops *ops;
    const char *reason = "no libstarputic";
    Dl_info library;

    if (!ops && dladdr((void *)starpu_tic_get_status, &library) != 0)
        ops = tic_h5_load(library.dli_fname, &reason);
    if (!ops) {
        fprintf(stderr, "%s\n", reason);
        exit(99);
    }
    return ops;
}

/* Without what no restart uses: lines that differ in no more than that are the same. */
static void forget_history(struct file *file)
{
    struct tic_line line;
    void *image;

    if (file->size < USER_BLOCK ||
        h5_ops()->line_decode(file->bytes + USER_BLOCK, file->size - USER_BLOCK, &line) != 0)
        return;
    line.history_count = 0;
    line.created = 0;
    if (h5_ops()->line_encode(&line, &image, &file->size) != 0)
        give_up("line");
    tic_line_clear(&line);
    free(file->bytes);
    file->bytes = image;
}

static uint64_t hash_file(const struct file *file)
{
    struct file copy = *file;

    copy.bytes = malloc(file->size + 1);
    if (!copy.bytes)
        give_up("malloc");
    memcpy(copy.bytes, file->bytes, file->size);
    if (strstr(file->name, "-line-"))
        forget_history(&copy);
    forget_times(copy.bytes, copy.size);
    uint64_t hash = XXH3_64bits(copy.bytes, copy.size);
    free(copy.bytes);
    return hash;
}

uint64_t tic_image_hash(const struct tic_image *image)
{
    uint64_t hash = 0;

    for (unsigned i = 0; i < image->count; i++) {
        const struct file *file = &image->files[i];
        uint64_t words[3] = {hash, XXH3_64bits(file->name, strlen(file->name)), hash_file(file)};
        hash = XXH3_64bits(words, sizeof(words));
    }
    return hash;
}
