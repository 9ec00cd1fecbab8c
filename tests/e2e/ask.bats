#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks `starpu-tic status` and `starpu-tic checkpoint`, which ask a run from outside.
load common

setup_file() {
    command -v jq >/dev/null || skip "no jq"
}

# Runs $program until it has waited for a hundred tasks: the process is $runner.
run_until_paused() { # COMMAND...
    mkfifo ready go
    P_QUIET=1 P_PAUSE=100 "$tool" run -- "${@:-$program}" >out 2>err 3>&- &
    runner=$!
    cat ready
}
go_on() {
    sh -c ': >go'
    status=0
    wait "$runner" || status=$?
}

@test "a run tells how far it is" {
    run_until_paused
    "$tool" status --json "$STARPU_TIC_DIR" >status.json
    [ "$(jq -c '[.running, .run.process == '"$runner"', .run.workers, .run.protected, .line]' status.json)" = \
        "[true,true,2,true,null]" ]
    [ "$(jq '.run.tasks_executed' status.json)" -ge 100 ]
    [ "$(jq '.run.tasks_submitted >= .run.tasks_executed' status.json)" = true ]
    "$tool" status "$STARPU_TIC_DIR" >plain
    grep -q 'with 2 workers, protected' plain
    grep -q 'no recovery line yet' plain
    go_on
    [ "$status" -eq 0 ] || complain "$program" wrong
    [ ! -e "$STARPU_TIC_DIR" ] # nothing that was asked keeps it
}

@test "a checkpoint that is asked for is there when the command ends" {
    export STARPU_TIC_VERIFY=0 # main() is outside of StarPU, where nobody could compare memory
    expected=$(P_QUIET=1 "$program")
    run_until_paused
    "$tool" checkpoint --json "$STARPU_TIC_DIR" >checkpoint.json
    [ "$(jq -r .checkpoint checkpoint.json)" = taken ]
    done=$(jq .line.tasks_done checkpoint.json)
    [ "$done" -ge 100 ]
    [ "$("$tool" list --json "$STARPU_TIC_DIR" | jq '.lines[0].tasks_done')" -eq "$done" ]
    [ "$("$tool" status --json "$STARPU_TIC_DIR" | jq '.line.tasks_done')" -eq "$done" ]
    run "$tool" checkpoint "$STARPU_TIC_DIR"
    [ "$status" -eq 0 ]
    [[ $output == *"nothing new to save"* ]]
    kill -KILL "$runner"
    wait "$runner" || :
    run "$tool" status "$STARPU_TIC_DIR"
    [ "$status" -eq 3 ]
    [[ $output == *"no run uses the directory"*"$done tasks done"* ]]
    rm -f ready go
    P_QUIET=1 run_apart "$tool" run -- "$program"
    is_right "$expected" yes || complain "$program" wrong
    [ "$(stat_of tasks_skipped)" -eq "$done" ]
}

@test "many may ask at once" {
    run_until_paused
    pids=
    for i in 1 2 3 4; do
        "$tool" status --json "$STARPU_TIC_DIR" >"status-$i.json" 3>&- &
        pids="$pids $!"
    done
    for pid in $pids; do wait "$pid"; done
    for i in 1 2 3 4; do
        [ "$(jq .run.process "status-$i.json")" -eq "$runner" ]
    done
    go_on
    [ "$status" -eq 0 ]
    [ ! -e "$STARPU_TIC_DIR" ]
}

@test "who does not want to be asked is not, and what is no question does no harm" {
    export STARPU_TIC_ASK=0
    run_until_paused
    run "$tool" status --timeout 0.2 "$STARPU_TIC_DIR"
    [ "$status" -eq 1 ]
    [[ $output == *STARPU_TIC_ASK=0* ]]
    [ ! -e "$STARPU_TIC_DIR/p0-ask" ] # withdrawn
    go_on
    unset STARPU_TIC_ASK
    rm -f ready go
    run_until_paused
    printf 'starpu-tic ask everything 5\n' >"$STARPU_TIC_DIR/p0-ask"
    "$tool" status "$STARPU_TIC_DIR" >plain
    ln -s /nowhere "$STARPU_TIC_DIR/p0-ask"
    run "$tool" status --timeout 0.2 "$STARPU_TIC_DIR"
    [ "$status" -eq 1 ]
    rm "$STARPU_TIC_DIR/p0-ask"
    "$tool" status "$STARPU_TIC_DIR" >plain
    go_on
    [ "$status" -eq 0 ]
    [ ! -e "$STARPU_TIC_DIR" ]
}

@test "without a run there is nobody to ask" {
    mkdir "$STARPU_TIC_DIR"
    run "$tool" checkpoint "$STARPU_TIC_DIR"
    [ "$status" -eq 3 ]
    [[ $output == *"no run uses it"* ]]
    [ -z "$(ls -A "$STARPU_TIC_DIR")" ]
    run "$tool" status nowhere
    [ "$status" -eq 1 ]
    run "$tool" status --timeout x "$STARPU_TIC_DIR"
    [ "$status" -eq 2 ]
}
