/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The subcommands of starpu-tic. It links neither StarPU nor the plug-in. */
#pragma once

#include <limits.h>
#include <stdbool.h>

/* Exit statuses of the tool itself, in the way of the shell. */
enum { TIC_TOOL_OK = 0, TIC_TOOL_FAILED = 1, TIC_TOOL_USAGE = 2, TIC_TOOL_NOTHING = 3 };
/* Those of programs that it starts, and cannot start; and above the last, died of a signal. */
enum { TIC_TOOL_NOT_RUNNABLE = 126, TIC_TOOL_NOT_FOUND = 127, TIC_TOOL_BY_SIGNAL = 128 };

/* argv[0] is the subcommand. Each returns the exit status. */
#define COMMAND(function, name, arguments, what) int tic_tool_##function(int argc, char **argv);
#include "tools/commands.def"
#undef COMMAND

/* Prints the usage of a subcommand; returns `status`. */
int tic_tool_usage(const char *command, int status);

/* A subcommand of the form [--json] [DIRECTORY...], or [--json] FILE...: `report` for each, as
 * tic_arguments_each. */
int tic_tool_report(int argc, char **argv, int (*report)(const char *path, bool as_json),
                    bool is_file);

/* Is the library there? Else a message. */
bool tic_tool_may_preload(void);
/* Puts the library into LD_PRELOAD of this process; before it, with STARPU_TIC_PAGES=1 or
 * STARPU_TIC_WRITES, what looks at calls of libc (syscalls/), and first what the command needs to
 * come first. 0, or -1 after a message. */
int tic_tool_preload(const char *command);

/* The folder of the Python module, as the library: 0 or -ENOENT. */
int tic_tool_find_module(char path[PATH_MAX]);

/* Loads the store module, or ends the process with a message. */
const struct tic_h5_ops *tic_tool_load_store(void);
/* Opens a store to read it, with the module. As tic_store_open. */
struct tic_store;
int tic_tool_open_store(struct tic_store *store, const char *path);

/* For listings: prints text with roff's special characters escaped. */
void tic_tool_print_roff(const char *text);
