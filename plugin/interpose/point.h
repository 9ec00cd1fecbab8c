/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commit points: main() comes to one. */
#pragma once

/* main() is at a commit point, at this place in the program. 0; 1: a restart goes on from a later
 * commit point than this first one, and variables and data are as they were there. */
int tic_point_come(const char *place);
