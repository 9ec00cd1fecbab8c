/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A temporary directory of a test's own, and files in it. */
#include "lib/tmpdir.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_OPEN = 16 };

static void give_up(const char *what)
{
    perror(what);
    exit(99);
}

void tic_tmpdir_create(struct tic_tmpdir *dir)
{
    const char *base = getenv("TMPDIR");
    snprintf(dir->path, sizeof(dir->path), "%s/tic-test-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(dir->path))
        give_up(dir->path);
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info;
    (void)type;
    (void)ftw;
    return remove(path);
}

void tic_tmpdir_remove(struct tic_tmpdir *dir)
{
    nftw(dir->path, remove_entry, MAX_OPEN, FTW_DEPTH | FTW_PHYS);
}

static void make_path(const struct tic_tmpdir *dir, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", dir->path, name);
}

bool tic_tmpdir_has(const struct tic_tmpdir *dir, const char *name)
{
    char path[512];
    make_path(dir, name, path, sizeof(path));
    return access(path, F_OK) == 0;
}

unsigned tic_tmpdir_count(const struct tic_tmpdir *dir, const char *prefix)
{
    unsigned count = 0;
    struct dirent *entry;
    DIR *listing = opendir(dir->path);

    if (!listing)
        give_up(dir->path);
    while ((entry = readdir(listing)))
        count += entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    closedir(listing);
    return count;
}

static FILE *open_file(const struct tic_tmpdir *dir, const char *name, const char *mode)
{
    char path[512];
    make_path(dir, name, path, sizeof(path));
    FILE *file = fopen(path, mode);
    if (!file)
        give_up(path);
    return file;
}

void *tic_tmpdir_load(const struct tic_tmpdir *dir, const char *name, size_t *size)
{
    FILE *file = open_file(dir, name, "rb");
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    void *bytes = malloc((size_t)length + 1);
    rewind(file);
    if (!bytes || fread(bytes, 1, (size_t)length, file) != (size_t)length)
        give_up(name);
    fclose(file);
    *size = (size_t)length;
    return bytes;
}

void tic_tmpdir_store(const struct tic_tmpdir *dir, const char *name, const void *bytes,
                      size_t size)
{
    FILE *file = open_file(dir, name, "wb");
    if (fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        give_up(name);
}

void tic_tmpdir_damage(const struct tic_tmpdir *dir, const char *name, long offset)
{
    FILE *file = open_file(dir, name, "r+b");
    int whence = offset < 0 ? SEEK_END : SEEK_SET;
    fseek(file, offset, whence);
    int byte = fgetc(file);
    fseek(file, offset, whence);
    if (byte == EOF || fputc(byte ^ 0xff, file) == EOF || fclose(file) != 0)
        give_up(name);
}
