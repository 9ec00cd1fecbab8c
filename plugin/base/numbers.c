/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Numbers as text, in the C locale whatever locale the program has set. */
#include "base/numbers.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

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
