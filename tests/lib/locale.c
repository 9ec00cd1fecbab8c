/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Preloaded: the program sets the locale of its environment before it does anything, as programs
 * with translations or with widgets do. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void set(void)
{
    char text[8];

    if (setlocale(LC_ALL, "") && getenv("TIC_TEST_COMMA")) {
        snprintf(text, sizeof(text), "%.1f", 0.5);
        if (text[1] != ',')
            abort(); /* the test would prove nothing */
    }
}
