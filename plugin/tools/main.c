/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic: chooses the subcommand. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "tools/tool.h"

struct command {
    const char *name;
    const char *arguments;
    const char *what;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
#define COMMAND(function, name, arguments, what) {name, arguments, what, tic_tool_##function},
#include "tools/commands.def"
#undef COMMAND
};
enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

int tic_tool_usage(const char *command, int status)
{
    FILE *out = status == TIC_TOOL_OK ? stdout : stderr;
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, command) == 0)
            fprintf(out, "Usage: starpu-tic %s %s\n%s.\n", command, commands[i].arguments,
                    commands[i].what);
    return status;
}

void tic_tool_print_roff(const char *text)
{
    for (; *text; text++) {
        if (*text == '-' || *text == '\\')
            putchar('\\');
        putchar(*text == '\n' ? ' ' : *text);
    }
}

static void print_help(FILE *out)
{
    fputs("Usage: starpu-tic COMMAND [ARGUMENT...]\n\n"
          "Rollback recovery for StarPU programs: kill a program at any moment, start it again,\n"
          "on another number of workers, and it goes on from where it was.\n\nCommands:\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].what);
    fputs(
        "\n`starpu-tic COMMAND --help` tells more; the manual is starpu-tic(1), and the settings\n"
        "and file formats are in starpu-tic(7).\n",
        out);
}

/* What could not be printed is a failure, also of a command that found nothing wrong. Status 1 of
 * some is an answer. */
static int check_output(int status, const char *command)
{
    bool answers = strcmp(command, "check") == 0 || strcmp(command, "rehearse") == 0 ||
                   strcmp(command, "diff") == 0;

    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "starpu-tic: cannot write the output: %s\n", strerror(errno));
    return status != TIC_TOOL_OK ? status : answers ? TIC_TOOL_NOTHING : TIC_TOOL_FAILED;
}

static int refuse(const char *name)
{
    fprintf(stderr, "starpu-tic: no command \"%s\"; `starpu-tic --help` lists them\n", name);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (tic_near(name, strlen(name), commands[i].name)) {
            fprintf(stderr, "Did you mean %s?\n", commands[i].name);
            break;
        }
    return TIC_TOOL_USAGE;
}

static bool is_one_of(const char *word, const char *name, const char *option, const char *letter)
{
    return strcmp(word, name) == 0 || strcmp(word, option) == 0 || strcmp(word, letter) == 0;
}

static int run_command(int argc, char **argv)
{
    static char help[] = "--help";
    char *of_command[] = {argv[0], argc > 2 ? argv[2] : NULL, help, NULL};

    if (argc < 2) {
        print_help(stderr);
        return TIC_TOOL_USAGE;
    }
    if (is_one_of(argv[1], "version", "--version", "-V")) {
        printf("starpu-tic %s\n", PACKAGE_VERSION);
        return TIC_TOOL_OK;
    }
    if (is_one_of(argv[1], "help", "--help", "-h")) {
        if (argc == 2) {
            print_help(stdout);
            return TIC_TOOL_OK;
        }
        argc = 3; /* `help COMMAND` is `COMMAND --help` */
        argv = of_command;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return refuse(argv[1]);
}

int main(int argc, char **argv)
{
    return check_output(run_command(argc, argv), argc > 1 ? argv[1] : "");
}
