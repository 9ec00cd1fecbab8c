/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers as text, in the C locale whatever locale the program has set: settings, traces and
 * messages mean the same in each run. `tests/names` checks that nobody else calls strtod(). */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* As strtod(), snprintf() and vsnprintf(). */
double tic_numbers_parse(const char *text, char **end);
int tic_numbers_print(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int tic_numbers_vprint(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Seconds: a number, alone or with ms, s, min, h or d. Fractions are allowed. False: it is none. */
bool tic_numbers_seconds(const char *text, double *out);
/* Bytes: a whole number, or one with k, M, G or T (powers of 1024, as with KiB to TiB) or kB to TB
 * (of 1000), which may have a fraction. False: it is none, or too large. */
bool tic_numbers_bytes(const char *text, unsigned long *out);
