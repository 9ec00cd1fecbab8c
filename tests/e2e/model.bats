#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks StarPU's programming model part by part: programs that use one part each are right without
# protection, and, killed and resumed, print the same again or say clearly that they are not
# protected.
load common

lib=$TIC_BUILD/tests/lib

complain() { # the command, then what is wrong
    echo "$1: $2; status $status; out, err:"
    cat out err
    return 1
}

# The last run printed what it should: with the work of the killed run, or with a message.
is_right() { # expected output, recovery lines before it
    [ "$status" -eq 0 ] && [ "$(cat out)" = "$1" ] || return 1
    grep -q 'protect' err && return 0
    [ -z "$2" ] || { [ "$(stat_of recovered)" = true ] && [ "$(stat_of tasks_skipped)" -gt 0 ]; }
}

# Kills a program at several points and resumes it on other numbers of workers: survives COMMAND...
survives() {
    local reference point workers=0 lines
    reference=$("$@") || { status=$?; complain "$*" "fails unprotected"; }
    for point in line-renamed:1 task-end:50 line-renamed:5 task-end:230; do
        rm -rf "$STARPU_TIC_DIR"
        STARPU_TIC_FAIL=$point run_apart timeout 60 "$tool" run -- "$@"
        if [ "$status" -ne 137 ]; then
            is_right "$reference" "" || complain "$*" "wrong before $point"
            continue
        fi
        lines=$(find "$STARPU_TIC_DIR" -name '*-line-*')
        STARPU_NCPU=$((++workers)) run_apart timeout 60 "$tool" run -- "$@"
        if [ "$status" -eq 70 ] || [ "$status" -eq 78 ]; then
            grep -q '^starpu-tic: ' err || complain "$*" "stopped without a message"
        else
            is_right "$reference" "$lines" || complain "$*" "wrong after $point"
        fi
    done
}

survive_modes() { # program, modes...
    local program=$1
    shift
    export STARPU_TIC_EVERY=11
    for mode in "$@"; do
        survives "$lib/$program" "$mode"
    done
}

@test "kernels submit tasks: a tree" {
    export STARPU_TIC_EVERY=11
    survives "$lib/knary" commute 4 5
    survives "$lib/knary" tree 4 5
}

@test "reductions" {
    export STARPU_TIC_EVERY=11
    survives "$lib/nbody" 5 8
}

@test "callbacks, kernels and threads submit tasks; tasks with effects elsewhere" {
    survive_modes dynamic callback callback-race codelet-child effects no-handle-spawner thread
}

@test "planned partitions" {
    survive_modes plans explicit implicit readonly nested nested-implicit
    [ "$("$lib/plans" explicit)" = "$("$lib/plans" implicit)" ]
    [ "$("$lib/plans" nested)" = "$("$lib/plans" nested-implicit)" ]
}

@test "other ways for main() to access data" {
    survive_modes modes try acquire-cb wont-use
}

@test "other kinds of data and buffers" {
    survive_modes modes csr custom scratch many-buffers
}

@test "other kinds of tasks, contexts" {
    survive_modes modes bundle prologue end-dep contexts
}

@test "two sessions of StarPU in one process" {
    # libpapi 7.1, which StarPU 1.4 of Debian 13 starts, fails the second time
    "$lib/modes" second-init || skip "a second session fails without us"
    survive_modes modes second-init
}
