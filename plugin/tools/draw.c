/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/draw.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/reach.h"
#include "tools/tool.h"

#define DRAW                                                                                       \
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from starpu_tic.drawing import main; main()"

extern char **environ;

static FILE *open_memory(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);

    return fd < 0 ? NULL : fdopen(fd, "w+");
}

/* Both files from their begin on; out may be NULL. An exit status, 127: the command cannot be run.
 */
static int run(const char *const command[], FILE *in, FILE *out)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;

    rewind(in);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
    if (out)
        posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
    int error = posix_spawnp(&child, command[0], &actions, NULL, (char *const *)command, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (error == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return error               ? TIC_TOOL_NOT_FOUND
           : WIFEXITED(status) ? WEXITSTATUS(status)
                               : TIC_TOOL_BY_SIGNAL + WTERMSIG(status);
}

FILE *tic_draw(const char *what, tic_draw_write write, const void *data)
{
    char python[PATH_MAX], module[PATH_MAX];
    bool has_module = tic_tool_find_module(module) == 0;

    if (!has_module || !tic_reach_find("python3", python)) {
        fprintf(stderr,
                "starpu-tic: there is no %s, which draws pictures: what is known is printed\n",
                has_module ? "python3" : "module starpu_tic for python3");
        return NULL;
    }
    const char *const command[] = {python, "-I", "-B", "-c", DRAW, module, what, NULL};
    FILE *in = open_memory("data"), *out = open_memory(what);
    int status = TIC_TOOL_FAILED;
    if (in && out) {
        write(in, data);
        status = fflush(in) == 0 && !ferror(in) ? run(command, in, out) : TIC_TOOL_FAILED;
    }
    if (status != TIC_TOOL_OK)
        fprintf(stderr,
                "starpu-tic: %s, which draws pictures, ended with status %d: what is known is "
                "printed\n",
                python, status);
    if (status != TIC_TOOL_OK && out) {
        fclose(out);
        out = NULL;
    }
    if (in)
        fclose(in);
    return out;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* A file that is there stays until there is a new one: what is written has another name first,
 * unless it goes to something else than a file. NULL when out of memory. */
static char *name_to_write(const char *file)
{
    struct stat info;
    char *name = NULL;

    if (stat(file, &info) == 0 && !S_ISREG(info.st_mode))
        return strdup(file);
    return asprintf(&name, "%s.new", file) < 0 ? NULL : name;
}

/* 0 or -errno. */
static int put_in_place(const char *written, const char *file, int status)
{
    if (strcmp(written, file) == 0)
        return status;
    if (status == 0 && rename(written, file) == 0)
        return 0;
    status = status ? status : -errno;
    unlink(written);
    return status;
}

static int copy(FILE *from, FILE *to)
{
    char bytes[1 << 16];
    size_t count;

    rewind(from);
    while ((count = fread(bytes, 1, sizeof(bytes), from)) > 0 &&
           fwrite(bytes, 1, count, to) == count)
        ;
    return fflush(to) == 0 && !ferror(from) && !ferror(to) ? 0 : errno ? -errno : -EIO;
}

static int copy_to(FILE *from, const char *name)
{
    FILE *to = fopen(name, "we");

    if (!to)
        return -errno;
    int status = copy(from, to);
    return fclose(to) != 0 && status == 0 ? -errno : status;
}

static int tell(const char *file, int status)
{
    if (status)
        fprintf(stderr, "starpu-tic: cannot write %s: %s\n", file, strerror(-status));
    return status ? TIC_TOOL_FAILED : TIC_TOOL_OK;
}

int tic_draw_put(FILE *drawn, const char *file)
{
    char *written = drawn ? name_to_write(file) : NULL;
    int status = !drawn                   ? 0
                 : strcmp(file, "-") == 0 ? copy(drawn, stdout)
                 : written                ? put_in_place(written, file, copy_to(drawn, written))
                                          : -ENOMEM;

    free(written);
    if (!drawn)
        return TIC_TOOL_FAILED;
    fclose(drawn);
    return tell(file, status);
}

/* A message of dot's own is enough. */
int tic_draw_put_by_dot(FILE *drawn, const char *file, const char *format)
{
    char *written = drawn ? name_to_write(file) : NULL;
    const char *const command[] = {"dot", format, "-o", written, NULL};
    bool is_done = written && run(command, drawn, NULL) == TIC_TOOL_OK;
    int status = written ? put_in_place(written, file, is_done ? 0 : -ECANCELED) : -ENOMEM;

    free(written);
    if (!drawn)
        return TIC_TOOL_FAILED;
    fclose(drawn);
    return is_done ? tell(file, status) : TIC_TOOL_FAILED;
}
