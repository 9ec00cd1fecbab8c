#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that main() is answered in a restart as it was before: numbers of workers, numbers of tasks,
# the clock.
load common

setup_file() {
    export STARPU_TIC_EVERY=17
    export STARPU_TIC_POINTERS=trust # kernels note which workers they ran on, in arrays of the program
}

answers=$lib/answers

# What it prints on a number of workers, without protection.
plain() { # WORKERS MODE
    local known=$BATS_FILE_TMPDIR/$2-$1
    [ -e "$known" ] || STARPU_NCPU=$1 STARPU_TIC_PROTOCOL=off "$tool" run -- "$answers" "$2" >"$known"
    cat "$known"
}

# A failpoint: itself, or the end of the task of this number.
point() {
    case $1 in *:*) echo "$1" ;; *) echo "task-end:$1" ;; esac
}

# Killed on some workers after so many tasks, or at a failpoint, and resumed on others, it prints what
# it would have printed on the first, and skips tasks: answered MODE KILL FIRST SECOND [EXPECTED [SKIPPED]]
answered() {
    local expected=${5-$(plain "$3" "$1")}
    rm -rf "$STARPU_TIC_DIR"
    STARPU_NCPU=$3 crash "$(point "$2")" "$answers" "$1"
    STARPU_NCPU=$4 run_apart timeout "$hangs" "$tool" run -- "$answers" "$1"
    is_right "$expected" lines || complain "$1" "wrong on $4 workers after $2 tasks on $3"
    [ "$(stat_of tasks_skipped)" -ge "${6-17}" ] || complain "$1" "skipped too little"
}

# Killed on some workers, and again on others, and resumed on a third number, it prints what it would
# have printed on the first: answered_twice MODE KILL FIRST KILL SECOND THIRD
answered_twice() {
    rm -rf "$STARPU_TIC_DIR"
    STARPU_NCPU=$3 crash "$(point "$2")" "$answers" "$1"
    STARPU_NCPU=$5 crash "task-end:$4" "$answers" "$1"
    STARPU_NCPU=$6 run_apart timeout "$hangs" "$tool" run -- "$answers" "$1"
    is_right "$(plain "$3" "$1")" lines || complain "$1" "wrong after two kills"
}

on_all() { # MODE [EXPECTED]
    STARPU_TIC_PROTOCOL=${protocol-tic} answered "$1" 130 2 1 "${@:2}"
    STARPU_TIC_PROTOCOL=${protocol-sel} answered "$1" 150 4 2 "${@:2}"
    STARPU_TIC_PROTOCOL=${protocol-tic+sel} answered "$1" 70 1 4 "${@:2}"
}

@test "a program that cuts its data by the number of workers, with an element for each" {
    on_all tiles
}

@test "tasks for workers that do not exist now" {
    on_all places
}

@test "tasks for a mask of workers that do not exist now" {
    on_all masks
}

@test "tasks in the order of their worker: protection ends" {
    STARPU_NCPU=2 run_apart timeout "$hangs" "$tool" run -- "$answers" turns
    local expected
    expected=$(plain 2 turns)
    [ "$(<out)" = "$expected" ] || complain turns "wrong without a kill"
    grep -q 'protection ends here: advance_here: its place in the order of a worker' err
}

# The line that the second restart begins with is of a run on one worker. A start without any line
# has no such workers.
@test "tasks for workers that do not exist now, of a main() that does not ask" {
    local protocol
    for protocol in tic sel tic+sel; do
        export STARPU_TIC_PROTOCOL=$protocol
        answered fixed line-renamed:3 4 1
        answered fixed line-renamed:2 4 2
    done
    answered_twice fixed line-renamed:1 4 100 1 1
}

@test "STARPU_TIC_WORKERS=real: a task for a worker that does not exist now is named" {
    export STARPU_TIC_WORKERS=real
    STARPU_NCPU=4 crash task-end:100 "$answers" fixed
    STARPU_NCPU=2 run_apart timeout "$hangs" "$tool" run -- "$answers" fixed
    [ "$status" -eq 70 ] || complain fixed "not stopped"
    grep -Eq 'task "advance_here" is for worker [23] \(counted from 0\), which does not exist' err
    grep -q 'It had 4 workers then, and has 2 now' err
    STARPU_NCPU=4 run_apart timeout "$hangs" "$tool" run -- "$answers" fixed
    is_right "$(plain 4 fixed)" lines || complain fixed "wrong"
}

@test "check tells that a program reaches each worker" {
    run_apart timeout "$hangs" "$tool" check -- "$answers" each
    grep -Eq '^ +1 calls that reach each worker: a restart needs as many workers, or more' out
}

@test "what is done on each worker is refused where main() knows more of them" {
    for STARPU_TIC_PROTOCOL in tic sel; do
        export STARPU_TIC_PROTOCOL
        answered each 100 2 4
        rm -rf "$STARPU_TIC_DIR"
        STARPU_NCPU=4 crash line-renamed:2 "$answers" each
        STARPU_NCPU=2 run_apart timeout "$hangs" "$tool" run -- "$answers" each
        [ "$status" -eq 70 ] && grep -q "starpu_execute_on_each_worker reaches" err ||
            complain each "not refused"
        # StarPU does not tell that its own tasks have ended: who waits for that waits so long.
        STARPU_NCPU=4 STARPU_TIC_PATIENCE=1000 run_apart timeout "$hangs" "$tool" run -- "$answers" each
        is_right "$(plain 4 each)" lines || complain each "wrong on 4 workers"
    done
}

@test "each start of StarPU has its number of workers" {
    answered twice 60 2 4
    answered twice 250 2 4
    answered twice 400 4 1
}

# The line that the second restart begins with is of the second start, where the first run never came.
@test "a start of StarPU that only a restart came to has the number of the first" {
    answered_twice chosen 250 2 260 4 4
}

@test "a program that decides by numbers of tasks and by the clock" {
    on_all progress "240 tasks: 0"
}

@test "a program that waits by asking, and asks less often in a restart" {
    on_all waits
}

@test "the same with results of the event log" {
    export STARPU_TIC_VERIFY=0
    local protocol=sel
    on_all progress "240 tasks: 0"
    on_all waits
}

@test "killed twice, on a third number of workers: main() is told the first" {
    export STARPU_TIC_PROTOCOL=tic
    answered_twice tiles 100 2 60 1 4
    grep -q "main() was told of 2 workers, so no more are used" err
}

# Of StarPU 1.4 one of our questions came back as main()'s, where a task waits for others and its result is used.
@test "results of the event log: a program that asks for no number uses all workers, in the third run, too" {
    export STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0
    STARPU_NCPU=1 crash task-end:100 "$lib/nodes" 7 300 700
    STARPU_NCPU=1 run_apart env STARPU_TIC_FAIL=task-end:60 "$tool" run -- "$lib/nodes" 7 300 700
    [ "$status" -eq 137 ]
    STARPU_NCPU=2 run_apart "$tool" run -- "$lib/nodes" 7 300 700
    [ "$status" -eq 0 ]
    ! grep 'was told of' err
}

@test "a program that asks for no number uses all workers" {
    STARPU_NCPU=1 crash task-end:60 "$answers" waits
    STARPU_NCPU=2 STARPU_TIC_KEEP=1 run_apart "$tool" run -- "$answers" waits
    [ "$status" -eq 0 ]
    ! grep -q "was told" err
    [ "$("$tool" info --json "$STARPU_TIC_DIR" | jq -r '.lines[-1].workers // .lines[0].workers')" -eq 2 ]
}

@test "STARPU_TIC_WORKERS=real: the real number, and what differs is named" {
    export STARPU_TIC_WORKERS=real
    STARPU_NCPU=2 crash task-end:100 "$answers" tiles
    STARPU_NCPU=4 run "$tool" run -- "$answers" tiles
    [ "$status" -eq 70 ]
    [[ $output == *"It had 2 workers then, and has 4 now"* ]]
    [[ $output == *"Answers to main() that differ: starpu_worker_get_count and the like (4, was 2)"* ]]
    STARPU_TIC_WORKERS=recorded STARPU_NCPU=4 run_apart "$tool" run -- "$answers" tiles
    is_right "$(plain 2 tiles)" lines
}

@test "the clock does not go back in a restart" {
    export STARPU_TIC_EVERY=3
    answered asks 15 2 2 "$(plain 2 asks)" 6
}

@test "the store stays small when main() asks a million times" {
    local bytes
    export STARPU_TIC_KEEP=1 STARPU_TIC_PROTOCOL=tic+sel
    run_apart "$tool" run -- "$answers" asks
    [ "$status" -eq 0 ] && [ "$(<out)" = "$(plain 2 asks)" ]
    "$tool" verify "$STARPU_TIC_DIR"
    bytes=$(du -sb "$STARPU_TIC_DIR" | cut -f1)
    echo "$bytes bytes"
    [ "$bytes" -lt 100000000 ]
}

# A restart comes later than the first run, and StarPU's clock is that of the machine when it is started again.
@test "the clock does not go back while a kernel looks at it" {
    answered clock line-renamed:2 2 2 "$(plain 2 clock)" 6
}

# Tasks in the place of others would be taken for done. Addresses are others in each run.
@test "tasks with other numbers as arguments than before: the restart stops" {
    local protocol
    for protocol in tic sel tic+sel; do
        export STARPU_TIC_PROTOCOL=$protocol
        answered items 130 2 1
        rm -rf store
        STARPU_NCPU=2 crash task-end:130 "$answers" items
        ITEMS=6 run_apart timeout "$hangs" "$tool" run -- "$answers" items
        [ "$status" -eq 70 ] || complain items "not stopped"
        grep -q 'submission 0, task "add_item", has other arguments (STARPU_VALUE) than it had' err
        ITEMS=6 STARPU_TIC_ARGUMENTS=ignore run_apart timeout "$hangs" "$tool" run -- "$answers" items
        [ "$status" -eq 0 ] || complain items "stopped nevertheless"
    done
}
