/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *tic_json_text(const char *bytes)
{
    json_t *text = json_string(bytes);
    char *shown = text ? NULL : calloc(strlen(bytes) + 1, 4);

    for (size_t i = 0, at = 0; shown && bytes[i]; i++)
        at += (size_t)sprintf(shown + at, (unsigned char)bytes[i] < 128 ? "%c" : "\\x%02x",
                              (unsigned char)bytes[i]);
    if (shown)
        text = json_string(shown);
    free(shown);
    return text;
}

json_t *tic_json_real(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

void tic_json_print(json_t *json, unsigned digits)
{
    json_dumpf(json, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(digits));
    putchar('\n');
    json_decref(json);
}
