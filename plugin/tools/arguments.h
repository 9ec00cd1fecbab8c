/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What subcommands are given: directories, and values of options. */
#pragma once

#include <getopt.h>
#include <stdbool.h>

struct tic_option {
    const char *name;
    char letter; /* its short form; 0: none */
    /* Takes its value; false: it is not valid. NULL: it has none, and sets a bool. */
    bool (*take)(const char *value, void *to);
    void *to;
};

/* Reads options, to where optind is then; after the last one there is one without a name. starts:
 * the command starts a program, whose own options follow. text: what --help tells beside the usage,
 * or NULL. -1, or an exit status. */
int tic_options_read(int argc, char **argv, const struct tic_option *options, bool starts,
                     const char *text);
/* Of a const char *. */
bool tic_option_text(const char *value, void *to);
/* Seconds in these bounds. */
bool tic_option_seconds(const char *value, double least, double most, double *to);

/* An exit status. */
typedef int (*tic_arguments_visit)(const char *path, void *arg);
/* Visits each path; without one, the only *.tic of the current folder. plain: with a heading for
 * each of several. The greatest exit status, or TIC_TOOL_USAGE after a message. */
int tic_arguments_each(int count, char **paths, bool plain, tic_arguments_visit visit, void *arg);

/* Has a run used the directory? */
bool tic_arguments_is_run(const char *path);
/* Has it folders of ranks? */
bool tic_arguments_is_job(const char *path);
/* The message for a directory that cannot be opened; status: -errno. */
void tic_arguments_cannot_read(const char *path, int status);
