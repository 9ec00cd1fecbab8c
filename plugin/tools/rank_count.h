/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How many ranks the next start of a job is to have, as a file or a command tells. */
#pragma once

#include <stdbool.h>

enum { TIC_RANK_COUNT = 16 };

/* `number` stands for words {ranks} of the command from now on. False after a message: no word is
 * {ranks}, or there is no number. */
bool tic_rank_count_put(char **command, const char *from, char number[TIC_RANK_COUNT]);
/* Asks again: the words change. A message tells why the number stays. */
void tic_rank_count_renew(const char *from, char number[TIC_RANK_COUNT]);
