#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that a kernel that says that it has failed is executed again on what was there before it,
# elsewhere, and that nobody else sees what it had written; and what becomes of those that cannot be.
load common

failing() {
    run_apart timeout "$hangs" "$tool" run -- "$lib/failing" "$@"
}
is_expected() {
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain failing "not $expected"
}
# Stopped, after one message that says so.
is_stopped() { # TEXT of the message
    [ "$status" -eq 76 ] || complain failing "status $1"
    grep -q "task \"step\" .*failed.*$1.*No other task has seen what it wrote" err ||
        complain failing "does not say: $1"
    [ ! -s out ]
}

setup_file() {
    export STARPU_TIC_RETRIES=20 STARPU_TIC_ELSEWHERE=30 # on a busy machine, too
}

@test "kernels that fail at random: the result is exact" {
    expected=$("$lib/failing" plain 600)
    failing random 600
    is_expected
    [ "$(stat_of retries)" -ge 10 ]
    [ "$(stat_of retries_elsewhere)" -ge 5 ]
    [ "$(grep -c 'is executed again' err)" -eq 1 ]
    [ "$(stat_of tasks_executed)" -eq 600 ]
}

@test "the same, killed and resumed, whatever the protocol" {
    export STARPU_TIC_EVERY=11
    resumes_always "$("$lib/failing" plain)" "$lib/failing" random
}

@test "what fails on one worker comes right on another one" {
    expected=$("$lib/failing" plain)
    F_LONG=500 failing worker # both have some
    is_expected
    [ "$(stat_of retries_elsewhere)" -gt 0 ] # not all, where the other worker does not come in time
}

@test "where there is no other one it is stopped, and the same command goes on elsewhere" {
    export STARPU_TIC_RETRIES=3
    expected=$("$lib/failing" plain)
    STARPU_TIC_EVERY=20 crash line-renamed:2 "$lib/failing" worker # the sixth may come after the end
    STARPU_NCPU=1 failing worker
    [ "$status" -eq 76 ]
    grep -q 'failed 4 times, on workers 0, 0, 0, 0, and is not executed again: STARPU_TIC_RETRIES' err
    grep -q 'recovery lines in .*/store are kept: the same command goes on from the last one' err
    failing worker
    is_expected
    [ "$(stat_of tasks_skipped)" -ge 20 ]
}

@test "a task that fails whatever happens" {
    STARPU_TIC_RETRIES=2 failing always
    is_stopped '3 times, on workers [01], [01], [01].*It writes data 12, 13 (number of registration)'
    STARPU_TIC_RETRIES=0 failing always
    is_stopped 'on worker [01], and is not executed again: STARPU_TIC_RETRIES'
}

@test "the first execution of a task: arguments and parts of data come back, too" {
    expected=$("$lib/failing" plain)
    for workers in 1 2 3; do
        STARPU_NCPU=$workers failing first
        is_expected
        [ "$(stat_of retries)" -gt 0 ]
    done
}

@test "a codelet that nobody has declared; STARPU_TIC_RETRY declares it" {
    export F_DECLARE=0
    expected=$("$lib/failing" plain)
    STARPU_NCPU=1 failing worker
    [ "$status" -eq 76 ]
    grep -q 'cannot be executed again, as nobody has kept what it writes: give its codelet to' err
    STARPU_TIC_RETRY=other,step failing always
    is_stopped '21 times'
    STARPU_TIC_RETRY=part failing always
    [ "$status" -eq 76 ]
    grep -q 'nobody has kept what it writes' err
    STARPU_TIC_RETRY=part,step failing random
    is_expected
    STARPU_TIC_RETRY=all failing random
    is_expected
}

@test "tasks that it has submitted cannot be taken back" {
    STARPU_NCPU=1 failing spawns
    is_stopped 'it has submitted tasks before it failed, which cannot be taken back'
}

@test "tasks that it submits when it comes right, on another worker" {
    expected=$("$lib/failing" spawned)
    export STARPU_TIC_EVERY=11
    for point in task-end:120 line-renamed:3 task-begin:260; do
        STARPU_TIC_FAIL=$point failing spawned
        [ "$status" -eq 137 ]
        failing spawned
        is_expected
        [ "$(stat_of protected)" = true ]
    done
}

@test "data that was registered twice is not put back" {
    failing twice
    is_stopped 'it writes data that shares memory with other data'
}

@test "without protection it works as well" {
    expected=$("$lib/failing" plain)
    export STARPU_TIC_PROTOCOL=off
    failing random
    is_expected
    failing always
    [ "$status" -eq 76 ]
    ! grep -q 'recovery line' err
    [ ! -e "$STARPU_TIC_DIR" ]
}

@test "the supervisor starts it again as long as it comes further" {
    export STARPU_TIC_RETRIES=0 STARPU_TIC_EVERY=10 STARPU_NCPU=1
    run_apart timeout "$hangs" "$tool" run --max-restarts 9 --backoff 0.1 -- "$lib/failing" always
    [ "$status" -eq 76 ]
    grep -q 'ended with status 76 .*: restart 1 of 9' err
    grep -q 'no recovery line came further (--no-progress 1): no more restarts' err
}
