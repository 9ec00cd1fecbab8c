#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that prologues of tasks come in a restart in the order, and to the data, that they had
# (tests/lib/prologues.c), while main() is far ahead of them.
load common

setup_file() {
    export STARPU_TIC_EVERY=5
}

# Kills a run at each point, one after the other, and resumes: it must be right, and go on from a line
# where there is one.
resumes_after() { # expected output, workers, form, points
    local expected=$1 workers=$2 form=$3 point held # run sets `lines`
    shift 3
    rm -rf "$STARPU_TIC_DIR"
    for point in "$@"; do
        STARPU_NCPU=2 crash "$point" "$lib/prologues" "$form"
    done
    held=$(find "$STARPU_TIC_DIR" -name '*-line-*.h5')
    LATE=${LATE:+looks} STARPU_NCPU=$workers run_apart "$tool" run -- "$lib/prologues" "$form"
    is_right "$expected" "$held" || complain "$form" "wrong after $*"
}

# Killed where the first line is there, and when so many tasks have ended, in make check at each second of
# these points; resumed by more and by fewer workers, in turns or, in make check-soak, both.
survives() { # form, points
    local expected point workers turn=1 number=$((forms++ % 2))
    expected=$("$lib/prologues" "$1")
    for point in line-renamed:1 "${@:2}"; do
        is_soak || [ $((number++ % 2)) -eq 0 ] || continue
        turn=$((4 - turn)) # 3, 1, 3 ...
        for workers in $(is_soak && echo 1 3 || echo $turn); do
            resumes_after "$expected" $workers "$1" "$point"
        done
    done
}

# The first restart is killed, too.
survives_twice() { # form, points
    local expected workers
    expected=$("$lib/prologues" "$1")
    for workers in 1 3; do
        resumes_after "$expected" $workers "$@"
    done
}

@test "tasks that follow each other by their data" {
    survives data task-end:11 task-end:21 task-end:32
    survives data-pop task-end:11 task-end:21 task-end:32
}

@test "tasks that follow each other by declared dependencies, in structures that stay" {
    survives declared task-end:11 task-end:21 task-end:32
    survives declared-pop task-end:11 task-end:21 task-end:32
}

@test "of tasks that do not follow each other, prologues run when main() submits them" {
    survives early task-end:16 task-end:24 task-end:36
}

@test "tasks that write nothing, and are executed again" {
    survives readers task-end:16 task-end:24 task-end:36
}

@test "prologues of tasks without a kernel write data, in structures that stay" {
    survives nowhere task-end:11 task-end:18 task-end:25
}

@test "main() waits for tasks in their submission" {
    survives synchronous task-end:11 task-end:13 task-end:21 task-end:32
    survives_twice synchronous task-end:16 task-end:9
}

@test "main() changes the data of tasks in accesses" {
    survives access task-end:11 task-end:14 task-end:21 task-end:32
    survives_twice access task-end:16 task-end:9
}

@test "main() changes what prologues of tasks without a kernel write" {
    survives written task-end:11 task-end:14 task-end:18 task-end:24
    survives_twice written task-end:12 task-end:9
}

@test "main() waits for tasks without a kernel, whose prologues look at data" {
    survives kept task-end:11 task-end:14 task-end:18 task-end:24
    survives_twice kept task-end:12 task-end:9
}

@test "accesses by callback beside prologues" {
    survives called task-end:8 task-end:14 task-end:21 task-end:30
    survives_twice called task-end:12 task-end:9
}

@test "prologues come before accesses by callback that are granted after them, also where those last" {
    local expected workers
    expected=$("$lib/prologues" called)
    for workers in 1 3; do
        LATE=main resumes_after "$expected" $workers called task-end:21
    done
}

@test "a task without a kernel writes data without a home node" {
    survives homeless task-end:8 task-end:14 task-end:21
}

# StarPU writes into its codelet then.
@test "a task without a kernel that main() waits for in its submission" {
    survives sudden task-end:18 task-end:21 task-end:30
}

@test "a callback of a task without data: what it may read is told" {
    STARPU_TIC_VERBOSE=2 run_apart "$tool" run -- "$lib/prologues" sudden
    [ "$status" -eq 0 ]
    grep -q 'has a callback, and does not declare data' err
}

@test "a prologue asks for a pointer to data without a home node" {
    expected=$("$lib/looking" homeless)
    run_apart "$tool" run -- "$lib/looking" homeless
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ]
    grep -q "protection ends here: .*pointers to data without a home node" err
}
