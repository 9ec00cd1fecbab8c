/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Program, arguments and host; the default directory. */
#pragma once

struct tic_line;

void tic_about_fill(struct tic_line *about);
/* The default directory. */
char *tic_about_directory(const struct tic_line *about);
