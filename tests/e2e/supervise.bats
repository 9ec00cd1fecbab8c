#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that `starpu-tic run --max-restarts` starts programs again when they crash, and only then,
# and leaves them their signals, their input and their exit status.
load common

supervised() { # [--no-progress N --] COMMAND...
    [ "$1" = --no-progress ] || set -- -- "$@"
    run_apart "$tool" run --max-restarts 20 --backoff 0 "$@"
}

# In the background: the process is $supervisor.
run_supervised() { # OPTION... -- COMMAND...
    # bats leaves SIGINT and SIGQUIT ignored in what runs beside it.
    env --default-signal "$tool" run --backoff 0 "$@" >out 2>err 3>&- &
    supervisor=$!
}
child_of() { # its children
    cat "/proc/$1/task/$1/children"
}
ended() { # the exit status of the supervisor
    status=0
    wait "$supervisor" || status=$?
}

@test "a program that is killed again and again ends, and its result is right" {
    expected=$(P_QUIET=1 "$program")
    export STARPU_TIC_EVERY=20 STARPU_TIC_FAIL=line-renamed:1 P_QUIET=1
    supervised "$program"
    is_right "$expected" "" || complain "$program" "wrong"
    [ "$(stat_of recovered)" = true ]
    [ "$(stat_of tasks_skipped)" -ge 180 ]
    [ "$(grep -c 'died of signal 9 (Killed)' err)" -ge 5 ]
    grep -q 'restart 2 of 20 in 0.0 s, the newest recovery line is 2, with ' err
    [ ! -e "$STARPU_TIC_DIR" ]
}

@test "the directory of the recovery lines is known, whatever starts the program" {
    unset STARPU_TIC_DIR
    expected=$(P_QUIET=1 "$program")
    export STARPU_TIC_EVERY=20 STARPU_TIC_FAIL=line-renamed:1 P_QUIET=1
    supervised sh -c '"$0"; exit $?' "$program" # which tells of signals by its exit status
    is_right "$expected" "" || complain "$program" "wrong"
    [ "$(stat_of tasks_skipped)" -ge 180 ]
    [ -z "$(ls -d ./*.tic)" ]
}

@test "killed from outside while it waits: it goes on" {
    expected=$(P_QUIET=1 "$program")
    export STARPU_TIC_EVERY=20 P_QUIET=1 P_PAUSE=100
    mkfifo ready go
    run_supervised --max-restarts 1 -- "$program"
    cat ready # it has waited for a hundred tasks
    kill -KILL "$(child_of "$supervisor")"
    cat ready # the second run has come as far
    sh -c ': >go'
    ended
    is_right "$expected" "" || complain "$program" "wrong"
    [ "$(stat_of tasks_skipped)" -ge 20 ]
}

@test "two crashes without progress are the end, and the task is named" {
    STARPU_TIC_EVERY=20 P_CRASH=150 supervised "$program"
    [ "$status" -eq 134 ] || complain "$program" "another status"
    grep -q 'died of signal 6 (Aborted).*no more restarts. Running at both crashes: task .*"crash" (submission 150)' err
    [ "$(grep -c 'restart 1 of 20' err)" -eq 1 ]
    ls "$STARPU_TIC_DIR"/p0-line-*.h5
}

@test "SIGKILL says nothing of the program: the third restart that brings no line is the end" {
    STARPU_TIC_FAIL=task-begin:20 supervised "$program"
    [ "$status" -eq 137 ]
    [ "$(grep -c 'died of signal' err)" -eq 4 ]
    grep -q 'came further (--no-progress 3): no more restarts' err
    grep -q 'there is no recovery line yet; a shorter --period' err
    for many in 1 2 5; do
        STARPU_TIC_FAIL=task-begin:20 supervised --no-progress $many -- "$program"
        [ "$(grep -c 'died of signal' err)" -eq $((many + 1)) ]
    done
    supervised --no-progress 2 -- sh -c 'kill -SEGV $$'
    [ "$(grep -c 'died of signal' err)" -eq 3 ]
}

@test "killed twice from outside before its first line: it goes on" {
    expected=$(P_QUIET=1 "$program")
    export P_QUIET=1 program STARPU_TIC_EVERY=20
    supervised bash -c 'echo >>runs; [ "$(wc -l <runs)" -gt 2 ] || kill -KILL $$; exec "$program"'
    is_right "$expected" "" || complain "$program" "wrong, or given up"
    [ "$(grep -c 'died of signal 9' err)" -eq 2 ]
}

@test "results of sel are progress exactly if a restart uses them" {
    export STARPU_TIC_FAIL=task-begin:50 P_QUIET=1 STARPU_TIC_PROTOCOL=sel
    STARPU_TIC_VERIFY=0 supervised "$program"
    [ "$status" -eq 0 ] || complain "$program" "did not end"
    [ "$(<out)" = "$(STARPU_TIC_FAIL= "$program" 2>/dev/null)" ]
    supervised "$program"
    [ "$status" -eq 137 ]
    grep -q 'no more restarts' err
}

@test "there are no more restarts than are allowed; the next command goes on" {
    expected=$(P_QUIET=1 "$program")
    export STARPU_TIC_EVERY=20 P_QUIET=1
    STARPU_TIC_FAIL=line-renamed:1 run_apart "$tool" run -r 2 --backoff 0 -- "$program"
    [ "$status" -eq 137 ]
    [ "$(grep -c 'died of signal' err)" -eq 3 ]
    grep -q 'no more restarts than 2 are allowed' err
    run_apart "$tool" run -- "$program"
    is_right "$expected" "lines" || complain "$program" "wrong"
}

@test "an exit status is the end, unless it is asked for; 70, 78, 126 and 127 always are" {
    supervised sh -c 'echo started; exit 5'
    [ "$status" -eq 5 ] && [ "$(<out)" = started ] && [ ! -s err ]
    for final in 70 78 126 127; do
        run_supervised -r 5 --restart-on-exit -- sh -c "echo started; exit $final"
        ended
        [ "$status" -eq $final ] && [ "$(<out)" = started ]
    done
    run_apart "$tool" run -r 5 --backoff 0 --restart-on-exit -- \
        sh -c 'echo started; [ -e once ] && exit; : >once; exit 5'
    [ "$status" -eq 0 ] && [ "$(<out)" = $'started\nstarted' ]
    grep -q 'ended with status 5 .*: restart 1 of 5' err
    run_supervised -r 5 --restart-on-exit -- ./no-such-program
    ended
    [ "$status" -eq 127 ] && [ "$(wc -l <err)" -eq 1 ]
}

@test "a restart that is refused is the last one" {
    STARPU_TIC_EVERY=20 STARPU_TIC_FAIL=line-renamed:2 supervised sh -c '
        if [ -e once ]; then P_SWAP=7; export P_SWAP; fi; : >once; exec "$0"' "$program"
    [ "$status" -eq 70 ]
    [ "$(grep -c 'restart 1 of 20' err)" -eq 1 ]
}

@test "signals come through; one that asks to end is followed by no restart" {
    mkfifo got
    run_supervised --max-restarts 5 -- bash -c '
        for name in HUP QUIT USR1 USR2 XCPU INT CONT; do trap "echo $name >got" $name; done
        trap "exit 42" TERM
        echo ready >got
        while :; do sleep infinity & wait; done'
    [ "$(<got)" = ready ]
    for name in USR1 USR2 CONT HUP QUIT XCPU INT; do
        kill -s $name "$supervisor"
        [ "$(<got)" = $name ]
    done
    kill -s TERM "$supervisor"
    ended
    [ "$status" -eq 42 ]
}

@test "SIGTERM while it waits for the next start: no restart" {
    mkfifo died
    run_supervised --max-restarts 5 --backoff 1000 -- sh -c 'trap "" TERM; echo >died; kill -KILL $$'
    cat died
    until grep -q 'restart 1 of 5 in 1000.0 s' err; do sleep 0.02; done
    kill -s TERM "$supervisor"
    ended
    [ "$status" -eq 137 ]
    grep -q 'asked to end by signal 15 before restart 1: no restart' err
}

@test "a status that names a signal which kills nobody is a status" {
    supervised sh -c 'exit 150'
    [ "$status" -eq 150 ]
    ! grep -q 'died of signal' err || complain 150 "is no signal"
}

@test "signals that were ignored stay so" {
    run_apart env --ignore-signal=HUP "$tool" run -r 5 --backoff 0 -- sh -c '
        if [ -e once ]; then kill -HUP $$; echo again; exit; fi; : >once; kill -HUP $PPID; kill -KILL $$'
    [ "$status" -eq 0 ] && [ "$(<out)" = again ]
}

@test "who kills the supervisor kills the program" {
    mkfifo ready go alive
    export P_HOLD=1
    env "$tool" run -r 5 -- "$program" >out 2>err 3>&- 4>alive &
    supervisor=$!
    exec 5<alive
    cat ready
    kill -KILL "$supervisor"
    cat <&5 # ends when nobody has it open for writing
    exec 5<&-
}

# The system kills what the supervisor has started, and not what that has.
@test "who kills the supervisor kills a program that a script has started, too" {
    mkfifo ready go alive
    export P_HOLD=1
    local shell='"$0"; exit $?'
    local python='import subprocess, sys; subprocess.run(sys.argv[1:], pass_fds=(4,))'
    for start in "sh -c|$shell" "/usr/bin/python3 -c|$python"; do
        env "$tool" run -r 5 -- ${start%%|*} "${start#*|}" "$program" >out 2>err 3>&- 4>alive &
        supervisor=$!
        exec 5<alive
        cat ready
        kill -KILL "$supervisor"
        timeout "$hangs" cat <&5
        exec 5<&-
        grep -q 'starpu-tic run, which supervised this program, was killed: so is the program' err
    done
}

@test "what a dead shell leaves running is ended before the restart, and no zombie stays" {
    expected=$(P_QUIET=1 "$program")
    export STARPU_TIC_EVERY=20 P_QUIET=1 P_PAUSE=100
    mkfifo ready go
    run_supervised --max-restarts 1 -- sh -c '"$0"; exit $?' "$program"
    cat ready
    kill -KILL "$(child_of "$supervisor")" # the shell
    cat ready
    [ "$(child_of "$supervisor" | wc -w)" -eq 1 ]
    sh -c ': >go'
    ended
    is_right "$expected" "" || complain "$program" "wrong, or refused"
}

@test "what a shell has started that the command then replaced is left alone" {
    mkfifo over
    bash -c 'exec "$@" > >(cat >shown; echo over >over)' bash "$tool" run -r 1 --backoff 0 -- \
        sh -c '[ -e once ] && { echo again; exit; }; : >once; kill -SEGV $$' 2>err 3>&-
    timeout "$hangs" cat over
    [ "$(<shown)" = again ]
    grep -q 'signal 11' err
}

@test "without a terminal, in a session of its own; a file is read from its start in each run" {
    printf 'first\nsecond\n' >input
    setsid --wait "$tool" run -r 5 --backoff 0 -- bash -c '
        read -r line; echo "$line"; [ -e once ] && exit; : >once; kill -SEGV $$' <input >out 2>err
    [ "$(<out)" = $'first\nfirst' ]
    grep -q 'signal 11' err
    echo piped | "$tool" run -r 5 -- cat | grep -qx piped
}

# Until all writers of the standard input are gone.
await_end() {
    python3 -c 'import select; input = select.poll(); input.register(0, 0); input.poll()'
}

# Computes with the number that it reads, and is killed once.
reads_and_dies='read -r number; [ -e once ] || fail=line-renamed:3; : >once
    STARPU_TIC_FAIL=$fail P_INPUT=$number exec "$program"'

@test "a pipe that nobody writes to any more: a restart reads what the first run has read" {
    expected=$(P_INPUT=7 P_QUIET=1 "$program")
    export program STARPU_TIC_EVERY=20 P_QUIET=1
    printf '7\nmore\n' | { await_end
        timeout "$hangs" "$tool" run -r 5 --backoff 0 -- bash -c "$reads_and_dies" >out 2>err; }
    [ "$(<out)" = "$expected" ] && grep -q 'restart 1 of 5' err || complain program "wrong"
    [ "$(stat_of recovered)" = true ]
    ! grep -q gone err || complain program "says more"
    # What no run has read stays.
    rm once
    seq 3 | { await_end
        "$tool" run -r 5 --backoff 0 -- bash -c '[ -e once ] && exit; : >once; kill -SEGV $$' 2>/dev/null; cat; } >rest
    [ "$(<rest)" = "$(seq 3)" ]
}

@test "a pipe that is still open: what was read of it is gone, and there is no restart" {
    mkfifo pipe
    exec 5<>pipe
    echo 7 >&5
    status=0
    timeout "$hangs" "$tool" run -r 5 --backoff 0 -- bash -c 'read -r line; kill -SEGV $$' <pipe >out 2>err || status=$?
    [ "$status" -eq 139 ] && grep -q 'may have read it: no restart' err || complain bash "restarted"
    # Nothing has come.
    timeout "$hangs" "$tool" run -r 5 --backoff 0 -- bash -c '[ -e once ] && exit; : >once; kill -SEGV $$' <pipe >out 2>err
    grep -q 'restart 1 of 5' err && grep -q 'is a pipe that is still open' err || complain bash "no restart"
    exec 5>&-
}

@test "on a terminal a line tells how far the program is, unless it is to be quiet" {
    export P_FREEZE=100
    mkfifo ready typescript
    echo 'echo $$ >pid; exec "$tool" run -r 5 $quiet -- "$program"' >command
    for quiet in "" --quiet; do
        rm -rf "$STARPU_TIC_DIR"
        export quiet tool program
        script -qfc 'sh command' typescript </dev/null >/dev/null 3>&- &
        if [ -z "$quiet" ]; then
            cat ready &
            stdbuf -o0 tr '\r' '\n' <typescript | grep -m 1 '^starpu-tic: 100 of 200 tasks; no checkpoint yet'
            kill -KILL "$(<pid)"
        else
            cat typescript >shown &
            reader=$!
            cat ready
            kill -TERM "$(<pid)"
            wait "$reader"
            [ "$(grep -c 'of 200 tasks' shown)" -eq 0 ]
            [ "$(grep -c 'asked to end' shown)" -eq 0 ]
        fi
    done
}

@test "wrong values of the options are errors" {
    for arguments in "-r -1" "-r x" "-r" "--max-restarts 1x" "--backoff -1" "--backoff nan" "--backoff x" \
        "--no-progress 0" "--no-progress x"; do
        run_apart "$tool" run $arguments -- true
        [ "$status" -eq 2 ]
        [ -s err ]
    done
}
