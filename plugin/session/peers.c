/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/peers.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { DEFAULT_PORT = 1234, PROBES = 3 };

unsigned tic_peers_port(void)
{
    const char *port = getenv("STARPU_TCPIP_MS_PORT");

    return port ? (unsigned)atoi(port) : DEFAULT_PORT;
}

static bool is_peer(int descriptor, unsigned port)
{
    struct sockaddr_in here = {0}, there = {0};
    socklen_t here_size = sizeof(here), there_size = sizeof(there);

    return getsockname(descriptor, (struct sockaddr *)&here, &here_size) == 0 &&
           here.sin_family == AF_INET && ntohs(here.sin_port) == port &&
           getpeername(descriptor, (struct sockaddr *)&there, &there_size) == 0;
}

static bool set(int descriptor, int level, int option, int value)
{
    return setsockopt(descriptor, level, option, &value, sizeof(value)) == 0;
}

/* The first question comes in time for the others to follow; what was sent and not acknowledged
 * counts, too. */
static bool watch(int descriptor, int seconds)
{
    int between = seconds / (PROBES + 1) > 1 ? seconds / (PROBES + 1) : 1;

    return set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1) &&
           set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, between) &&
           set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, between) &&
           set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, PROBES) &&
           set(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, seconds * 1000);
}

unsigned tic_peers_watch(unsigned port, double seconds)
{
    enum { MOST = 32767 * 4 }; /* as Linux allows */
    int whole = seconds < 1 ? 1 : seconds > MOST ? MOST : (int)seconds;
    DIR *descriptors = opendir("/proc/self/fd");
    struct dirent *entry;
    unsigned count = 0;

    while (descriptors && (entry = readdir(descriptors)))
        if (entry->d_name[0] != '.' && is_peer(atoi(entry->d_name), port))
            count += watch(atoi(entry->d_name), whole);
    if (descriptors)
        closedir(descriptors);
    return count;
}
