/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that the program writes, for starpu-tic check and rehearse. */
#include "tools/written.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMPARED_MOST = 1 << 28 }; /* bytes of a file */

/* ---- what is noted -------------------------------------------------------------------------- */

static bool is_ignored(const struct tic_written *written, const struct tic_written_file *file)
{
    bool found = false;

    for (unsigned i = 0; i < written->ignored_count; i++)
        found |= fnmatch(written->ignored[i], file->name, 0) == 0 ||
                 fnmatch(written->ignored[i], strrchr(file->path, '/') + 1, 0) == 0;
    return found;
}

static const char *shorten(const char *path)
{
    char *current = getcwd(NULL, 0);
    size_t length = current ? strlen(current) : 0;
    bool below = length > 0 && strncmp(path, current, length) == 0 && path[length] == '/';

    free(current);
    return below ? path + length + 1 : path;
}

static void add_writer(struct tic_written_file *file, const char *who)
{
    size_t length = strlen(file->writers);

    file->in_order = length == 0 && strcmp(who, "main()") == 0;
    snprintf(file->writers + length, sizeof(file->writers) - length, "%s%s", length ? ", " : "",
             who);
}

/* "\0WHO\0PATH\0K" */
static const char *add_note(struct tic_written *written, const char *note)
{
    const char *who = note + 1, *path = who + strlen(who) + 1, *kind = path + strlen(path) + 1;
    unsigned i = 0;

    while (i < written->count && strcmp(written->files[i].path, path) != 0)
        i++;
    struct tic_written_file *file = &written->files[i];
    if (i == written->count) {
        *file = (struct tic_written_file){.path = path,
                                          .name = shorten(path),
                                          .kind = *kind,
                                          .place = note - written->notes.bytes};
        written->count++;
    }
    add_writer(file, who);
    return kind + 1;
}

static void expect(struct tic_written_file *file)
{
    struct stat info = {.st_size = 0};

    file->exists = stat(file->path, &info) == 0;
    if (file->kind == '?')
        file->excluded = "what it held before is too large, or could not be kept";
    else if (info.st_size > COMPARED_MOST)
        file->excluded = "it is too large";
    else if (file->exists && tic_output_read(&file->expected, file->path) != 0)
        file->excluded = "it cannot be read";
}

void tic_written_load(struct tic_written *written, const char *notes_path)
{
    const struct tic_output *notes = &written->notes;
    unsigned most = 0, count = 0;

    if (tic_output_read(&written->notes, notes_path) != 0 || notes->count == 0)
        return;
    const char *end = notes->lines[notes->count - 1].text + notes->lines[notes->count - 1].length;
    for (const char *at = notes->bytes; at < end; at++)
        most += *at == '\0';
    written->files = calloc(most, sizeof(*written->files));
    written->notes_path = strdup(notes_path);
    for (const char *at = notes->bytes; written->files && written->notes_path && at < end;)
        at = add_note(written, at);
    for (unsigned i = 0; i < written->count; i++) {
        struct tic_written_file *file = &written->files[i];
        expect(file);
        if (!is_ignored(written, file) && (file->kind != '+' || file->exists))
            written->files[count++] = *file;
        else
            tic_output_free(&file->expected);
    }
    written->count = count;
}

void tic_written_free(struct tic_written *written)
{
    for (unsigned i = 0; i < written->count; i++)
        tic_output_free(&written->files[i].expected);
    tic_output_free(&written->notes);
    free(written->files);
    free(written->notes_path);
}

/* ---- runs ----------------------------------------------------------------------------------- */

static bool put_back(const struct tic_written *written, const struct tic_written_file *file)
{
    char *name = NULL;
    struct stat info;
    ssize_t sent = -1;

    if (file->kind == '+')
        return unlink(file->path) == 0 || errno == ENOENT;
    if (file->kind != '=' ||
        asprintf(&name, "%s.before/%lld", written->notes_path, file->place) < 0)
        return true;
    int from = open(name, O_RDONLY | O_CLOEXEC);
    int to = from >= 0 && fstat(from, &info) == 0
                 ? open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, info.st_mode)
                 : -1;
    while (to >= 0 && (sent = sendfile(to, from, NULL, COMPARED_MOST)) > 0)
        ;
    close(from);
    close(to);
    free(name);
    return sent == 0;
}

void tic_written_put_back(const struct tic_written *written)
{
    for (unsigned i = 0; i < written->count; i++)
        if (!put_back(written, &written->files[i]))
            written->files[i].excluded = "what it held before cannot be put back";
}

struct tic_written_file *tic_written_find_other(const struct tic_written *written,
                                                struct tic_output *found)
{
    for (unsigned i = 0; i < written->count; i++) {
        struct tic_written_file *file = &written->files[i];
        tic_output_free(found);
        bool exists = !file->excluded && tic_output_read(found, file->path) == 0;
        enum tic_match match = tic_output_match(&file->expected, found, NULL, 0);
        if (!file->excluded && (exists != file->exists || match == TIC_MATCH_NONE ||
                                (match != TIC_MATCH_EXACT && file->in_order)))
            return file;
    }
    return NULL;
}

const struct tic_written_file *tic_written_find_excluded(const struct tic_written *written)
{
    for (unsigned i = 0; i < written->count; i++)
        if (written->files[i].excluded)
            return &written->files[i];
    return NULL;
}

json_t *tic_written_list(const struct tic_written *written)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < written->count; i++) {
        const struct tic_written_file *file = &written->files[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "name", file->name, "writers",
                                              file->writers, "compared", !file->excluded));
    }
    return list;
}
