#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that nobody waits for a file system that does not answer, and what comes after.
# tests/crash/faults --calls hang tries every call.
load common

sync=commit # as it is by default

setup_file() {
    export TIC_FAULT_CALLS=hang TIC_FAULT_ON=1 STARPU_TIC_PATIENCE=0.3 STARPU_TIC_EVERY=20
}

await_message() { # what the run in the background says
    until grep -q "$1" err; do
        kill -0 $! || complain "the run" "ended without: $1"
        sleep 0.05 # the patience, or a trial
    done
}

# Waits until the run in the background says this; then the disk answers, and the run is right.
answer_after() { # message
    await_message "$1"
    touch back
    wait $!
    [ "$(<out)" = "$expected" ]
}

# The run in the background is protected again; then it goes on and may be killed, and the next one
# continues.
goes_on_and_continues() { # protocol
    await_message "protection goes on: recovery line"
    sh -c ': >go'
    wait $! || [ $? -eq 137 ]
    STARPU_TIC_PROTOCOL=$1 run_apart "$tool" run -- "$program"
    is_right "$expected" held
    [ "$(stat_of recovered_tasks)" -ge 20 ]
}

# Which call does not answer: each of these under tic, one of them under other protocols, or all in make check-soak.
calls() { # PROTOCOL CALL CALL CALL
    case $1${TIC_SOAK-} in
    sel) echo "$3" ;;
    tic+sel) echo "$4" ;;
    *) echo "${@:2}" ;;
    esac
}

@test "main() reads the store for long in a restart: it is slow, and right" {
    unset TIC_FAULT_CALLS TIC_FAULT_ON
    export STARPU_TIC_EVERY=7
    expected=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$lib/mainaccess")
    crash line-renamed:12 "$lib/mainaccess"
    LD_PRELOAD=$TIC_BUILD/.libs/hang.so:$calm TIC_HANG=p0-segment TIC_HANG_READ=8 TIC_HANG_UNTIL=$PWD/back \
        timeout "$hangs" "$tool" run -- "$lib/mainaccess" >out 2>err 3>&- &
    await_message "store answers slowly: a value is being read\|the replay differs"
    touch back
    wait $! && [ "$(<out)" = "$expected" ] || complain mainaccess "is not right"
    [ "$(stat_of recovered)" = true ]
}

@test "a disk that never answers again: the run is right, ends, and says what it leaves" {
    export TIC_FAULT_PATH=$PWD/store P_QUIET=1
    expected=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$program")
    for protocol in tic sel tic+sel; do
        for at in $(calls $protocol 1 20 45); do
            rm -rf store
            LD_PRELOAD=$TIC_BUILD/.libs/faults.so:$calm TIC_FAULT_AT=$at STARPU_TIC_PROTOCOL=$protocol \
                run_apart "$tool" run -- "$program"
            [ "$status" -eq 0 ]
            [ "$(<out)" = "$expected" ]
            [ "$(grep -c "protection is suspended: .*store: it does not answer" err)" -le 1 ]
            grep -q "store does not answer: recovery lines may be left" err
            [ -d store ]
            run_apart "$tool" run -- "$program" # what was left is as good as ever
            [ "$status" -eq 0 ]
            [ "$(<out)" = "$expected" ]
        done
    done
}

@test "a disk that answers again: protection goes on, and a killed run continues" {
    export TIC_FAULT_PATH=$PWD/store P_QUIET=1 STARPU_TIC_VERIFY=0
    expected=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$program")
    mkfifo ready go
    for protocol in tic sel tic+sel; do
        for at in $(calls $protocol 2 9 30); do
            rm -rf store back
            LD_PRELOAD=$TIC_BUILD/.libs/faults.so:$calm TIC_FAULT_AT=$at TIC_FAULT_UNTIL=$PWD/back \
                P_PAUSE=100 STARPU_TIC_PROTOCOL=$protocol STARPU_TIC_FAIL=task-end:180 \
                "$tool" run -- "$program" >out 2>err 3>&- &
            cat ready # a hundred tasks have ended
            await_message "protection is suspended: .*store: it does not answer"
            touch back
            goes_on_and_continues "$protocol"
        done
    done
}

@test "a disk that does not answer at the start: the start waits, and says so" {
    export TIC_FAULT_PATH=$PWD/store P_QUIET=1
    expected=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$program")
    LD_PRELOAD=$TIC_BUILD/.libs/faults.so:$calm TIC_FAULT_AT=1 TIC_FAULT_START=1 \
        TIC_FAULT_UNTIL=$PWD/back "$tool" run -- "$program" >out 2>err 3>&- &
    answer_after "store does not answer. The start waits for it"
}

@test "a directory that is moved away: suspended, and the run is right" {
    export P_QUIET=1 P_TASKS=3000 # a line is tried before it ends
    unset STARPU_TIC_PATIENCE
    expected=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$program")
    mkfifo ready go
    for protocol in tic tic+sel; do
        P_PAUSE=100 STARPU_TIC_PROTOCOL=$protocol "$tool" run -- "$program" >out 2>err 3>&- &
        cat ready
        mv store away
        sh -c ': >go'
        wait $!
        [ "$(<out)" = "$expected" ]
        grep -q "protection is suspended: cannot write to .*store: it was moved or removed" err
        [ "$(stat_of protected)" = true ]
        rm -rf away
    done
}

@test "a directory that was moved away and is back: protection goes on, and a killed run continues" {
    export P_QUIET=1 STARPU_TIC_VERIFY=0 # main() stays outside of StarPU, where it might write
    unset STARPU_TIC_PATIENCE
    expected=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$program")
    mkfifo ready go
    for protocol in tic tic+sel; do
        rm -rf store
        P_HOLD=1 P_PAUSE=100 STARPU_TIC_PROTOCOL=$protocol STARPU_TIC_FAIL=task-end:180 \
            "$tool" run -- "$program" >out 2>err 3>&- &
        cat ready
        mv store away
        sh -c ': >go'
        cat ready # a hundred tasks have ended
        await_message "protection is suspended: .*store: it was moved or removed"
        mv away store
        goes_on_and_continues "$protocol"
    done
}
