/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What subcommands are given: directories, and values of options. */
#ifndef TIC_TOOLS_ARGUMENTS_H
#define TIC_TOOLS_ARGUMENTS_H

#include <getopt.h>
#include <stdbool.h>

/* Says what the option's value must be; TIC_TOOL_USAGE. */
int tic_arguments_refuse(const char *command, const struct option *options, int option,
                         const char *value);

/* An exit status. */
typedef int (*tic_arguments_visit)(const char *path, void *arg);
/* Visits each path; without one, the only *.tic of the current folder. plain: with a heading for
 * each of several. The greatest exit status, or TIC_TOOL_USAGE after a message. */
int tic_arguments_each(int count, char **paths, bool plain, tic_arguments_visit visit, void *arg);

/* Has a run used the directory? */
bool tic_arguments_is_run(const char *path);
/* The message for a directory that cannot be opened; status: -errno. */
void tic_arguments_cannot_read(const char *path, int status);

#endif
