/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `starpu-tic run` tells of the run under way. */
#include "tools/ticker.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"

/* Seconds between messages where there is no terminal. */
#define MESSAGE_PERIOD 60.0
enum { MOST_TEXT = 256, USUAL_COLUMNS = 80 };

/* ---- the text -------------------------------------------------------------------------------- */

struct text {
    char *start;
    size_t size, used;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *text, const char *format, ...)
{
    va_list args;

    if (text->used + 1 >= text->size)
        return;
    va_start(args, format);
    int length = vsnprintf(text->start + text->used, text->size - text->used, format, args);
    va_end(args);
    text->used += length > 0 ? (size_t)length : 0;
}

static uint64_t read_count(const _Atomic uint64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

/* By the rate since tasks began to run: those that are skipped take next to no time. */
static void add_left(struct tic_ticker *ticker, struct text *text, uint64_t done,
                     uint64_t submitted, double seconds)
{
    if (ticker->first_seconds == 0) {
        ticker->first_seconds = seconds;
        ticker->first_done = done;
    }
    double rate = seconds > ticker->first_seconds
                      ? (double)(done - ticker->first_done) / (seconds - ticker->first_seconds)
                      : 0;
    if (rate > 0 && submitted > done)
        add(text, ", %.0f s left", (double)(submitted - done) / rate);
}

static void add_checkpoints(struct text *text, const struct tic_beacon_counts *counts, uint64_t now)
{
    uint64_t line = read_count(&counts->line_ns);

    if (read_count(&counts->checkpoints) == 0)
        add(text, "; no checkpoint yet");
    else
        add(text, "; last checkpoint %.0f s ago, took %.1f s",
            now > line ? (double)(now - line) * 1e-9 : 0,
            (double)read_count(&counts->took_ns) * 1e-9);
}

void tic_ticker_format(struct tic_ticker *ticker, const struct tic_beacon_counts *counts,
                       double seconds, uint64_t now, char *buffer, size_t size)
{
    struct text text = {buffer, size, 0};
    uint64_t skipped = read_count(&counts->skipped), to_skip = read_count(&counts->to_skip);
    uint64_t done = skipped + read_count(&counts->executed);
    uint64_t submitted = read_count(&counts->submitted);

    buffer[0] = '\0';
    if (submitted == 0)
        return;
    if (skipped < to_skip) {
        add(&text, "%" PRIu64 " of %" PRIu64 " done tasks skipped", skipped, to_skip);
    } else {
        add(&text, "%" PRIu64 " of %" PRIu64 " tasks", done < submitted ? done : submitted,
            submitted);
        add_left(ticker, &text, done, submitted, seconds);
    }
    add_checkpoints(&text, counts, now);
    if (ticker->restarts > 0)
        add(&text, "; restart %lu", ticker->restarts);
}

/* ---- telling --------------------------------------------------------------------------------- */

void tic_ticker_begin(struct tic_ticker *ticker, unsigned long restarts)
{
    bool quiet = ticker->quiet;

    *ticker = (struct tic_ticker){.quiet = quiet, .restarts = restarts};
    ticker->terminal = isatty(STDERR_FILENO);
}

static int count_columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                           : USUAL_COLUMNS;
}

/* What the program prints begins where the line does. A job in the background leaves the terminal
 * to others. */
static void draw(struct tic_ticker *ticker, const char *text)
{
    static const char prefix[] = "starpu-tic: ";
    int room = count_columns() - (int)strlen(prefix) - 1;

    if (room <= 0 || tcgetpgrp(STDERR_FILENO) != getpgrp())
        return;
    fprintf(stderr, "\r%s%.*s\033[K\r", prefix, room, text);
    ticker->drawn = true;
}

void tic_ticker_tick(struct tic_ticker *ticker, const struct tic_beacon *beacon, double seconds)
{
    char text[MOST_TEXT];

    if (ticker->quiet || !beacon)
        return;
    tic_ticker_format(ticker, &beacon->counts, seconds, tic_nanoseconds(CLOCK_MONOTONIC), text,
                      sizeof(text));
    if (!text[0])
        return;
    if (ticker->terminal) {
        draw(ticker, text);
    } else if (seconds - ticker->last_message >= MESSAGE_PERIOD) {
        ticker->last_message = seconds;
        tic_log(TIC_LOG_INFO, "%s", text);
    }
}

void tic_ticker_end(struct tic_ticker *ticker)
{
    if (ticker->drawn)
        fputs("\r\033[K", stderr);
    ticker->drawn = false;
}
