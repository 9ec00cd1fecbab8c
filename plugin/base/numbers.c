/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers as text, in the C locale whatever locale the program has set. */
#include "base/numbers.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale; /* immutable after once */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Of this thread only: other threads of the program keep theirs. */
static locale_t enter(void)
{
    pthread_once(&once, make);
    return uselocale(c_locale); /* where there is none, 0 leaves the locale as it is */
}

double tic_numbers_parse(const char *text, char **end)
{
    locale_t before = enter();
    double number = strtod(text, end);

    uselocale(before);
    return number;
}

int tic_numbers_vprint(char *text, size_t size, const char *format, va_list args)
{
    locale_t before = enter();
    int length = vsnprintf(text, size, format, args);

    uselocale(before);
    return length;
}

int tic_numbers_print(char *text, size_t size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int length = tic_numbers_vprint(text, size, format, args);
    va_end(args);
    return length;
}

struct unit {
    const char *name;
    double factor;
};
static const struct unit times[] = {{"", 1},     {"s", 1},     {"ms", 1e-3}, {"min", 60},
                                    {"h", 3600}, {"d", 86400}, {NULL, 0}};
static const struct unit sizes[] = {
    {"k", 0x1p10},   {"K", 0x1p10},   {"M", 0x1p20},   {"G", 0x1p30},   {"T", 0x1p40},
    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"kB", 1e3},
    {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},    {NULL, 0}};

static bool read_with_unit(const char *text, const struct unit *units, double *out)
{
    char *end;
    double number = tic_numbers_parse(text, &end);

    while (units->name && strcmp(end, units->name) != 0)
        units++;
    *out = number * units->factor;
    return text[0] >= '.' && text[0] <= '9' && end != text && units->name && isfinite(*out);
}

bool tic_numbers_seconds(const char *text, double *out)
{
    return read_with_unit(text, times, out);
}

bool tic_numbers_bytes(const char *text, unsigned long *out)
{
    char *end;
    double bytes;

    errno = 0;
    *out = strtoul(text, &end, 10);
    if (*end == '\0')
        return text[0] >= '0' && text[0] <= '9' && errno == 0;
    if (!read_with_unit(text, sizes, &bytes) || bytes >= (double)ULONG_MAX)
        return false;
    *out = (unsigned long)bytes;
    return true;
}
