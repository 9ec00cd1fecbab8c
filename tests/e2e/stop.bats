#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that signals stop a program with a last checkpoint where that is asked for, and mean what
# the program makes of them everywhere else.
load common

# Runs $program until it says that it is at its place (P_FREEZE, P_HOLD, P_PAUSE, P_BLOCK): $running.
# Where a checkpoint is to come, main() waits in StarPU then, or will: P_FREEZE.
run_to_place() { # OPTION of run...
    [ -p ready ] || mkfifo ready go
    env --default-signal "$tool" run "$@" -- "$program" >out 2>err 3>&- &
    running=$!
    cat ready
}
release() {
    sh -c ': >go'
}
ends_with() {
    status=0
    wait "$running" || status=$?
    [ "$status" -eq "$1" ] || complain "$program" "another status than $1"
}
stops() { # at its place: a last checkpoint
    run_to_place
    kill -TERM "$running"
    ends_with 75
}
goes_on() { # TASKS that are skipped at least
    rm ready go
    run_apart timeout "$hangs" "$tool" run -- "$program"
    is_right "$expected" "lines" && [ "$(stat_of tasks_skipped)" -ge "$1" ] ||
        complain "$program" "did not go on"
}

@test "SIGTERM: a checkpoint, status 75, and the next start goes on from there" {
    export P_QUIET=1 P_FREEZE=100
    expected=$("$program")
    export STARPU_TIC_STOP=term
    stops
    grep -q 'stopped by signal 15 (Terminated): a checkpoint is taken' err
    goes_on 100
    [ "$(stat_of tasks_skipped)" -eq 100 ]
}

@test "a task that runs when the signal comes ends before the checkpoint does" {
    export P_QUIET=1 P_FREEZE=100 P_BLOCK=50
    mkfifo ready go
    { cat ready && release; } 3>&- &
    expected=$(P_FREEZE=0 "$program")
    export STARPU_TIC_STOP=term
    run_to_place
    kill -TERM "$running"
    cat ready 3>&- & # of P_FREEZE, where the program cannot end by itself
    release
    ends_with 75
    goes_on 1 # and does not execute that task again, in which it would fail
}

@test "under the supervisor it needs no setting; no restart follows; the environment wins" {
    export P_QUIET=1 P_FREEZE=100
    expected=$("$program")
    run_to_place --max-restarts 5
    kill -TERM "$running"
    ends_with 75
    grep -q 'ended with status 75 .*asked to end by signal 15: no restart' err
    cp -r "$STARPU_TIC_DIR" kept
    goes_on 100
    mv kept "$STARPU_TIC_DIR"
    STARPU_TIC_STOP=none run_to_place --max-restarts 5
    kill -TERM "$running"
    ends_with 143
    goes_on 100
    [ "$(stat_of tasks_skipped)" -eq 100 ]
}

# The command starts $program, and does not become it.
stops_within() { # SIGNAL COMMAND...
    local name=$1
    shift
    rm -rf "$STARPU_TIC_DIR"
    env --default-signal "$tool" run --max-restarts 5 -- "$@" >out 2>err 3>&- &
    running=$!
    cat ready
    kill -s "$name" "$running"
    status=0
    wait "$running" || status=$?
    [ "$status" -eq 75 ] && grep -q 'stopped by signal' err && ls "$STARPU_TIC_DIR"/*-line-*.h5 >/dev/null ||
        complain "$*" "not stopped by $name"
    [ "$(grep -c 'restart 1 of' err)" -eq 0 ] && [ ! -e after ] || complain "$*" "went on"
}

@test "a script that does not become the program: the supervisor waits for the program, and tells its status" {
    export P_QUIET=1 P_FREEZE=100 program
    expected=$("$program")
    mkfifo ready go
    printf '#!/bin/sh\n"%s"\n: >after\n' "$program" >script
    chmod +x script
    stops_within TERM ./script
    stops_within TERM sh -c '"$program"; : >after'
    stops_within TERM sh -c 'sh -c "\"\$program\"; exit \$?"; exit $?'
    stops_within TERM bash -c '"$program" | cat; : >after'
    stops_within TERM bash -c '"$program" & wait; : >after'
    stops_within TERM timeout 100 "$program"
    stops_within TERM sh -c 'timeout 100 "$program"; exit $?'
    stops_within TERM nice env setsid --wait "$program"
    # Shells run traps of theirs when the program that they wait for has ended.
    stops_within TERM bash -c 'trap "exit 143" TERM; "$program"; exit $?'
    stops_within TERM bash -c 'trap "kill -TERM \$!" TERM; "$program" & wait; wait $!; exit $?'
    STARPU_TIC_STOP=usr1 stops_within USR1 sh -c '"$program"; exit $?'
    goes_on 100
}

@test "a script that leaves the program running: its status is that of the program" {
    export P_QUIET=1 P_FREEZE=100 program
    expected=$("$program")
    mkfifo ready go
    # The shell ends when the program is there.
    env "$tool" run --max-restarts 5 -- bash -c '"$program" & echo $! >pid; read -r _ <go; exit 0' >out 2>err 3>&- &
    running=$!
    cat ready
    release
    while [ "$(ps -o ppid= -p "$(<pid)" | tr -d ' ')" != "$running" ]; do sleep 0.02; done
    kill -TERM "$running"
    ends_with 75
    goes_on 100
}

@test "without the setting SIGTERM ends the program as ever" {
    P_FREEZE=100 run_to_place
    kill -TERM "$running"
    ends_with 143
    [ -z "$(find "$STARPU_TIC_DIR" -name '*-line-*')" ]
}

@test "other signals, by their names; those that are not named do what they do" {
    export P_QUIET=1 P_FREEZE=100
    expected=$("$program")
    export STARPU_TIC_STOP=usr1+usr2+xcpu
    for name in USR1 USR2 XCPU; do
        rm -rf "$STARPU_TIC_DIR"
        run_to_place
        kill -s $name "$running"
        ends_with 75
        goes_on 100
    done
    run_to_place
    kill -TERM "$running"
    ends_with 143
    STARPU_TIC_STOP=kill run "$tool" run -- "$program"
    [ "$status" -eq 2 ]
}

@test "a handler of the program wins, installed before or after StarPU starts" {
    export STARPU_TIC_STOP=term
    for trap in 1 2; do
        P_TRAP=$trap P_PAUSE=100 run_to_place
        kill -TERM "$running"
        ends_with 9
        [ "$(grep -c 'handles or ignores signal 15' err)" -eq $((trap == 1)) ]
    done
}

@test "a signal that is ignored stays so" {
    expected=$(P_QUIET=1 "$program")
    export P_QUIET=1 STARPU_TIC_STOP=term
    mkfifo ready go
    P_PAUSE=100 env --ignore-signal=TERM "$tool" run -- "$program" >out 2>err 3>&- &
    running=$!
    cat ready
    kill -TERM "$running"
    release
    ends_with 0
    [ "$(<out)" = "$expected" ]
}

@test "a child that the program has forked dies of it, and the program goes on" {
    export P_QUIET=1 P_FORK=1
    expected=$("$program")
    [ "$(head -1 <<<"$expected")" = "the child is dead" ]
    STARPU_TIC_STOP=term run_apart timeout "$hangs" "$tool" run -- "$program"
    is_right "$expected" "" || complain "$program" "wrong"
}

@test "in a restart that has not come as far as the line: the line stays" {
    export P_QUIET=1 P_FREEZE=100
    expected=$("$program")
    export STARPU_TIC_STOP=term
    stops
    P_HOLD=1 stops # main() is at its begin
    grep -q 'there was nothing new to save' err
    goes_on 100
}

@test "where the store cannot be written it stops all the same" {
    export STARPU_TIC_STOP=term STARPU_TIC_SPACE=1000 STARPU_TIC_EVERY=20
    P_PAUSE=100 stops
    grep -q 'no checkpoint could be taken any more. The same command goes on from the start' err
}

@test "what was printed is not lost" {
    export STARPU_TIC_STOP=term P_TIME=1
    P_FREEZE=100 stops
    grep -q '^time after' out # which is a file, so that the C library had kept it
}
