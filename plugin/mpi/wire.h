/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Letters between ranks by TCP, a star around rank 0. One thread at a time. */
#pragma once

#include "mpi/agree.h"

struct tic_wire_header {
    uint32_t kind, size;
    uint64_t line;
};

/* A connection whose calls do not wait. Letters to be sent wait in it. */
struct tic_wire {
    int fd; /* -1: none */
    char *out, *in;
    size_t out_size, in_size;
    unsigned long out_room, in_room;
    bool taken; /* the first letter of those that came */
};

/* Written to `meeting` in the directory: where rank 0 listens. 0 or -errno. */
int tic_wire_listen(const char *directory, int *fd, char token[33]);
int tic_wire_connect(const char *directory, unsigned rank, struct tic_wire *wire);
/* Takes the next connection, and the rank whose it is; -EAGAIN: none. */
int tic_wire_accept(int fd, const char *token, unsigned *rank, struct tic_wire *wire);
void tic_wire_close(struct tic_wire *wire);
/* False: no memory. */
bool tic_wire_put(struct tic_wire *wire, const struct tic_agree_message *message);
void tic_wire_write(struct tic_wire *wire);
/* False: the connection is gone. */
bool tic_wire_read(struct tic_wire *wire);
/* The next letter that is complete: its bytes in the message until the next call. False: none. */
bool tic_wire_take(struct tic_wire *wire, struct tic_agree_message *message);
