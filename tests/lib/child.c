/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a function in a forked child. */
#include "lib/child.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void give_up(const char *what)
{
    perror(what);
    exit(99);
}

static void be_child(int (*run)(void *arg), void *arg, const int pipe_fds[2], int capture)
{
    if (capture) {
        dup2(pipe_fds[1], STDERR_FILENO);
        close(pipe_fds[0]);
        close(pipe_fds[1]);
    }
    alarm(TIC_CHILD_SECONDS);
    _exit(run(arg));
}

static void read_text(int fd, char *text, size_t size)
{
    char chunk[512];
    size_t used = 0;
    ssize_t got;

    while ((got = read(fd, chunk, sizeof(chunk))) > 0)
        for (ssize_t i = 0; i < got && used + 1 < size; i++)
            text[used++] = chunk[i];
    text[used] = '\0';
}

int tic_child_run(int (*run)(void *arg), void *arg, char *text, size_t size)
{
    int pipe_fds[2], status;

    if (pipe(pipe_fds) != 0)
        give_up("pipe");
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        give_up("fork");
    if (child == 0)
        be_child(run, arg, pipe_fds, text != NULL);
    close(pipe_fds[1]);
    if (text)
        read_text(pipe_fds[0], text, size);
    close(pipe_fds[0]);
    if (waitpid(child, &status, 0) != child)
        give_up("waitpid");
    return WIFSIGNALED(status) ? TIC_CHILD_KILLED + WTERMSIG(status) : WEXITSTATUS(status);
}
