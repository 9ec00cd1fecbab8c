/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* checks that connections which were accepted on a port, and no others, break when the other side
 * says nothing. */
#include "lib/testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "session/peers.h"

/* One that listens, and both ends of a connection to it. */
static int listener, accepted, connected;
static unsigned port;

static int build(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);

    (void)state;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    port = ntohs(address.sin_port);
    connected = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(connected, (struct sockaddr *)&address, size), 0);
    accepted = accept(listener, NULL, NULL);
    return accepted >= 0 ? 0 : -1;
}

static int clean(void **state)
{
    (void)state;
    return close(accepted) | close(connected) | close(listener);
}

static int option(int descriptor, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof(value);

    assert_int_equal(getsockopt(descriptor, level, name, &value, &size), 0);
    return value;
}

static void test_accepted_only(void **state)
{
    (void)state;
    assert_int_equal(tic_peers_watch(port, 60), 1);
    assert_int_equal(option(accepted, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option(accepted, IPPROTO_TCP, TCP_USER_TIMEOUT), 60000);
    assert_true(option(accepted, IPPROTO_TCP, TCP_KEEPIDLE) +
                    option(accepted, IPPROTO_TCP, TCP_KEEPINTVL) *
                        option(accepted, IPPROTO_TCP, TCP_KEEPCNT) <=
                60);
    assert_int_equal(option(connected, SOL_SOCKET, SO_KEEPALIVE), 0);
    assert_int_equal(option(listener, SOL_SOCKET, SO_KEEPALIVE), 0);
}

static void test_short_and_long(void **state)
{
    (void)state;
    assert_int_equal(tic_peers_watch(port, 0.01), 1);
    assert_int_equal(option(accepted, IPPROTO_TCP, TCP_KEEPIDLE), 1);
    assert_int_equal(option(accepted, IPPROTO_TCP, TCP_USER_TIMEOUT), 1000);
    assert_int_equal(tic_peers_watch(port, 1e9), 1);
    assert_true(option(accepted, IPPROTO_TCP, TCP_USER_TIMEOUT) > 24 * 3600 * 1000);
}

static void test_another_port(void **state)
{
    (void)state;
    assert_int_equal(tic_peers_watch(port + 1, 60), 0);
    assert_int_equal(option(accepted, SOL_SOCKET, SO_KEEPALIVE), 0);
}

static void test_the_port(void **state)
{
    (void)state;
    unsetenv("STARPU_TCPIP_MS_PORT");
    assert_int_equal(tic_peers_port(), 1234);
    setenv("STARPU_TCPIP_MS_PORT", "4321", 1);
    assert_int_equal(tic_peers_port(), 4321);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_accepted_only, build, clean),
        cmocka_unit_test_setup_teardown(test_short_and_long, build, clean),
        cmocka_unit_test_setup_teardown(test_another_port, build, clean),
        cmocka_unit_test(test_the_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
