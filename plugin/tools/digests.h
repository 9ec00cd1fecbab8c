/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hashes of data that main() got back in a run (STARPU_TIC_DIGESTS), and what differs in two. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One datum. */
struct tic_datum {
    uint64_t id;    /* number of registration */
    uint64_t times; /* that main() got it back */
    uint64_t hash;  /* when it last did */
    char call;      /* by which it did: U, A or P */
    bool varies;    /* runs without a kill differ in its hash */
};

struct tic_digests {
    struct tic_datum *data; /* by id */
    size_t count;
    bool part; /* of the last part of a run only, as a restart went on from a commit point */
};

/* 0 or -errno. */
int tic_digests_read(struct tic_digests *digests, const char *path);
void tic_digests_free(struct tic_digests *digests);

/* Marks the data that have another hash in the other run. Returns how many more these are. */
size_t tic_digests_mark(struct tic_digests *digests, const struct tic_digests *other);

/* The first datum of one of them that the other one has not so; false when there is none. */
struct tic_digest_difference {
    const struct tic_datum *expected, *found; /* one of them may be NULL */
};
bool tic_digests_differ(const struct tic_digests *expected, const struct tic_digests *found,
                        struct tic_digest_difference *difference);

/* The function of StarPU. */
const char *tic_digest_call(char call);
