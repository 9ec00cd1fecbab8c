/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/scale.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- time ----------------------------------------------------------------------------------- */

struct tic_time_scale tic_time_scale_make(double begin, double end)
{
    return (struct tic_time_scale){.begin = begin, .end = end > begin ? end : begin + 1e-6};
}

void tic_time_scale_add_gap(struct tic_time_scale *scale, double begin, double end, double busy)
{
    if (scale->gap_count == TIC_SCALE_GAPS || end - begin < TIC_SCALE_GAP_LEAST * busy)
        return;
    scale->gaps[scale->gap_count].begin = begin;
    scale->gaps[scale->gap_count++].end = end;
}

static double gap_time(const struct tic_time_scale *scale, double until)
{
    double time = 0;

    for (unsigned i = 0; i < scale->gap_count; i++)
        time += fmax(0, fmin(until, scale->gaps[i].end) - scale->gaps[i].begin);
    return time;
}

double tic_time_scale_place(const struct tic_time_scale *scale, double time)
{
    double busy = scale->end - scale->begin - gap_time(scale, scale->end);
    double wide = 1 - scale->gap_count * TIC_SCALE_GAP_WIDTH;
    double gaps = 0;

    if (!(time > scale->begin))
        return 0;
    if (time >= scale->end)
        return 1;
    for (unsigned i = 0; i < scale->gap_count; i++) {
        double length = scale->gaps[i].end - scale->gaps[i].begin;
        gaps += fmin(1, fmax(0, time - scale->gaps[i].begin) / length);
    }
    double past = time - scale->begin - gap_time(scale, time);
    return (busy > 0 ? past / busy * wide : 0) + gaps * TIC_SCALE_GAP_WIDTH;
}

/* ---- steps ---------------------------------------------------------------------------------- */

double tic_scale_step(double length, unsigned most)
{
    static const double digits[] = {1, 2, 5, 10};
    double least = length / most;
    double power = pow(10, floor(log10(least)));

    if (!(least > 0) || !isfinite(least))
        return 1;
    for (unsigned i = 0; i < 4; i++)
        if (digits[i] * power >= least * (1 - 1e-9))
            return digits[i] * power;
    return 10 * power;
}

double tic_scale_time_step(double seconds, unsigned most)
{
    static const double steps[] = {60,   120,   300,   600,   1200,  1800,  3600,
                                   7200, 10800, 21600, 43200, 86400, 172800};
    double step = tic_scale_step(seconds, most);

    if (step <= 20)
        return step;
    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (seconds / most <= steps[i])
            return steps[i];
    return tic_scale_step(seconds / 86400, most) * 86400;
}

double tic_scale_byte_step(double bytes, unsigned most)
{
    return fmax(1, tic_scale_step(bytes, most));
}

/* ---- words ---------------------------------------------------------------------------------- */

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

static int decimals_of(double step)
{
    int decimals = 0;

    while (decimals < 6 && fabs(step - round(step)) > 1e-6 * step) {
        step *= 10;
        decimals++;
    }
    return decimals;
}

void tic_scale_clock(char text[TIC_SCALE_TEXT], double seconds, double step)
{
    long whole = lround(seconds);

    if (step < 0.01)
        snprintf(text, TIC_SCALE_TEXT, "%.*f ms", decimals_of(step * 1000), seconds * 1000);
    else if (seconds < 60 || step < 1)
        snprintf(text, TIC_SCALE_TEXT, "%.*f s", decimals_of(step), seconds);
    else if (seconds < 3600)
        snprintf(text, TIC_SCALE_TEXT, "%ld:%02ld", whole / 60, whole % 60);
    else
        snprintf(text, TIC_SCALE_TEXT, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60,
                 whole % 60);
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
