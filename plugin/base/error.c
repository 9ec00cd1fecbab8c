/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages to the user, and the two ways in which a start can be stopped. */
#include "base/error.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/numbers.h"
#include "base/quiet.h"

/* Set once before threads start. */
static struct {
    int level;
    unsigned rank;
} logged = {TIC_LOG_INFO, 0};

void tic_log_set_level(int level)
{
    logged.level = level;
}

void tic_log_set_rank(unsigned rank)
{
    logged.rank = rank;
}

static void (*tell)(int level, const char *text); /* set before other threads start */
static void (*tell_flush)(void);

void tic_log_tell(void (*listener)(int level, const char *text), void (*flush)(void))
{
    tell = listener;
    tell_flush = flush;
}

static void tell_listener(int level, const char *fmt, va_list args)
{
    char text[1024];

    tic_numbers_vprint(text, sizeof(text), fmt, args);
    tell(level, text);
}

/* The standard error that the process began with. */
static struct stat first_error;

__attribute__((constructor)) static void note_error(void)
{
    fstat(STDERR_FILENO, &first_error);
}

/* A program that has closed it may have a file of its own there. */
static bool has_first_error(void)
{
    struct stat info;

    return fstat(STDERR_FILENO, &info) == 0 && info.st_dev == first_error.st_dev &&
           info.st_ino == first_error.st_ino;
}

enum {
    PATIENCE = 1000 /* ms; a pipe that is ready has room for PIPE_BUF bytes, and so for a message */
};

struct text {
    const char *bytes;
    size_t length;
};

static void write_error(void *arg)
{
    const struct text *text = arg;
    struct pollfd look = {.fd = STDERR_FILENO, .events = POLLOUT};
    struct tic_quiet quiet;

    if (poll(&look, 1, PATIENCE) != 1) /* a full pipe that nobody reads */
        return;
    tic_quiet_begin(&quiet);
    ssize_t ignored = write(STDERR_FILENO, text->bytes, text->length);
    (void)ignored;
    tic_quiet_end(&quiet);
}

static void print_line(const char *fmt, va_list args)
{
    /* One write per message, so that lines of several threads do not mix. */
    char line[2048];
    int head = logged.rank > 0 ? snprintf(line, sizeof(line), "starpu-tic: rank %u: ", logged.rank)
                               : snprintf(line, sizeof(line), "starpu-tic: ");
    int body = tic_numbers_vprint(line + head, sizeof(line) - (size_t)head - 1, fmt, args);
    struct text text = {line, (size_t)head + (body < 0 ? 0 : (size_t)body)};
    if (text.length > sizeof(line) - 2)
        text.length = sizeof(line) - 2;
    line[text.length++] = '\n';
    if (has_first_error())
        write_error(&text);
    else
        tic_apart_call(write_error, &text);
}

void tic_log(enum tic_level level, const char *fmt, ...)
{
    va_list args;

    if (tell) {
        va_start(args, fmt);
        tell_listener((int)level, fmt, args);
        va_end(args);
    }
    if (logged.rank > 0 && level == TIC_LOG_INFO)
        level = TIC_LOG_DETAIL; /* rank 0 says it */
    if ((int)level > logged.level)
        return;
    va_start(args, fmt);
    print_line(fmt, args);
    va_end(args);
}

static const char *(*explain_difference)(void); /* set before a replay begins */

void tic_stop_explain(const char *(*explain)(void))
{
    explain_difference = explain;
}

void tic_stop(enum tic_exit status, const char *fmt, ...)
{
    char text[1536];
    va_list args;
    va_start(args, fmt);
    tic_numbers_vprint(text, sizeof(text), fmt, args);
    va_end(args);
    tic_log(TIC_LOG_ERROR, "%s%s", text,
            status == TIC_EXIT_DIVERGED && explain_difference ? explain_difference() : "");
    if (tell_flush)
        tell_flush();
    _exit(status);
}

void *tic_or_stop(void *memory)
{
    if (!memory)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
    return memory;
}

void tic_stop_unless(bool done)
{
    if (!done)
        tic_stop(TIC_EXIT_REFUSED, "out of memory in the replay");
}
