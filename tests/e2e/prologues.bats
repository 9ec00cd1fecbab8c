#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that prologues of tasks come in a restart in the order, and to the data, that they had
# (tests/lib/prologues.c), while main() is far ahead of them.
load common

setup_file() {
    export STARPU_TIC_EVERY=5
}

# Killed where the first line is there, and when so many tasks have ended; resumed by more and by
# fewer workers.
survives() { # form, tasks
    local expected point workers lines=lines
    expected=$("$lib/prologues" "$1")
    for point in line-renamed:1 "${@:2}"; do
        for workers in 1 3; do
            rm -rf "$STARPU_TIC_DIR"
            STARPU_NCPU=2 crash "$point" "$lib/prologues" "$1"
            STARPU_NCPU=$workers run_apart "$tool" run -- "$lib/prologues" "$1"
            is_right "$expected" "$lines" || complain "$1" "wrong after a kill at $point"
        done
        lines= # it may not have been there in time
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

@test "a prologue asks for a pointer to data without a home node" {
    expected=$("$lib/looking" homeless)
    run_apart "$tool" run -- "$lib/looking" homeless
    [ "$status" -eq 0 ] && [ "$(cat out)" = "$expected" ]
    grep -q "protection ends here: .*pointers to data without a home node" err
}
