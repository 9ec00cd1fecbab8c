/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/scale.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void print_long(char text[TIC_SCALE_TEXT], double seconds)
{
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    unsigned i = 0;

    while (i < 2 && seconds < units[i].seconds)
        i++;
    double whole = floor(seconds / units[i].seconds);
    double rest = floor((seconds - whole * units[i].seconds) / units[i + 1].seconds);
    if (rest > 0 && whole < 100)
        snprintf(text, TIC_SCALE_TEXT, "%.0f %s %.0f %s", whole, units[i].name, rest,
                 units[i + 1].name);
    else
        snprintf(text, TIC_SCALE_TEXT, "%.0f %s", whole, units[i].name);
}

/* Three digits, but no exponent. */
static void print_number(char text[TIC_SCALE_TEXT], double number, const char *unit)
{
    int decimals = number >= 99.95 || number == 0 ? 0 : number >= 9.995 ? 1 : 2;

    snprintf(text, TIC_SCALE_TEXT, "%.*f", decimals, number);
    if (decimals > 0) { /* 2.50: 2.5 */
        size_t length = strlen(text);
        while (text[length - 1] == '0')
            text[--length] = '\0';
        if (text[length - 1] == '.')
            text[length - 1] = '\0';
    }
    size_t used = strlen(text);
    snprintf(text + used, TIC_SCALE_TEXT - used, " %s", unit);
}

void tic_scale_duration(char text[TIC_SCALE_TEXT], double seconds)
{
    static const char *const units[] = {"s", "ms", "µs"};
    unsigned unit = 0;

    if (isnan(seconds)) {
        snprintf(text, TIC_SCALE_TEXT, "?");
        return;
    }
    if (seconds >= 59.95) {
        print_long(text, seconds + 0.5);
        return;
    }
    while (unit < 2 && seconds > 0 && seconds < 0.9995) {
        seconds *= 1000;
        unit++;
    }
    print_number(text, seconds, seconds == 0 ? "s" : units[unit]);
}

void tic_scale_bytes(char text[TIC_SCALE_TEXT], double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    unsigned unit = 0;

    while (unit < 5 && bytes >= 999.5) {
        bytes /= 1000;
        unit++;
    }
    print_number(text, bytes, units[unit]);
}

void tic_scale_count(char text[TIC_SCALE_TEXT], uint64_t count)
{
    char digits[24];
    unsigned used = 0;
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
}
