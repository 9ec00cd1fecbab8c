#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks programs that reach memory behind StarPU's back, or change what data there is, inside tasks
# and callbacks (tests/lib/inside.c): protected and right after a kill, or not protected and told
# why. Never wrong.
load common

inside=$lib/inside
killer=$TIC_BUILD/.libs/killer.so

setup_file() {
    export STARPU_TIC_EVERY=7
}

protected() { # mode: from the start
    rm -rf "$STARPU_TIC_DIR"
    run_apart timeout "$hangs" "$tool" run -- "$inside" "$1"
}

# Ends protection with one message, and goes on: is_refused MODE EXPECTED MESSAGE
is_refused() {
    protected "$1"
    [ "$status" -eq 0 ] && [ "$(<out)" = "$2" ] && [ "$(stat_of protected)" = false ] &&
        [ "$(grep -c 'protection ends here' err)" -eq 1 ] && grep -q "protection ends here: $3" err ||
        complain "$1" "not refused as it should be"
}

# Killed after so many tasks, protected or not, and resumed on several numbers of workers, or on one of
# them in turns, it is right, or the start is refused: right_or_stopped MODE EXPECTED TASKS...
right_or_stopped() {
    local mode=$1 expected=$2 at workers all=(1 2 4)
    shift 2
    for at in "$@"; do
        turn=$((turn + 1))
        for workers in $(is_soak && echo "${all[@]}" || echo "${all[turn % 3]}"); do
            rm -rf "$STARPU_TIC_DIR"
            LD_PRELOAD=$killer:$calm TIC_KILL_TASK=$at run_apart timeout "$hangs" "$tool" run -- "$inside" "$mode"
            [ "$status" -eq 137 ] || complain "$mode" "not killed at task $at"
            STARPU_NCPU=$workers run_apart timeout "$hangs" "$tool" run -- "$inside" "$mode"
            [ "$status" -eq 70 ] || [ "$status" -eq 78 ] ||
                { [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ]; } ||
                complain "$mode" "wrong after task $at, on $workers workers"
        done
    done
}

# Kills at failpoints, and resumes: survives MODE EXPECTED TASKS...
survives() {
    local mode=$1 expected=$2 skipped=0
    shift 2
    resumes_through "${*/#/task-end:}" "$expected" "$inside" "$mode"
    [ "$skipped" -gt 0 ] || complain "$mode" "nothing was ever skipped"
}

@test "tasks with tokens only, and pointers: refused before they cost anything" {
    expected=$("$inside" tokens)
    is_refused tokens "$expected" \
        'factorize: it declares only data without content, and its arguments hold pointers'
    [ "$(stat_of tasks_executed)" -eq 0 ]
    right_or_stopped tokens "$expected" 130 200
    expected=$("$inside" callback-tokens)
    is_refused callback-tokens "$expected" \
        'tick: it declares only data without content, and the argument of its callback is a pointer'
    right_or_stopped callback-tokens "$expected" 130
}

@test "starpu-tic check tells of tasks with tokens only, and pointers" {
    run_apart timeout "$hangs" "$tool" check -- "$inside" tokens
    [ "$status" -eq 1 ]
    grep -Eq '^  factorize: it declares only data without content.* \(120 times\)$' out
    STARPU_TIC_POINTERS=trust run_apart timeout "$hangs" "$tool" check -- "$inside" tokens
    [ "$status" -eq 0 ]
}

@test "tokens without pointers, and pointers that are trusted, stay protected" {
    expected=$("$inside" plain-tokens)
    for i in 1 2 $(is_soak && echo 3 4 5); do # tokens go while tasks may hold them
        protected plain-tokens
        is_right "$expected" "" && ! grep -v 'declares no data' err || complain plain-tokens "wrong"
    done
    survives plain-tokens "$expected" 60 130
    expected=$("$inside" tokens)
    STARPU_TIC_POINTERS=trust protected tokens
    is_right "$expected" "" && [ ! -s err ] || complain tokens "wrong"
}

@test "a store of a run that trusted pointers is not continued without" {
    STARPU_TIC_POINTERS=trust crash task-end:100 "$inside" tokens
    protected=$(find "$STARPU_TIC_DIR" -name '*-line-*.h5')
    [ -n "$protected" ]
    run_apart timeout "$hangs" "$tool" run -- "$inside" tokens
    [ "$status" -eq 70 ]
    grep -q 'STARPU_TIC_POINTERS=trust' err
}

@test "tasks with content and pointers: one note in a run, none where pointers are trusted" {
    expected=$("$inside" content-pointers)
    protected content-pointers
    is_right "$expected" "" || complain content-pointers "wrong"
    [ "$(wc -l <err)" -eq 1 ]
    grep -q 'scale: its arguments hold pointers.* is not saved' err
    STARPU_TIC_POINTERS=trust protected content-pointers
    is_right "$expected" "" && [ ! -s err ] || complain content-pointers "told although trusted"
    STARPU_TIC_VERBOSE=0 protected content-pointers
    is_right "$expected" "" && [ ! -s err ] || complain content-pointers "told although quiet"
    survives content-pointers "$expected" 100 300
}

@test "callbacks of tasks that run nowhere see the data that these read" {
    expected=$("$inside" nowhere)
    protected nowhere
    is_right "$expected" "" && [ ! -s err ] || complain nowhere "wrong"
    survives nowhere "$expected" 20 60 100 150 195
    for protocol in sel tic+sel; do
        export STARPU_TIC_PROTOCOL=$protocol skipped=0
        resumes_through "task-end:20 $(is_soak && echo task-end:100) task-end:195" "$expected" "$inside" nowhere
    done
}

@test "callbacks of tasks that run nowhere see it after a restart that was killed early" {
    export STARPU_TIC_VERIFY=0 STARPU_TIC_EVERY=1 # lines while main() replays
    expected=$("$inside" nowhere)
    for at in 20 100; do
        rm -rf "$STARPU_TIC_DIR"
        for point in "task-end:$at" task-begin:3; do
            STARPU_TIC_FAIL=$point run_apart timeout "$hangs" "$tool" run -- "$inside" nowhere
            [ "$status" -eq 137 ] || complain nowhere "not killed at $point"
        done
        run_apart timeout "$hangs" "$tool" run -- "$inside" nowhere
        is_right "$expected" "" || complain nowhere "wrong after two kills, the first at task $at"
    done
}

@test "a kernel submits a task that runs nowhere and reads: refused" {
    expected=$("$inside" nowhere-child)
    is_refused nowhere-child "$expected" 'nowhere: a task, a callback or another thread submits it'
    right_or_stopped nowhere-child "$expected" 100
}

@test "tasks and callbacks that register, partition, unregister, acquire: named, never wrong" {
    data="data registered by a task"
    while IFS='|' read -r mode message tasks; do
        expected=$("$inside" "$mode")
        is_refused "$mode" "$expected" "$message"
        right_or_stopped "$mode" "$expected" $tasks </dev/null
    done <<EOF
registers|starpu_data_register in task "registers": $data|115 180
callback-registers|starpu_data_register in the callback of task "step": $data|115 180
partitions|starpu_data_partition_plan in task "partitions"|115 200
unregisters|starpu_data_unregister in task "unregisters"|110 150
acquires|starpu_data_acquire_cb in task "acquires"|110 150
EOF
}

# ---- memory that nobody has registered (tests/lib/counts.c) -----------------------------------------

wrote='tasks write memory that is not registered data'

@test "tasks write variables, or what these or arguments point to: told, and a restart is refused" {
    for mode in variable block argument structure passed called awaited; do
        expected=$("$lib/counts" $mode)
        rm -rf "$STARPU_TIC_DIR"
        run_apart "$tool" run -- "$lib/counts" $mode
        is_right "$expected" ""
        [ "$(grep -c "$wrote" err)" -eq 1 ]
        STARPU_TIC_FAIL=task-end:70 run_apart "$tool" run -- "$lib/counts" $mode
        [ "$status" -eq 137 ]
        words=$(sed -n 's/.*memory that is \(not registered data: .*\); starpu-tic explain.*/\1/p' err)
        [ -n "$words" ]
        STARPU_NCPU=2 run_apart "$tool" run -- "$lib/counts" $mode
        [ "$status" -eq 78 ]
        grep -qF "tasks that are done have written memory that is $words, and" err || complain $mode "not named"
        STARPU_TIC_POINTERS=trust run_apart "$tool" run -- "$lib/counts" $mode
        [ "$status" -eq 0 ] && [ "$(stat_of recovered)" = true ]
        [ "$(cut -d ' ' -f 2 out)" = "$(cut -d ' ' -f 2 <<<"$expected")" ]
    done
}

# Lines from before the message do not say it: a mark beside them does, whatever comes of the run.
@test "a mark in the directory refuses lines that do not say it, and goes with them" {
    expected=$("$lib/counts" registered)
    mark=$STARPU_TIC_DIR/p0-unregistered
    STARPU_TIC_FAIL=task-end:70 run_apart "$tool" run -- "$lib/counts" registered
    [ "$status" -eq 137 ] && [ ! -e "$mark" ]
    touch "$mark"
    for again in 1 2; do
        run_apart "$tool" run -- "$lib/counts" registered
        [ "$status" -eq 78 ] && [ -e "$mark" ]
        grep -q 'tasks that are done have written memory that is not registered data' err
    done
    "$tool" info "$STARPU_TIC_DIR" | grep -q '^tasks write memory that is not registered data'
    [ "$("$tool" info --json "$STARPU_TIC_DIR" | jq .unregistered_writes)" = true ]
    STARPU_TIC_POINTERS=trust STARPU_TIC_FAIL=task-end:20 run_apart "$tool" run -- "$lib/counts" registered
    [ "$status" -eq 137 ] && [ -e "$mark" ]
    run_apart "$tool" run -- "$lib/counts" registered
    [ "$status" -eq 78 ]
    STARPU_TIC_POINTERS=trust run_apart "$tool" run -- "$lib/counts" registered
    is_right "$expected" "lines"
    [ ! -e "$STARPU_TIC_DIR" ]
}

@test "the message leaves the mark, and a run that begins anew removes it" {
    STARPU_TIC_FAIL=task-end:70 run_apart "$tool" run -- "$lib/counts" variable
    [ "$status" -eq 137 ] && [ "$(grep -c "$wrote" err)" -eq 1 ]
    [ -e "$STARPU_TIC_DIR/p0-unregistered" ]
    rm "$STARPU_TIC_DIR"/p0-line-*
    STARPU_TIC_FAIL=task-end:1 run_apart "$tool" run -- "$lib/counts" variable
    [ "$status" -eq 137 ] && [ ! -e "$STARPU_TIC_DIR/p0-unregistered" ]
}

@test "the mark is copied with lines" {
    export STARPU_TIC_COPY=$PWD/copy
    expected=$("$lib/counts" registered)
    STARPU_TIC_FAIL=line-copied:1 run_apart "$tool" run -- "$lib/counts" registered
    [ "$status" -eq 137 ] && [ ! -e copy/p0-unregistered ]
    touch "$STARPU_TIC_DIR/p0-unregistered"
    STARPU_TIC_POINTERS=trust STARPU_TIC_FAIL=line-copied:1 run_apart "$tool" run -- "$lib/counts" registered
    [ "$status" -eq 137 ] && [ -e copy/p0-unregistered ]
    rm -r "$STARPU_TIC_DIR"
    run_apart "$tool" run -- "$lib/counts" registered
    [ "$status" -eq 78 ]
    STARPU_TIC_POINTERS=trust STARPU_TIC_FAIL=task-end:1 run_apart "$tool" run -- "$lib/counts" registered
    [ "$status" -eq 137 ] && [ -e "$STARPU_TIC_DIR/p0-unregistered" ]
    STARPU_TIC_POINTERS=trust run_apart "$tool" run -- "$lib/counts" registered
    is_right "$expected" "lines"
    [ ! -e copy ]
}
@test "tasks write what their arguments point to before main() waits: told before a line counts them" {
    expected=$("$lib/counts" polled)
    run_apart "$tool" run -- "$lib/counts" polled
    is_right "$expected" ""
    [ "$(grep -c "$wrote" err)" -eq 1 ]
    rm -rf "$STARPU_TIC_DIR"
    STARPU_TIC_EVERY=1 crash line-renamed:1 "$lib/counts" polled
    run_apart "$tool" run -- "$lib/counts" polled
    [ "$status" -eq 78 ]
}

@test "the message names the variable" {
    for mode in variable block; do
        run_apart "$tool" run -- "$lib/counts" $mode
        case $mode in variable) name=counted ;; *) name=block ;; esac
        grep -q "\"$name\" of counts (symbol:$name)" err || complain $mode "not named"
    done
}

# Data with an interface of the program's own lies where only that knows; here in blocks of the heap.
@test "a variable is found beside data of an interface of the program's own, and that data is not" {
    run_apart "$tool" run -- "$lib/modes" custom-beside
    [ "$status" -eq 0 ]
    [ "$(grep -c "$wrote" err)" -eq 1 ]
    grep -q '"counts_changes" of modes (symbol:counts_changes)' err
    for mode in custom custom-waits custom-heap; do
        rm -rf "$STARPU_TIC_DIR"
        run_apart "$tool" run -- "$lib/modes" $mode
        is_right "$("$lib/modes" $mode)" ""
        ! grep "$wrote" err || complain $mode "told of without reason"
    done
}

@test "a line from before tasks wrote such memory is used" {
    expected=$("$lib/counts" once)
    skipped=0
    resumes task-end:110 2 "$expected" "$lib/counts" once
    [ "$skipped" -gt 0 ]
}

@test "what callbacks and tasks without output write, what is registered, and mutexes: no such memory" {
    for mode in effects callback registered returned leaving log mutex; do
        expected=$("$lib/counts" $mode)
        rm -rf "$STARPU_TIC_DIR"
        run_apart "$tool" run -- "$lib/counts" $mode
        is_right "$expected" ""
        [ "$(grep -c "$wrote" err)" -eq 0 ] || complain $mode "told of without reason"
        skipped=0
        resumes_through "task-end:15 $(is_soak && echo task-end:55) task-end:100" "$expected" "$lib/counts" $mode
        [ "$skipped" -gt 0 ]
    done
}

# ---- registered addresses (tests/lib/followed.c) -----------------------------------------------------

@test "tasks follow an address in a variable that they declare to write, and have callbacks: told, and refused" {
    expected=$("$lib/followed" object)
    run_apart "$tool" run -- "$lib/followed" object
    is_right "$expected" ""
    [ "$(grep -c "$wrote" err)" -eq 1 ]
    grep -q 'what data 0 (number of registration) points to (.*task "step", which' err
    ! grep 'write addresses of memory' err
    STARPU_TIC_FAIL=task-end:70 run_apart "$tool" run -- "$lib/followed" object
    [ "$status" -eq 137 ]
    STARPU_NCPU=2 run_apart "$tool" run -- "$lib/followed" object
    [ "$status" -eq 78 ]
    grep -qF 'what data 0 (number of registration) points to' err
    run_apart "$tool" check -- "$lib/followed" object
    [ "$status" -eq 1 ] && grep -qF 'what data 0 (number of registration) points to' out
}

@test "it leads to registered data, is only read, or only written: no such memory" {
    for mode in registered read constant given; do
        expected=$("$lib/followed" $mode)
        rm -rf "$STARPU_TIC_DIR"
        run_apart "$tool" run -- "$lib/followed" $mode
        is_right "$expected" ""
        [ "$(grep -c "$wrote" err)" -eq 0 ] || complain $mode "told of without reason"
        [ $mode = given ] && continue # tasks write an address: refused, and told for that
        skipped=0
        resumes_through "task-end:15 $(is_soak && echo task-end:55) task-end:100" "$expected" "$lib/followed" $mode
        [ "$skipped" -gt 0 ]
    done
}

# ---- much of it, and of other kinds (tests/lib/beside.c) ---------------------------------------------

@test "tasks write static states, behind large tables, mapped memory, rests of blocks: told, and refused" {
    export STARPU_TIC_EVERY=50
    for mode in state table shared private block tile middle user content rand; do
        expected=$("$lib/beside" $mode)
        rm -rf "$STARPU_TIC_DIR"
        run_apart "$tool" run -- "$lib/beside" $mode
        is_right "$expected" ""
        [ "$(grep -c "$wrote" err)" -eq 1 ] || complain $mode "not told of"
        at=1590
        [ $mode != state ] || at=390
        STARPU_TIC_FAIL=task-end:$at run_apart "$tool" run -- "$lib/beside" $mode
        [ "$status" -eq 137 ]
        run_apart "$tool" run -- "$lib/beside" $mode
        [ "$status" -eq 78 ] || complain $mode "not refused"
    done
}

@test "registered tiles and memory, mutexes within large tables, states, addresses that lead to StarPU: no such memory" {
    export STARPU_TIC_EVERY=50
    for mode in whole within mutex rand_r midst freed thread gaps; do
        expected=$("$lib/beside" $mode)
        rm -rf "$STARPU_TIC_DIR"
        run_apart "$tool" run -- "$lib/beside" $mode
        is_right "$expected" ""
        [ "$(grep -c "$wrote" err)" -eq 0 ] || complain $mode "told of without reason"
        skipped=0
        resumes_through "task-end:300 $(is_soak && echo task-end:1000) task-end:1590" "$expected" "$lib/beside" $mode
        [ "$skipped" -gt 0 ]
    done
}

@test "a policy of StarPU that asks for random numbers while kernels submit tasks: no such memory" {
    for policy in random ws; do
        rm -rf "$STARPU_TIC_DIR"
        STARPU_SCHED=$policy run_apart "$tool" run -- "$lib/knary" tree 4 5
        [ "$status" -eq 0 ] && [ "$(stat_of scheduler)" = $policy ]
        ! grep "$wrote" err || complain $policy "told of without reason"
    done
}

# Between its waits main() reads small data that its interface packs, and sets it, by its pointer.
@test "main() sets packed data by its pointer" {
    local point expected
    expected=$("$lib/resets")
    export STARPU_TIC_EVERY=1
    for point in task-end:52 task-end:58 task-end:80 task-end:95 task-end:136 task-end:171 task-end:200; do
        rm -rf "$STARPU_TIC_DIR"
        STARPU_NCPU=2 crash "$point" "$lib/resets"
        STARPU_NCPU=1 run_apart timeout "$hangs" "$tool" run -- "$lib/resets"
        is_right "$expected" "" || complain resets "wrong after $point"
        STARPU_TIC_EVERY=$((6 - STARPU_TIC_EVERY)) # in turns
    done
}

@test "main() sets a COO matrix by its pointer, and what it reads is known in a second restart, too" {
    local form line
    for form in csr coo; do
        expected=$("$lib/resets" $form)
        for line in 1 2 3; do
            rm -rf "$STARPU_TIC_DIR"
            STARPU_TIC_EVERY=25 crash line-renamed:$line "$lib/resets" $form
            STARPU_TIC_EVERY=10 crash line-renamed:1 "$lib/resets" $form
            STARPU_NCPU=1 run_apart timeout "$hangs" "$tool" run -- "$lib/resets" $form
            is_right "$expected" yes || complain "resets $form" "wrong after line $line"
        done
    done
}

# A task that is executed again reads it beside one that waits for main(), as in the first run: both
# need a worker. What a restart with one says of it comes when it stands still.
@test "a task that prints what main() has put into packed data reads that again" {
    export STARPU_TIC_EVERY=10
    expected=$("$lib/packed_reads")
    crash line-renamed:2 "$lib/packed_reads"
    cp -r "$STARPU_TIC_DIR" kept
    STARPU_NCPU=2 run_apart timeout "$hangs" "$tool" run -- "$lib/packed_reads"
    is_right "$expected" yes || complain packed_reads wrong
    STARPU_TIC_PATIENCE=0.2 STARPU_TIC_DIR=$PWD/kept STARPU_NCPU=1 \
        timeout "$hangs" "$tool" run -- "$lib/packed_reads" >still 2>&1 &
    until grep -q 'the replay may stand still: tasks without output at once: 2, workers: 1;' still; do
        kill -0 $! || complain packed_reads "not told"
    done
    kill $!
    wait $! || true
}

# The stack below main()'s own is this library's while main() waits.
@test "arguments that hold the address of a variable of a function that has returned: nothing told" {
    export STARPU_TIC_EVERY=20
    expected=$("$lib/returned")
    crash task-end:150 "$lib/returned"
    [[ $output != *"$wrote"* ]]
    run_apart "$tool" run -- "$lib/returned"
    is_right "$expected" yes || complain returned wrong
}

# ---- addresses that tasks put into data (tests/lib/leads.c) ---------------------------------------

leads() { # MODE POINT of the first run
    rm -rf "$STARPU_TIC_DIR"
    export STARPU_TIC_POINTERS=trust # that what is allocated is written is told, too, where it is seen
    crash "$2" "$lib/leads" "$1"
    grep -q 'tasks write addresses of memory of this process into data' <<<"$output" ||
        complain "$1" "not told"
    run_apart timeout "$hangs" "$tool" run -- "$lib/leads" "$1"
}

@test "tasks put addresses of what they have allocated into data: such data is not given back" {
    export STARPU_TIC_EVERY=6
    for mode in home homeless; do
        leads $mode task-end:40
        [ "$status" -eq 78 ] && grep -q 'holds addresses, which are others in each run' err ||
            complain $mode "not refused"
        run_apart timeout "$hangs" "$tool" check "$lib/leads" $mode
        [ "$status" -eq 1 ] || complain $mode "check finds nothing"
        grep -q '^Data holds addresses: tasks write addresses of memory' out
    done
}

@test "tasks that have put addresses into data, and taken them back: right" {
    export STARPU_TIC_EVERY=1000
    expected=$("$lib/leads" forgets)
    leads forgets line-renamed:1
    is_right "$expected" yes || complain forgets wrong
}

# The second line counts the writes of what the first one does not hold.
@test "main() changes data in an access while a line is cut: what it saw comes back, also in a second restart" {
    for later in 4 5; do
        expected=$("$lib/held" $later)
        for protocol in tic sel; do
            export STARPU_TIC_PROTOCOL=$protocol
            rm -rf "$STARPU_TIC_DIR"
            STARPU_TIC_EVERY=10 crash line-renamed:1 "$lib/held" $later
            STARPU_NCPU=1 STARPU_TIC_EVERY=13 crash line-renamed:1 "$lib/held" $later
            run_apart timeout "$hangs" "$tool" run -- "$lib/held" $later
            is_right "$expected" yes || complain "held $later" "wrong under $protocol"
        done
    done
}
