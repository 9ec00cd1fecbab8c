/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The runs of starpu-tic check. What they leave is beside a temporary directory: reports in
 * DIRECTORY.run1 and so on. */
#ifndef TIC_TOOLS_CHECK_RUNS_H
#define TIC_TOOLS_CHECK_RUNS_H

#include <stdbool.h>

/* What a run meets: other bytes in memory that it has never set; and, beside, data that is closed
 * to main(). */
enum tic_check_conditions { TIC_CHECK_PLAIN, TIC_CHECK_PERTURBED, TIC_CHECK_CLOSED };

/* Before the first run. False after a message. */
bool tic_check_save_input(const char *directory);
/* The status as the shell has it, or -1. What the first run prints is printed. */
int tic_check_run(char **argv, const char *directory, int run,
                  enum tic_check_conditions conditions);
/* What the last run has printed, on standard error. */
void tic_check_show_output(const char *directory);
void tic_check_clean(const char *directory);

#endif
