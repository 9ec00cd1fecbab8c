#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks programs of several processes that StarPU 1.4 connects by TCP/IP: the master, which is
# protected, and slaves, which execute kernels. All on this machine.
load common

slaves=$BATS_TEST_DIRNAME/../lib/slaves

need_slaves() {
    local starpu
    starpu=$(ldd "$lib/nodes" | sed -n 's/.*libstarpu-1.* => \([^ ]*\).*/\1/p')
    grep -q STARPU_TCPIP_MS_MASTER "$starpu" || skip "StarPU has no slaves by TCP/IP"
    export STARPU_WORKERS_NOBIND=1
}

# Runs the master with so many slaves: with NUMBER COMMAND...
with() {
    SLAVES_STATUS=$PWD/ended run_apart timeout "$hangs" "$slaves" "$1" "$tool" run -- "${@:2}"
}

# It is killed at a failpoint, or ends before: dies NUMBER FAILPOINT EXPECTED COMMAND...
dies() {
    STARPU_TIC_FAIL=$2 with "$1" "${@:4}"
    [ "$status" -eq 137 ] || is_right "$3" "" || complain "${*:4}" "wrong with $1 slaves before $2"
}

# To its end, with the expected output. Counts in `continued` whether it had skipped something: ends
# NUMBER EXPECTED COMMAND...
ends() {
    local held
    held=$(find "$STARPU_TIC_DIR" -name '*-line-*.h5' 2>/dev/null) || true # nothing to go on from
    with "$1" "${@:3}"
    is_right "$2" "$held" || complain "${*:3}" "wrong with $1 slaves"
    [ $(($(stat_of tasks_skipped) + $(stat_of forced_used))) -eq 0 ] || continued=$((continued + 1))
}

# Killed twice, with two numbers of slaves, and ended with a third.
moves() { # NUMBER NUMBER NUMBER COMMAND...
    local expected
    expected=$(STARPU_NCPU=1 "${@:4}")
    rm -rf "$STARPU_TIC_DIR"
    dies "$1" line-renamed:2 "$expected" "${@:4}"
    dies "$2" task-end:40 "$expected" "${@:4}"
    ends "$3" "$expected" "${@:4}"
}

@test "the master is killed, and goes on with other numbers of slaves" {
    need_slaves
    local continued=0
    export STARPU_TIC_EVERY=10 STARPU_NCPU=1
    for NODES_HOME in 0 2; do
        export NODES_HOME
        moves 2 0 1 "$lib/nodes" 1 300 1000
        moves 0 2 2 "$lib/nodes" 2 300 1000
    done
    [ "$continued" -gt 0 ]
}

# One thread of StarPU's drives the workers of all slaves, or one those of each.
@test "all tasks on slaves, with two workers each, and a thread for each slave" {
    need_slaves
    local continued=0
    export STARPU_TIC_EVERY=10 NODES_PLAIN=1 NODES_READS=0
    STARPU_NCPU=0 STARPU_NTCPIPMSTHREADS=2 moves 2 1 2 "$lib/nodes" 3 300 1000
    STARPU_NCPU=0 STARPU_TCPIP_MS_MULTIPLE_THREAD=1 moves 2 2 1 "$lib/nodes" 4 300 1000
    STARPU_TCPIP_USE_LOCAL_SOCKET=0 STARPU_NCPU=1 moves 2 1 2 "$lib/nodes" 5 300 1000
    [ "$continued" -gt 0 ]
}

# StarPU aborts the master, unless it has written to the slave (SIGPIPE).
ended_by_slave() {
    [ "$status" -eq 134 ] || [ "$status" -eq 141 ] || complain nodes "did not end"
}

@test "a slave is killed: the run goes on with those that are left" {
    need_slaves
    export STARPU_TIC_EVERY=10 STARPU_NCPU=1
    local expected continued=0
    for NODES_HOME in 0 2; do
        export NODES_HOME
        rm -rf "$STARPU_TIC_DIR"
        expected=$("$lib/nodes" 6 300 1000)
        SLAVES_FIRST=NODES_DIE=20 with 2 "$lib/nodes" 6 300 1000
        ended_by_slave
        grep -qx 137 ended
        ends 1 "$expected" "$lib/nodes" 6 300 1000
    done
    [ "$continued" -eq 2 ]
}

# They ended on two workers of one thread, one before the other began, or not.
@test "sel: what has ended on slaves is not executed again" {
    need_slaves
    export STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0 NODES_PLAIN=1 NODES_READS=0 STARPU_NCPU=0
    local expected continued=0
    expected=$(STARPU_NCPU=1 "$lib/nodes" 7 300 1000)
    STARPU_NTCPIPMSTHREADS=2 dies 2 task-end:120 "$expected" "$lib/nodes" 7 300 1000
    [ "$status" -eq 137 ]
    export STARPU_NCPU=1 # a processor writes results where tasks of this run use the data
    ends 2 "$expected" "$lib/nodes" 7 300 1000
    [ "$(stat_of tasks_not_logged)" -eq 0 ]
    [ $(($(stat_of tasks_submitted) - $(stat_of tasks_executed))) -ge 90 ]
}

# All workers are those of slaves, which one thread of the master drives.
@test "tic: the results of tasks that slaves steal are saved when they end" {
    need_slaves
    export STARPU_TIC_VERIFY=0 STARPU_TIC_FORCED=100 NODES_PLAIN=1 NODES_READS=0 STARPU_NCPU=0
    with 2 "$lib/nodes" 8 300 1000
    [ "$status" -eq 0 ]
    [ "$(stat_of thefts)" -gt 0 ] # a fifth of the tasks reads only
    [ "$(stat_of forced_checkpoints)" -ge $(($(stat_of thefts) / 2)) ]
}

# StarPU measures the network where a machine's own file does not match, and waits for all machines.
@test "a machine comes back, which knows another number of slaves than the others" {
    need_slaves
    local continued=0
    export STARPU_TIC_EVERY=10 STARPU_NCPU=1 SLAVES_AS_MACHINES=1 STARPU_BUS_CALIBRATE=1
    moves 2 1 2 "$lib/nodes" 13 300 1000
    [ "$continued" -eq 1 ]
    [ "$(grep -c 'StarPU hangs at its start' err)" -eq 0 ]
}

@test "a slave says so once, and leaves no file" {
    need_slaves
    export STARPU_NCPU=1 STARPU_TIC_KEEP=1
    with 1 "$lib/nodes" 8 100 100
    [ "$status" -eq 0 ]
    [ "$(grep -c 'executes kernels for its master (127.0.0.1)' err)" -eq 1 ]
    [ "$(grep -c 'not protected' err)" -eq 0 ]
    [ "$(grep -c 'StarPU hangs at its start where machines' err)" -eq 1 ]
    [ "$(<ended)" = 0 ]
    rm -rf "$STARPU_TIC_DIR"
    STARPU_TIC_DIR=$PWD/other with 1 "$lib/nodes" 8 100 100
    [ ! -e "$STARPU_TIC_DIR" ]
}

# Without its master StarPU would run the program where it has been told not to use slaves; one that had
# to measure the network first is ended by StarPU.
@test "a slave that finds no master does not run the program" {
    need_slaves
    STARPU_NCPU=1 with 1 "$lib/nodes" 9 100 100
    rm -rf "$STARPU_TIC_DIR"
    export STARPU_HOSTNAME=1-of-1 # its name there (lib/slaves)
    run_apart env STARPU_NTCPIP_MS=0 STARPU_TCPIP_MS_MASTER=127.0.0.1 STARPU_TCPIP_MS_PORT=9 \
        STARPU_TCPIP_MS_SLAVES=1 timeout "$hangs" "$tool" run -- "$lib/nodes" 9 100 100
    [ "$status" -eq 78 ] && [ ! -s out ] || complain nodes "runs"
    grep -q 'did not reach the master' err
    [ ! -e "$STARPU_TIC_DIR" ]
}

@test "a kernel that fails on a slave ends it, and is executed by the master" {
    need_slaves
    export STARPU_TIC_EVERY=10 STARPU_NCPU=1
    local expected continued=0
    expected=$("$lib/nodes" 10 300 1000)
    STARPU_TIC_RETRY=all SLAVES_FIRST=NODES_FAIL=40 with 1 "$lib/nodes" 10 300 1000
    ended_by_slave
    grep -qx 76 ended
    grep -q 'one that fails ends this process' err
    grep -q 'a kernel failed on this slave, where it cannot be executed again' err
    ends 0 "$expected" "$lib/nodes" 10 300 1000
    [ "$continued" -eq 1 ]
}

@test "tasks of slaves are not certified, and count as left out" {
    need_slaves
    export STARPU_TIC_CERTIFY=100 NODES_PLAIN=1 NODES_READS=0 STARPU_NCPU=0
    with 1 "$lib/nodes" 11 100 100
    [ "$status" -eq 0 ]
    [ "$(grep -c 'tasks that devices or slaves execute are not certified' err)" -eq 1 ]
    [ "$(stat_of certified)" -eq 0 ] && [ "$(stat_of certify_left_out)" -gt 50 ]
}

# StarPU sends itself SIGUSR1 for each transfer.
@test "SIGUSR1 does not stop a program with slaves" {
    need_slaves
    local expected continued=0
    export STARPU_NCPU=1 STARPU_TIC_EVERY=10
    expected=$("$lib/nodes" 12 300 1000)
    STARPU_TIC_STOP=usr1 ends 1 "$expected" "$lib/nodes" 12 300 1000
    grep -q 'StarPU uses signal 10 .* itself' err
}
