/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/files.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "store/schema.h"

/* Bytes. FILE_MOST, FILE_LESS and ALL_MOST are law for the disk (FORMAT.md). */
enum {
    PIECE = 1 << 16,
    NAMES = 1 << 18,
    FILE_MOST = 1 << 26,
    FILE_LESS = 1 << 20,
    ALL_MOST = 1 << 29,
    NOTES = 2048,
    FOR_BUILDS = 64, /* notes that files leave to libraries */
    ENTRY_MOST = 96  /* of an entry, without the name */
};

struct content {
    unsigned long long high, low; /* of the hash */
    long long size;               /* -1: there is no file; OWN */
    long long bytes;              /* that the hash is of */
};
enum { OWN = -2 };

struct note {
    uint64_t key; /* hash of the name */
    const char *name;
    struct content content;
};

/* Appended to by one thread at a time, which holds `holder`; entries below `count` are immutable.
 */
static struct note notes[NOTES];
static atomic_uint count;
static char names[NAMES];
static size_t names_used;               /* guarded by holder */
static long long all_hashed;            /* the same */
static char piece[PIECE];               /* the same */
static XXH3_state_t *_Atomic state;     /* set once; content: the same */
static const char *_Atomic overwritten; /* the first file that was read and is written, or NULL */
static atomic_int holder;               /* thread, or 0 */

/* Of the recorded run; immutable once it is loaded. */
static struct note *recorded;
static size_t recorded_count;
static atomic_bool loaded;

int tic_files_start(void)
{
    if (!state)
        state = XXH3_createState();
    return state ? 0 : -ENOMEM;
}

/* A handler of a signal may come into a note of its own thread: then it makes none. In a fork the
 * holder may not be there. */
bool tic_files_begin(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    enum { TRIES = 10000 };
    int self = state ? gettid() : 0;

    for (int i = 0; self > 0 && i < TRIES; i++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&holder, &none, self))
            return true;
        if (none == self)
            return false;
        if (tgkill(getpid(), none, 0) != 0 && atomic_compare_exchange_strong(&holder, &none, self))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

void tic_files_end(void)
{
    atomic_store(&holder, 0);
}

/* ---- content -------------------------------------------------------------------------------- */

/* False: it is no regular file, or cannot be read like one. */
static bool read_content(int fd, struct content *content)
{
    const long long most = all_hashed < ALL_MOST ? FILE_MOST : FILE_LESS;
    struct stat info;
    ssize_t got = 1;

    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    XXH3_128bits_reset(state);
    for (content->bytes = 0; got > 0 && content->bytes < most; content->bytes += got) {
        got = pread(fd, piece, PIECE, content->bytes);
        if (got > 0)
            XXH3_128bits_update(state, piece, (size_t)got);
    }
    if (got < 0)
        return false;
    content->size = info.st_size;
    const uint64_t size = htole64((uint64_t)content->size);
    XXH3_128bits_update(state, &size, sizeof(size));
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    content->high = hash.high64;
    content->low = hash.low64;
    all_hashed += content->bytes;
    return true;
}

static enum tic_files_verdict compare(const struct content *then, const struct content *now)
{
    if (then->size == OWN || now->size == OWN)
        return TIC_FILES_SAME;
    if (then->size < 0 || now->size < 0)
        return then->size == now->size ? TIC_FILES_SAME
               : then->size < 0        ? TIC_FILES_NEW
                                       : TIC_FILES_MISSING;
    if (then->size != now->size)
        return TIC_FILES_OTHER;
    return then->bytes == now->bytes && (then->high != now->high || then->low != now->low)
               ? TIC_FILES_OTHER
               : TIC_FILES_SAME;
}

/* ---- notes ---------------------------------------------------------------------------------- */

static const struct note *find_note(const char *name, uint64_t key)
{
    unsigned noted = atomic_load_explicit(&count, memory_order_acquire);

    for (unsigned i = 0; i < noted; i++)
        if (notes[i].key == key && strcmp(notes[i].name, name) == 0)
            return &notes[i];
    return NULL;
}

static const struct note *find_recorded(const char *name, uint64_t key)
{
    for (size_t i = 0; atomic_load(&loaded) && i < recorded_count; i++)
        if (recorded[i].key == key && strcmp(recorded[i].name, name) == 0)
            return &recorded[i];
    return NULL;
}

/* Holder only. */
static void append(const char *name, uint64_t key, const struct content *content)
{
    unsigned noted = atomic_load_explicit(&count, memory_order_relaxed);
    bool of_file = strncmp(name, TIC_FILES_BUILD, strlen(TIC_FILES_BUILD)) != 0;
    size_t size = strlen(name) + 1;

    if (noted >= (of_file ? NOTES - FOR_BUILDS : NOTES) ||
        size > NAMES - names_used - (of_file ? FOR_BUILDS * ENTRY_MOST : 0))
        return;
    memcpy(names + names_used, name, size);
    notes[noted] = (struct note){key, names + names_used, *content};
    names_used += size;
    atomic_store_explicit(&count, noted + 1, memory_order_release);
}

enum tic_files_verdict tic_files_note(const char *name, int fd)
{
    struct content content = {.size = -1};
    uint64_t key = XXH3_64bits(name, strlen(name));

    if (find_note(name, key) || (fd >= 0 && !read_content(fd, &content)))
        return TIC_FILES_SAME;
    const struct note *then = find_recorded(name, key);
    append(name, key, &content);
    return then ? compare(&then->content, &content) : TIC_FILES_SAME;
}

enum tic_files_verdict tic_files_note_build(const char *name, const void *bytes, size_t size,
                                            int fd)
{
    struct content content = {.size = (long long)size, .bytes = (long long)size};
    XXH128_hash_t hash = XXH3_128bits(bytes, size);
    char label[PATH_MAX];
    const struct note *now;
    uint64_t key;

    content.high = hash.high64;
    content.low = hash.low64;
    if (fd >= 0 && !read_content(fd, &content))
        return TIC_FILES_SAME;
    for (unsigned number = 1;; number++) {
        snprintf(label, sizeof(label), number == 1 ? "%s" : "%s (%u)", name, number);
        key = XXH3_64bits(label, strlen(label));
        now = find_note(label, key);
        if (!now)
            break;
        if (compare(&now->content, &content) == TIC_FILES_SAME)
            return TIC_FILES_SAME;
    }
    const struct note *then = find_recorded(label, key);
    append(label, key, &content);
    return then ? compare(&then->content, &content) : TIC_FILES_SAME;
}

void tic_files_note_written(const char *name, bool anew)
{
    const struct content own = {.size = OWN};
    uint64_t key = XXH3_64bits(name, strlen(name));
    const struct note *before = find_note(name, key);

    if (!before && anew)
        append(name, key, &own);
    else if (before && before->content.size != OWN && !atomic_load(&overwritten))
        atomic_store(&overwritten, before->name);
}

const char *tic_files_tell_overwritten(void)
{
    static atomic_bool told;
    const char *name = atomic_load(&overwritten);

    return name && !atomic_exchange(&told, true) ? name : NULL;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static size_t print(char *at, const struct note *one)
{
    const struct content *content = &one->content;
    char entry[ENTRY_MOST];

    if (content->size == OWN)
        return 0;
    int size = snprintf(entry, sizeof(entry), TIC_LINE_FILE_FORMAT, content->high, content->low,
                        content->size, content->bytes);
    memcpy(at, entry, (size_t)size);
    strcpy(at + size, one->name);
    return (size_t)size + strlen(one->name) + 1;
}

int tic_files_describe(struct tic_line_text *out)
{
    unsigned noted = atomic_load_explicit(&count, memory_order_acquire);
    size_t earlier = atomic_load(&loaded) ? recorded_count : 0, most = 1, used = 0;

    for (unsigned i = 0; i < noted; i++)
        most += ENTRY_MOST + strlen(notes[i].name) + 1;
    for (size_t i = 0; i < earlier; i++)
        most += ENTRY_MOST + strlen(recorded[i].name) + 1;
    char *text = malloc(most);
    if (!text)
        return -ENOMEM;
    for (size_t i = 0; i < earlier; i++)
        if (!find_note(recorded[i].name, recorded[i].key))
            used += print(text + used, &recorded[i]);
    for (unsigned i = 0; i < noted; i++)
        used += print(text + used, &notes[i]);
    *out = (struct tic_line_text){text, used};
    return 0;
}

/* The next entry from `at` on; NULL: there is none, or it is none. */
static const char *parse(const char *at, const char *end, struct note *one)
{
    struct content *content = &one->content;
    int size = 0;

    if (at >= end ||
        sscanf(at, TIC_LINE_FILE_SCAN, &content->high, &content->low, &content->size,
               &content->bytes, &size) != 4 ||
        at[size] != ' ')
        return NULL;
    one->name = at + size + 1;
    one->key = XXH3_64bits(one->name, strlen(one->name));
    return one->name + strlen(one->name) + 1;
}

enum tic_files_verdict tic_files_compare(const struct tic_line_text *then, const char **name)
{
    const char *end = then->text + then->size;
    struct note one;

    for (const char *at = then->text; (at = parse(at, end, &one)) != NULL;) {
        const struct note *now = find_note(one.name, one.key);
        enum tic_files_verdict verdict =
            now ? compare(&one.content, &now->content) : TIC_FILES_SAME;
        *name = one.name;
        if (verdict != TIC_FILES_SAME)
            return verdict;
    }
    return TIC_FILES_SAME;
}

int tic_files_load(const struct tic_line_text *then)
{
    static char *kept; /* what recorded points into */
    char *text = malloc(then->size + 1);
    size_t most = 0;

    free(kept);
    free(recorded);
    kept = text;
    recorded = NULL;
    recorded_count = 0;
    if (!text)
        return -ENOMEM;
    for (size_t i = 0; i < then->size; i++)
        most += then->text[i] == '\0';
    recorded = calloc(most + 1, sizeof(*recorded));
    if (!recorded)
        return -ENOMEM;
    if (then->size > 0)
        memcpy(text, then->text, then->size);
    for (const char *at = text; (at = parse(at, text + then->size, &recorded[recorded_count]));)
        recorded_count++;
    atomic_store(&loaded, true);
    return 0;
}
