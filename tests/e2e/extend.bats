#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks SEL where some order is a race, as kernels submit tasks or writes commute: the event log
# extends the newest recovery line, so that a restart loses only what was running.
load common

setup_file() {
    export STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0 STARPU_TIC_PERIOD=1000
}

# A line that can be extended is there before: main() waits from its first task on.
lines() {
    export STARPU_TIC_EVERY=300
}

# Killed when so many tasks have ended, by one worker: beside others one may have been stopped between
# the tick of a task and its record, and what began after that does not count.
killed() {
    STARPU_NCPU=1 crash "task-end:$1" "${@:2}"
}

resumed() { # by so many workers, the command
    STARPU_NCPU=$1 run_apart "$tool" run -- "${@:2}"
    [ "$status" -eq 0 ] || complain "$2" "not resumed"
    [ "$(<out)" = "$expected" ] || complain "$2" "wrong"
}

@test "tasks that kernels submit: what has ended is not executed again" {
    local form
    for form in tree commute; do
        lines
        expected=$("$lib/knary" $form 5 5 20)
        rm -rf "$STARPU_TIC_DIR"
        killed 1700 "$lib/knary" $form 5 5 20
        resumed 3 "$lib/knary" $form 5 5 20
        grep -q "and [0-9]* more by the event log" err
        [ "$(stat_of recovered_tasks)" -eq 1700 ]
        [ "$(stat_of tasks_executed)" -eq 2206 ]
    done
}

@test "a restart that is killed is gone on from, too" {
    local form
    for form in tree commute; do
        lines
        expected=$("$lib/knary" $form 5 5 20)
        rm -rf "$STARPU_TIC_DIR"
        killed 1000 "$lib/knary" $form 5 5 20
        unset STARPU_TIC_EVERY
        killed 700 "$lib/knary" $form 5 5 20
        STARPU_NCPU=2 crash task-end:900 "$lib/knary" $form 5 5 20
        resumed 3 "$lib/knary" $form 5 5 20
        [ "$(stat_of recovered_tasks)" -ge 1700 ]
    done
}

@test "branch and bound with an incumbent that commutes" {
    expected=$("$TIC_BUILD/examples/06_qap" 12)
    STARPU_TIC_EVERY=100 crash task-end:1500 "$TIC_BUILD/examples/06_qap" 12
    run_apart "$tool" run -- "$TIC_BUILD/examples/06_qap" 12
    [ "$status" -eq 0 ]
    [ "$(<out)" = "$expected" ]
    [ "$(stat_of recovered_tasks)" -ge 1400 ]
}

# The records that are gone may be of anything: a restart goes no further than to the first of them.
@test "a log with a hole is used up to there" {
    local log
    lines
    expected=$("$lib/knary" tree 5 5 20)
    killed 2000 "$lib/knary" tree 5 5 20
    for log in "$STARPU_TIC_DIR"/p0-log-*.h5; do
        # The second blocks of 64 KiB that each worker has filled.
        dd if=/dev/zero of="$log" bs=64 count=1 seek=4000 conv=notrunc status=none
    done
    resumed 2 "$lib/knary" tree 5 5 20
}

@test "a value that is damaged: the line is used without the log, and a message says so" {
    local segment
    lines
    expected=$("$lib/knary" commute 5 5 20)
    killed 1100 "$lib/knary" commute 5 5 20
    segment=$("$tool" log --json "$STARPU_TIC_DIR" | jq -r '.events[] | select(.event == "ended") |
        .written[0] | select(.segment != null) | "\(.segment) \(.offset)"' | tail -1)
    printf 'xxxxxxxx' | dd of="$(printf '%s/p0-segment-%08d.h5' "$STARPU_TIC_DIR" "${segment% *}")" \
        bs=1 seek="${segment#* }" conv=notrunc status=none
    resumed 2 "$lib/knary" commute 5 5 20
    grep -q "damaged or gone: tasks that ended after recovery line [0-9]* are executed again" err
}

@test "a task that the log cannot hold: lines are taken, and one message says so" {
    export STARPU_TIC_PERIOD=0.05 STARPU_TIC_VERBOSE=1
    run_apart "$tool" run -- "$lib/dynamic" callback
    [ "$status" -eq 0 ]
    [ "$(stat_of lines_needed)" = true ]
    [ "$(stat_of tasks_not_logged)" -gt 0 ]
    [ "$(grep -c 'recovery lines are taken' err)" -eq 1 ]
}

# Its kernel has submitted what nobody can keep: who has it as done would lose that.
@test "the task that ends protection is not done in the log" {
    export STARPU_TIC_EVERY=4 STARPU_NCPU=1
    expected=$("$lib/dynamic" relay)
    crash task-end:11 "$lib/dynamic" relay
    [[ $output == *"protection ends here: relay: a task submits it"* ]]
    run_apart "$tool" run -- "$lib/dynamic" relay
    [ "$status" -eq 0 ]
    [ "$(<out)" = "$expected" ]
    [ "$(stat_of recovered_tasks)" -eq 10 ]
}

@test "a callback that reads between tasks sees what it saw: a restart goes no further than it" {
    local at
    expected=$("$lib/looking" access)
    for at in 120 151 180; do
        rm -rf "$STARPU_TIC_DIR"
        STARPU_TIC_EVERY=50 killed $at "$lib/looking" access
        resumed 2 "$lib/looking" access
        [ "$(stat_of recovered_tasks)" -ge 50 ]
    done
}

@test "prologues, and callbacks of a task that runs nowhere, see what they saw between tasks" {
    local how
    for how in nowhere prologue; do
        expected=$("$lib/looking" $how)
        rm -rf "$STARPU_TIC_DIR"
        STARPU_TIC_EVERY=50 killed 180 "$lib/looking" $how
        [[ $output != *"may read"* && $output != *"has a prologue"* ]]
        resumed 2 "$lib/looking" $how
        [ "$(stat_of recovered_tasks)" -ge 50 ]
    done
}
