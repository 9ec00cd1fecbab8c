#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that prologues of tasks come in a restart in the order, and to the data, that they had
# (tests/lib/prologues.c), while main() is far ahead of them.
load common

setup_file() {
    export STARPU_TIC_EVERY=5
}

# Killed when so many tasks have ended, and resumed by more and by fewer workers.
survives() { # form, where it is killed
    local expected at workers
    expected=$("$lib/prologues" "$1")
    for at in "${@:2}"; do
        for workers in 1 3; do
            rm -rf "$STARPU_TIC_DIR"
            STARPU_NCPU=2 crash "task-end:$at" "$lib/prologues" "$1"
            STARPU_NCPU=$workers run_apart "$tool" run -- "$lib/prologues" "$1"
            is_right "$expected" lines || complain "$1" "wrong after a kill at task $at"
        done
    done
}

@test "tasks that follow each other by their data" {
    survives data 11 21 32
    survives data-pop 11 21 32
}

@test "tasks that follow each other by declared dependencies, in structures that stay" {
    survives declared 11 21 32
    survives declared-pop 11 21 32
}

@test "of tasks that do not follow each other, prologues run when main() submits them" {
    survives early 16 24 36
}

@test "tasks that write nothing, and are executed again" {
    survives readers 16 24 36
}

@test "prologues of tasks without a kernel write data, in structures that stay" {
    survives nowhere 11 18 25
}

@test "a prologue asks for a pointer to data without a home node" {
    expected=$("$lib/looking" homeless)
    run_apart "$tool" run -- "$lib/looking" homeless
    [ "$status" -eq 0 ] && [ "$(cat out)" = "$expected" ]
    grep -q "protection ends here: .*pointers to data without a home node" err
}
