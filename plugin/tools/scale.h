/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers with units, for people. */
#pragma once

#include <stdint.h>

enum { TIC_SCALE_TEXT = 32 };

/* "3.2 s", "210 ms", "12 min", "3 h 20 min", "2 d 4 h". */
void tic_scale_duration(char text[TIC_SCALE_TEXT], double seconds);
/* "740 kB": of 1000 bytes. */
void tic_scale_bytes(char text[TIC_SCALE_TEXT], double bytes);
/* "12,345". */
void tic_scale_count(char text[TIC_SCALE_TEXT], uint64_t count);
