/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that a supervised program finds its beacon, also where the descriptor was closed, and sees
 * that its supervisor was killed, not that it has ended. Each case is a process of its own. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beacon.h"
#include "lib/testing.h"

static struct tic_beacon *shared;
static int memory;

/* What the supervisor makes; it locks it in a process that is then killed. */
static void make_beacon(void)
{
    memory = memfd_create("beacon", MFD_CLOEXEC);
    assert_true(memory >= 0);
    assert_int_equal(ftruncate(memory, sizeof(*shared)), 0);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    assert_true(shared != MAP_FAILED);
    shared->format = TIC_BEACON_FORMAT;
}

static void name_beacon(pid_t supervisor)
{
    struct stat info;
    char place[64];

    fstat(memory, &info);
    snprintf(place, sizeof(place), "%d %llu %d", memory, (unsigned long long)info.st_ino,
             supervisor);
    setenv(TIC_BEACON_VARIABLE, place, 1);
}

static pid_t start_supervisor(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int ready[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        atomic_store(&shared->is_guarded, fcntl(memory, F_SETLK, &lock) == 0);
        if (write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    assert_true(atomic_load(&shared->is_guarded));
    return child;
}

static void kill_supervisor(pid_t supervisor)
{
    kill(supervisor, SIGKILL);
    waitpid(supervisor, NULL, 0);
}

/* Runs the case in a process of its own; it returns 0 or the line that is wrong. */
static void run(int (*run_case)(void))
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        make_beacon();
        _exit(run_case());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define WRONG (__LINE__ % 200 + 1)

static int see_killed(void)
{
    pid_t supervisor = start_supervisor();

    name_beacon(supervisor);
    if (tic_beacon_take("/lines") != shared && strcmp(shared->directory, "/lines") != 0)
        return WRONG;
    if (!tic_beacon_is_guarded() || tic_beacon_is_orphaned())
        return WRONG;
    kill_supervisor(supervisor);
    return tic_beacon_is_orphaned() ? 0 : WRONG;
}

static int see_ended(void)
{
    pid_t supervisor = start_supervisor();

    name_beacon(supervisor);
    tic_beacon_take("/lines");
    atomic_store(&shared->is_guarded, false);
    kill_supervisor(supervisor);
    return tic_beacon_is_orphaned() ? WRONG : 0;
}

static int see_closed(void)
{
    pid_t supervisor = start_supervisor();

    name_beacon(supervisor);
    close(memory);
    if (!tic_beacon_take("/lines") || strcmp(shared->directory, "/lines") != 0)
        return WRONG;
    kill_supervisor(supervisor);
    return tic_beacon_is_orphaned() ? 0 : WRONG;
}

static int see_taken(void)
{
    pid_t supervisor = start_supervisor();

    name_beacon(supervisor);
    atomic_store(&shared->process, supervisor); /* another process of the program has it */
    if (tic_beacon_take("/lines") || !tic_beacon_is_guarded())
        return WRONG;
    kill_supervisor(supervisor);
    return tic_beacon_is_orphaned() ? 0 : WRONG;
}

static int see_all_closed(void)
{
    pid_t supervisor = start_supervisor();

    name_beacon(supervisor);
    tic_beacon_take("/lines");
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    kill_supervisor(supervisor);
    return tic_beacon_is_orphaned() ? WRONG : 0; /* nobody can tell */
}

static int see_none(void)
{
    unsetenv(TIC_BEACON_VARIABLE);
    return tic_beacon_take("/lines") || tic_beacon_is_guarded() || tic_beacon_is_orphaned() ? WRONG
                                                                                            : 0;
}

static void test_killed(void **state)
{
    (void)state;
    run(see_killed);
}

static void test_ended(void **state)
{
    (void)state;
    run(see_ended);
}

static void test_closed(void **state)
{
    (void)state;
    run(see_closed);
}

static void test_taken(void **state)
{
    (void)state;
    run(see_taken);
}

static void test_all_closed(void **state)
{
    (void)state;
    run(see_all_closed);
}

static void test_none(void **state)
{
    (void)state;
    run(see_none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed),     cmocka_unit_test(test_ended),
        cmocka_unit_test(test_closed),     cmocka_unit_test(test_taken),
        cmocka_unit_test(test_all_closed), cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests_name("beacon", tests, NULL, NULL);
}
