/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that the program has opened for reading, and what each held when it was opened first: a
 * restart must not read others. Notes are made inside of calls of open(), so perhaps in a handler
 * of a signal: they allocate nothing. */
#pragma once

#include <stdbool.h>

#include "store/line.h"

/* Before names of libraries, which no file has. */
#define TIC_FILES_BUILD "//"

/* How a file differs from what it was in the recorded run. */
enum tic_files_verdict {
    TIC_FILES_SAME, /* or nothing is known */
    TIC_FILES_OTHER,
    TIC_FILES_NEW,     /* it was not there */
    TIC_FILES_MISSING, /* it is not there now */
};

/* From now on files are noted; once is enough. -ENOMEM: none will be. */
int tic_files_start(void);

/* Around each note. False: none can be made now, as a handler of a signal has come into one. */
bool tic_files_begin(void);
void tic_files_end(void);
/* The program has opened this file for reading; fd is -1 where there is none. Counts once for each
 * name. What is no regular file is left out. */
enum tic_files_verdict tic_files_note(const char *name, int fd);
/* The run uses this library, whose build is told by these bytes, or by the content of the file (fd
 * is -1 else). The name begins with TIC_FILES_BUILD; further libraries of one name count by
 * themselves. */
enum tic_files_verdict tic_files_note_build(const char *name, const void *bytes, size_t size,
                                            int fd);
/* The program has opened this file for writing. If it made or emptied it, `anew`, what it reads
 * there later is its own. */
void tic_files_note_written(const char *name, bool anew);
/* A file that was noted, and that the program has opened for writing since: a restart finds another
 * one. Any thread; one is told, once. */
const char *tic_files_tell_overwritten(void);

/* What is noted, and what the recorded run had noted, as a line holds it. Any thread. 0 or -ENOMEM;
 * the text is to be freed. */
int tic_files_describe(struct tic_line_text *out);
/* The recorded run had noted these: *name is the first one that is noted with other content. */
enum tic_files_verdict tic_files_compare(const struct tic_line_text *then, const char **name);
/* From now on tic_files_note compares with these, and no others. Owner thread only. 0 or -ENOMEM.
 */
int tic_files_load(const struct tic_line_text *then);
