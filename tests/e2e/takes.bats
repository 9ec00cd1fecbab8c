#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that what belongs to the process belongs to the program: whatever it closes, replaces or
# resets, its files stay its own, and protection goes on.
load common

# A run that is killed after its second action, and one that continues, which takes away as much:
# survives ACTION FILES
survives() {
    rm -rf folder "$STARPU_TIC_DIR"
    mkdir folder
    STARPU_TIC_FAIL=task-end:300 run_apart "$tool" run -- "$lib/takes" "$1" 7 "$PWD/folder" "$2"
    [ "$status" -eq 137 ] || complain "$1" "not killed"
    STARPU_NCPU=3 run_apart "$tool" run -- "$lib/takes" "$1" 7 "$PWD/folder" "$2"
    [ ! -s folder/out ] || cp folder/out out
    is_right "$expected" yes || complain "$1" wrong
    [ -z "$(find folder -name '[0-9]*' -size +64c)" ] || complain "$1" "its files were written at the end"
    [ "$(stat_of checkpoints_failed)" = 0 ] || complain "$1" "checkpoints failed"
    [ "$(stat_of tasks_skipped)" -ge 120 ] || complain "$1" "skipped too little"
}

prepare() {
    mkdir folder
    expected=$("$lib/takes" none 7 "$PWD/folder" 0)
    export STARPU_TIC_EVERY=20 STARPU_TIC_VERBOSE=1 STARPU_TIC_POINTERS=trust
}

@test "a program that closes all descriptors, in each way, and opens 600 files" {
    prepare
    for action in closefrom close close-plainly close_range close_range-plainly; do
        survives $action 600
    done
}

@test "a program that closes standard input, output and error, too" {
    prepare
    survives all 600
}

@test "a program that makes all descriptors another file, or changes their flags" {
    prepare
    for action in dup2 dup3-plainly flags; do
        survives $action 600
    done
}

@test "the same where few descriptors are allowed" {
    prepare
    ulimit -n 64
    for action in closefrom close_range-plainly; do
        survives $action 50
    done
    survives limits 50
}

@test "a program that changes its directory, umask, signals, environment" {
    prepare
    for action in directory umask signals environment; do
        survives $action 10
    done
}

@test "results are logged as well" {
    prepare
    export STARPU_TIC_PROTOCOL=tic+sel STARPU_TIC_VERIFY=0
    for action in closefrom dup3-plainly; do
        survives $action 600
    done
}

@test "a program that does so at any time" {
    prepare
    survives random 600
}
