/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reader as a judge of stores that were damaged. */
#include "lib/judge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/schema.h"

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    return XXH3_64bits_withSeed(bytes, size, hash + size);
}

uint64_t tic_judge_content(const struct tic_line *line)
{
    uint64_t hash = 1;
#define NUMBER(member) hash = mix(hash, &line->member, sizeof(line->member));
#define ACCOUNT_NUMBER(member) NUMBER(account.member)
#define TEXT_OF(member) hash = mix(hash, line->member, strlen(line->member));
#define ONE_FIELD(S, text, member, type) hash = mix(hash, &item->member, sizeof(item->member));
#define TABLE(path, S, array, count, FIELDS)                                                       \
    for (size_t i = 0; i < line->count; i++) {                                                     \
        const struct S *item = &line->array[i];                                                    \
        FIELDS(S, ONE_FIELD)                                                                       \
    }
#define ARRAY(path, type, array, count)                                                            \
    hash = mix(hash, line->array, line->count * sizeof(*line->array));
    TIC_LINE_NUMBERS(NUMBER)
    TIC_ACCOUNT_NUMBERS(ACCOUNT_NUMBER)
    TIC_LINE_TEXTS(TEXT_OF)
    TIC_LINE_TABLES(TABLE)
    TIC_LINE_ARRAYS(ARRAY)
    NUMBER(created)
    return hash;
}

struct search {
    struct tic_store *store;
    struct tic_judged judged;
};

static bool consider(void *arg, const char *name, int status, struct tic_line *line)
{
    struct search *search = arg;

    (void)name;
    search->judged.refused = true;
    if (status == -EPROTONOSUPPORT || status == -ENOTSUP)
        return true;
    if (status || tic_store_check(search->store, line) != 0)
        return false;
    search->judged = (struct tic_judged){line->number, tic_judge_content(line), false};
    return true;
}

struct tic_judged tic_judge_directory(const char *directory)
{
    struct tic_store store;
    struct search search = {.store = &store};

    if (tic_store_open(&store, directory, TIC_STORE_READ, false, &tic_h5_ops) != 0 ||
        tic_store_walk(&store, consider, &search) != 0) {
        perror(directory);
        exit(2);
    }
    tic_store_close(&store);
    return search.judged;
}
