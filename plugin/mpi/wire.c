/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Letters between ranks by TCP: a star around rank 0, which the others find by a file in the
 * directory of the job's lines. Its token keeps out strangers and ranks of another run. */
#include "mpi/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/grow.h"

enum { MOST_BYTES = 1 << 30, PIECE = 1 << 16, BACKLOG = 1024 };

/* ---- the meeting ----------------------------------------------------------------------------- */

struct greeting {
    char token[32];
    uint32_t rank;
};

static bool make_token(char token[33])
{
    unsigned char bytes[16];
    bool fine = getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes);

    for (unsigned i = 0; i < sizeof(bytes); i++)
        sprintf(token + 2 * i, "%02x", bytes[i]);
    return fine;
}

static int write_meeting(const char *directory, unsigned port, const char *token)
{
    char name[PATH_MAX], fresh[PATH_MAX + 8], host[HOST_NAME_MAX + 1] = "";

    if (snprintf(name, sizeof(name), "%s/meeting", directory) >= (int)sizeof(name))
        return -ENAMETOOLONG;
    snprintf(fresh, sizeof(fresh), "%s.new", name);
    gethostname(host, sizeof(host) - 1);
    FILE *file = fopen(fresh, "we");
    if (!file)
        return -errno;
    bool fine = fprintf(file, "%s %u %s\n", host, port, token) > 0;
    fine = fclose(file) == 0 && fine && rename(fresh, name) == 0;
    return fine ? 0 : -errno;
}

int tic_wire_listen(const char *directory, int *fd, char token[33])
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t size = sizeof(here);
    int status = 0;

    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0 || !make_token(token) || bind(*fd, (struct sockaddr *)&here, size) != 0 ||
        listen(*fd, BACKLOG) != 0 || getsockname(*fd, (struct sockaddr *)&here, &size) != 0)
        status = -errno;
    return status ? status : write_meeting(directory, ntohs(here.sin_port), token);
}

static int read_meeting(const char *directory, char host[HOST_NAME_MAX + 1], char port[8],
                        char token[33])
{
    char name[PATH_MAX], here[HOST_NAME_MAX + 1] = "";

    snprintf(name, sizeof(name), "%s/meeting", directory);
    FILE *file = fopen(name, "re");
    if (!file)
        return -errno;
    bool fine = fscanf(file, "%64s %7s %32s", host, port, token) == 3 && strlen(token) == 32;
    fclose(file);
    gethostname(here, sizeof(here) - 1);
    if (fine && strcmp(here, host) == 0)
        strcpy(host, "127.0.0.1");
    return fine ? 0 : -EBADMSG;
}

static int connect_to(const char *host, const char *port)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int fd = -1, status = getaddrinfo(host, port, &hints, &found) == 0 ? 0 : -EHOSTUNREACH;

    for (const struct addrinfo *each = found; each && fd < 0; each = each->ai_next) {
        fd = socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, each->ai_addr, each->ai_addrlen) == 0)
            break;
        status = -errno;
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    if (found)
        freeaddrinfo(found);
    return fd >= 0 ? fd : status;
}

static void prepare(int fd)
{
    const int yes = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
}

int tic_wire_connect(const char *directory, unsigned rank, struct tic_wire *wire)
{
    char host[HOST_NAME_MAX + 1], port[8], token[33];
    struct greeting greeting = {.rank = rank};
    int status = read_meeting(directory, host, port, token);
    int fd = status ? status : connect_to(host, port);

    if (fd < 0)
        return fd;
    prepare(fd);
    memcpy(greeting.token, token, sizeof(greeting.token));
    if (send(fd, &greeting, sizeof(greeting), MSG_NOSIGNAL) != sizeof(greeting) ||
        fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        close(fd);
        return -EIO;
    }
    *wire = (struct tic_wire){.fd = fd};
    return 0;
}

/* Nobody else is waited for meanwhile: a stranger who says nothing costs a second. */
int tic_wire_accept(int fd, const char *token, unsigned *rank, struct tic_wire *wire)
{
    const struct timeval soon = {.tv_sec = 1};
    struct greeting greeting;
    int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

    if (connection < 0)
        return -errno;
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
    if (recv(connection, &greeting, sizeof(greeting), MSG_WAITALL) != sizeof(greeting) ||
        memcmp(greeting.token, token, sizeof(greeting.token)) != 0 ||
        fcntl(connection, F_SETFL, O_NONBLOCK) != 0) {
        close(connection);
        return -EPERM;
    }
    prepare(connection);
    *rank = greeting.rank;
    *wire = (struct tic_wire){.fd = connection};
    return 0;
}

void tic_wire_close(struct tic_wire *wire)
{
    if (wire->fd >= 0)
        close(wire->fd);
    free(wire->out);
    free(wire->in);
    *wire = (struct tic_wire){.fd = -1};
}

/* ---- letters --------------------------------------------------------------------------------- */

static bool make_room(char **bytes, unsigned long *room, size_t needed)
{
    char *grown = tic_grow(*bytes, room, needed, 1);

    *bytes = grown ? grown : *bytes;
    return grown != NULL;
}

bool tic_wire_put(struct tic_wire *wire, const struct tic_agree_message *message)
{
    const struct tic_wire_header header = {message->kind, (uint32_t)message->size, message->line};
    size_t size = sizeof(header) + message->size;

    if (message->size > MOST_BYTES ||
        !make_room(&wire->out, &wire->out_room, wire->out_size + size))
        return false;
    memcpy(wire->out + wire->out_size, &header, sizeof(header));
    if (message->size > 0)
        memcpy(wire->out + wire->out_size + sizeof(header), message->bytes, message->size);
    wire->out_size += size;
    return true;
}

/* That the connection is gone, reading tells. */
void tic_wire_write(struct tic_wire *wire)
{
    ssize_t sent = 1;

    while (wire->out_size > 0 && wire->fd >= 0 && sent > 0) {
        sent = send(wire->fd, wire->out, wire->out_size, MSG_NOSIGNAL);
        if (sent > 0) {
            wire->out_size -= (size_t)sent;
            memmove(wire->out, wire->out + sent, wire->out_size);
        }
    }
}

bool tic_wire_read(struct tic_wire *wire)
{
    for (;;) {
        if (!make_room(&wire->in, &wire->in_room, wire->in_size + PIECE))
            return false;
        ssize_t got = recv(wire->fd, wire->in + wire->in_size, PIECE, 0);
        if (got <= 0)
            return got < 0 && (errno == EAGAIN || errno == EINTR);
        wire->in_size += (size_t)got;
    }
}

/* The letter before was taken: its bytes go now. */
static void forget_taken(struct tic_wire *wire)
{
    const struct tic_wire_header *header = (const void *)wire->in;
    size_t size = sizeof(*header) + header->size;

    wire->in_size -= size;
    memmove(wire->in, wire->in + size, wire->in_size);
    wire->taken = false;
}

bool tic_wire_take(struct tic_wire *wire, struct tic_agree_message *message)
{
    struct tic_wire_header header;

    if (wire->taken)
        forget_taken(wire);
    if (wire->in_size < sizeof(header))
        return false;
    memcpy(&header, wire->in, sizeof(header));
    if (wire->in_size < sizeof(header) + header.size)
        return false;
    *message = (struct tic_agree_message){header.kind, header.line, wire->in + sizeof(header),
                                          header.size};
    wire->taken = true;
    return true;
}
