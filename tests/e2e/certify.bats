#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks certification: a sample of the tasks is executed twice, on two workers, and what differs is
# named before anybody sees it.
load common

failing() {
    run_apart timeout "$hangs" "$tool" run -- "$lib/failing" "$@"
}
is_expected() {
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain failing "not $expected"
    [ "$(stat_of certify_different)" -eq 0 ]
}

setup_file() {
    export F_DECLARE=0 STARPU_TIC_CERTIFY=100 STARPU_TIC_CERTIFY_SEED=7
    export STARPU_TIC_ELSEWHERE=30 # on a busy machine, too
}

plain() { # TASKS: what the program prints
    STARPU_TIC_PROTOCOL=off STARPU_TIC_CERTIFY=0 "$lib/failing" plain "$@"
}

@test "what is right stays as it is, and every task is executed by two workers" {
    expected=$(plain 600)
    failing plain 600
    is_expected
    [ "$(stat_of certified)" -eq 600 ]
    [ "$(stat_of certified_elsewhere)" -eq 600 ]
    STARPU_TIC_ELSEWHERE=0 failing plain 600
    is_expected
    [ "$(stat_of certified_elsewhere)" -eq 0 ]
    [ "$(stat_of certify_left_out)" -eq 0 ]
    [ "$(stat_of tasks_executed)" -eq 600 ]
    grep -q '100 % of the tasks are executed twice .*STARPU_TIC_CERTIFY_SEED=7' err
}

@test "one worker executes them twice, too" {
    expected=$(plain 100)
    STARPU_NCPU=1 failing plain 100
    is_expected
    [ "$(stat_of certified)" -eq 100 ]
    [ "$(stat_of certified_elsewhere)" -eq 0 ]
}

@test "the seed draws the same tasks in each run, and a part of them" {
    expected=$(plain 1000)
    STARPU_TIC_CERTIFY=20 failing plain 1000
    is_expected
    first=$(stat_of certified)
    [ "$first" -ge 150 ] && [ "$first" -le 250 ]
    STARPU_NCPU=3 STARPU_TIC_CERTIFY=20 failing plain 1000
    is_expected
    [ "$(stat_of certified)" -eq "$first" ]
    STARPU_TIC_CERTIFY=20 STARPU_TIC_CERTIFY_SEED=8 failing plain 1000
    [ "$(stat_of certified)" -ne "$first" ] || [ "$(stat_of certify_seed)" -eq 8 ]
    STARPU_TIC_CERTIFY=20 STARPU_TIC_CERTIFY_SEED= failing plain 1000
    is_expected
    grep -q "STARPU_TIC_CERTIFY_SEED=$(stat_of certify_seed))$" err
}

@test "tasks that write nothing but data without content have their effect elsewhere, and once" {
    expected=$(STARPU_TIC_PROTOCOL=off "$lib/failing" prints)
    failing prints
    is_expected
    [ "$(wc -l <out)" -eq 7 ]
    [ "$(stat_of certify_left_out)" -eq 6 ]
}

# Worker 1 does it in each thousandth task.
@test "a bit that flips is found, and named; nobody sees it; the lines are kept" {
    export STARPU_TIC_EVERY=50
    failing flips 1000
    [ "$status" -eq 79 ]
    [ ! -s out ]
    grep -q 'two executions of task "step" (submission 777) differ: data 3 (number of registration), element 17 of 300: bytes' err
    grep -Eq 'bytes ([0-9a-f]{16}) on worker [01], then [0-9a-f]{16} on worker [01]' err
    grep -q 'A third execution, on worker [01], agrees with the first' err
    grep -q 'No other task has seen the value. The recovery lines in .* are kept' err
    [ "$(stat_of certify_different)" -eq 1 ]
    # Not certified, and by a worker that does not do it, the same command ends.
    expected=$(plain 1000)
    STARPU_NCPU=1 STARPU_TIC_CERTIFY=0 failing flips 1000
    is_expected
    [ "$(stat_of tasks_skipped)" -ge 500 ]
}

@test "a sample finds it, too, if it happens often enough" {
    STARPU_TIC_CERTIFY=20 STARPU_TIC_CERTIFY_SEED=20 failing flips 8000 # which draws 2777 and three more
    [ "$status" -eq 79 ]
    grep -q 'two executions of task "step" (submission [2-7]777) differ' err
}

@test "arguments that differ, and kernels that do not compute the same from the same" {
    failing flips-args
    [ "$status" -eq 79 ]
    grep -q 'submission 100) differ: its arguments, element 0 of 4: bytes' err
    failing differs
    [ "$status" -eq 79 ]
    grep -q 'agrees with neither' err
    expected=$(plain 100)
    STARPU_TIC_CERTIFY_SKIP=part,step failing differs
    [ "$status" -eq 0 ]
    [ "$(stat_of certified)" -eq 0 ]
    [ "$(stat_of certify_left_out)" -eq 300 ]
}

@test "kernels that fail, and those that submit tasks" {
    export F_DECLARE=1 STARPU_TIC_RETRIES=20
    expected=$(STARPU_TIC_CERTIFY=0 "$lib/failing" plain)
    failing random
    is_expected
    [ "$(stat_of retries)" -gt 0 ]
    [ "$(stat_of certified)" -eq 300 ]
    expected=$(STARPU_TIC_CERTIFY=0 "$lib/failing" spawned)
    failing spawned
    is_expected
    [ "$(stat_of certify_left_out)" -gt 0 ]
}

@test "killed and resumed, whatever the protocol" {
    export STARPU_TIC_EVERY=11 STARPU_TIC_CERTIFY=40
    resumes_always "$(plain)" "$lib/failing" plain
}

@test "a restart that finds a difference stops; the next one goes on" {
    export STARPU_TIC_EVERY=50
    crash task-end:400 "$lib/failing" flips 1000
    failing flips 1000
    [ "$status" -eq 79 ]
    expected=$(plain 1000)
    STARPU_NCPU=1 failing flips 1000
    is_expected
}

@test "the supervisor starts it again" {
    export STARPU_TIC_EVERY=50
    run_apart timeout "$hangs" "$tool" run --max-restarts 2 --backoff 0.1 -- "$lib/failing" flips 1000
    grep -q 'ended with status 79 .*: restart 1 of 2' err
}

@test "without protection there is none, and a message says so" {
    expected=$(plain 100)
    STARPU_TIC_PROTOCOL=off failing plain 100
    [ "$(<out)" = "$expected" ]
    grep -q 'STARPU_TIC_CERTIFY and STARPU_TIC_RETRY have no effect with STARPU_TIC_PROTOCOL=off' err
}

@test "programs of the Debian package: nothing is named, and they check themselves" {
    need_examples
    export STARPU_TIC_CERTIFY=20
    run_apart timeout "$hangs" "$tool" run -- "$examples/cholesky_implicit" -size 960 -nblocks 12 -check
    [ "$status" -eq 0 ]
    [ "$(stat_of certified)" -gt 20 ]
    run_apart timeout "$hangs" "$tool" run -- "$examples/lu_implicit_example_double" -size 960 -nblocks 12 -check
    [ "$status" -eq 0 ]
    [ "$(stat_of certified)" -gt 20 ]
}
