/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A temporary directory of a test's own, and files in it. */
#ifndef TIC_LIB_TMPDIR_H
#define TIC_LIB_TMPDIR_H

#include <stdbool.h>
#include <stddef.h>

struct tic_tmpdir {
    char path[256];
};

/* Ends the process when there is none to be had: a test cannot go on without it. */
void tic_tmpdir_create(struct tic_tmpdir *dir);
/* With everything in it. */
void tic_tmpdir_remove(struct tic_tmpdir *dir);

bool tic_tmpdir_has(const struct tic_tmpdir *dir, const char *name);
/* How many entries begin with `prefix` ("" for all). */
unsigned tic_tmpdir_count(const struct tic_tmpdir *dir, const char *prefix);
/* Reads a whole file (malloc'ed), or writes one. */
void *tic_tmpdir_load(const struct tic_tmpdir *dir, const char *name, size_t *size);
void tic_tmpdir_store(const struct tic_tmpdir *dir, const char *name, const void *bytes,
                      size_t size);
/* Inverts the bits of one byte of a file; negative offsets count from its end. */
void tic_tmpdir_damage(const struct tic_tmpdir *dir, const char *name, long offset);

#endif
