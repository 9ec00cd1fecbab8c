#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks systematic event logging: what has finished is not executed again, whatever lines there are.
load common

# Else results after the last line are not used, and lines are taken.
setup_file() {
    export STARPU_TIC_VERIFY=0
}

# After a kill when N tasks had finished, at most the others are executed, and those that the log does
# not hold. loses_nothing PROTOCOL NOT-LOGGED N WORKERS COMMAND...
loses_nothing() {
    local protocol=$1 unlogged=$2 done=$3 workers=$4 executed
    shift 4
    rm -rf "$STARPU_TIC_DIR"
    export STARPU_TIC_PROTOCOL=$protocol
    crash "task-end:$done" "$@"
    STARPU_NCPU=$workers run_apart timeout "$hangs" "$tool" run -- "$@"
    [ "$status" -eq 0 ] || complain "$*" "failed" || return 1
    [ "$(stat_of recovered)" = true ] || return 1
    executed=$(stat_of tasks_executed)
    [ "$executed" -le $(($(stat_of tasks_submitted) - done + unlogged)) ] ||
        complain "$*" "$executed tasks executed again"
}

@test "what has finished is not executed again: sel, on other numbers of workers" {
    need_examples
    local points=(1 2 50 100 199) workers=(1 2 3 2 4) i
    for i in "${!points[@]}"; do
        loses_nothing sel 0 "${points[i]}" "${workers[i]}" "$program"
        [ "$(stat_of forced_used)" -ge "${points[i]}" ]
        [ "$(stat_of forced_used)" -eq "$(stat_of results_found)" ]
        [ "$(stat_of lost_tasks)" -le 2 ] # the workers of the run that was killed
    done
    for i in 1 100 363; do # one of its tasks has a callback
        loses_nothing sel 1 "$i" 3 "$examples/cholesky_implicit" -size 960 -nblocks 12 -check
    done
}

# Under sel no line knows the tasks, unless the first one came late, but the event log does; under tic+sel both may.
@test "statistics: what was not executed again counts once, by where its result comes from" {
    local protocol
    for protocol in sel tic+sel; do
        rm -rf "$STARPU_TIC_DIR"
        export STARPU_TIC_PROTOCOL=$protocol
        STARPU_TIC_EVERY=80 crash task-end:150 "$program"
        run_apart timeout "$hangs" "$tool" run -- "$program"
        [ "$status" -eq 0 ] || complain "$protocol" "failed"
        [ "$(stat_of tasks_skipped)" -eq "$(stat_of recovered_tasks)" ]
        [ $(($(stat_of tasks_skipped) + $(stat_of forced_used))) -ge 149 ]
        [ $(($(stat_of tasks_executed) + $(stat_of tasks_skipped) + $(stat_of forced_used))) -eq \
            "$(stat_of tasks_submitted)" ]
    done
}

# Also those that no task will read, but that a task puts into their place among others.
@test "a task whose result is damaged is executed again" {
    local expected segment offset newest
    export STARPU_TIC_PROTOCOL=sel
    expected=$(STARPU_TIC_PROTOCOL=off "$lib/mainaccess")
    crash task-end:60 "$lib/mainaccess"
    mv store killed
    "$tool" verify killed | tail -1 >good
    grep -q "  good: [1-9][0-9]* results of tasks" good
    "$tool" log --json killed >log
    # Of each handle the newest is needed; the rows of others may hold other values by now.
    while read -r segment offset newest; do
        rm -rf store
        cp -r killed store
        flip_at "$(printf 'p0-segment-%08d.h5' "$segment")" "$offset"
        run "$tool" verify store
        if [ "$newest" = true ]; then
            [ "$status" -eq 1 ]
            [[ $output == *"p0-segment-$(printf %08d "$segment").h5, at byte $offset: does not have its checksum"* ]]
            [[ ${lines[-1]} == "  damaged: 1 of "*" results of tasks, which a restart executes again" ]]
        fi
        run_apart "$tool" run -- "$lib/mainaccess"
        is_right "$expected" lines || complain mainaccess "segment $segment, byte $offset"
    done < <(jq -r '[.events[] | select(.event == "finished") | .written[]] | group_by(.data) |
                    map(last as $last | .[] | . + {newest: (. == $last)}) |
                    (map(select(.newest)) + [.[range(0; length; 7)]])[] |
                    "\(.segment) \(.offset) \(.newest)"' log)
}

@test "a segment of results whose header is damaged: verify tells, and its tasks are executed again" {
    local expected
    export STARPU_TIC_PROTOCOL=sel
    expected=$(STARPU_TIC_PROTOCOL=off "$lib/mainaccess")
    crash task-end:60 "$lib/mainaccess"
    flip_at p0-segment-00000001.h5 3
    run "$tool" verify store
    [ "$status" -eq 1 ]
    [[ ${lines[-1]} == "  damaged: "*" results of tasks, which a restart executes again" ]]
    run_apart "$tool" run -- "$lib/mainaccess"
    is_right "$expected" lines
    grep -q "store/p0-segment-00000001.h5 is damaged" err
}

@test "a segment of results that is a link, a pipe or a directory: its tasks are executed again" {
    local expected as
    export STARPU_TIC_PROTOCOL=sel
    expected=$(STARPU_TIC_PROTOCOL=off "$lib/mainaccess")
    for as in "ln -s $PWD/away" mkfifo mkdir; do
        rm -rf store away
        crash task-end:60 "$lib/mainaccess"
        mv store/p0-segment-00000001.h5 away
        $as store/p0-segment-00000001.h5
        run_apart timeout "$hangs" "$tool" run -- "$lib/mainaccess"
        is_right "$expected" lines || complain mainaccess "$as"
        grep -q "store/p0-segment-00000001.h5 is damaged" err
        [ -s away ]
    done
}

@test "what is in the way of the store's files is named" {
    local name
    for name in p0-segment-00000777.h5 p0-log-00000777.h5; do
        rm -rf store
        STARPU_TIC_PROTOCOL=sel crash task-end:60 "$lib/mainaccess"
        mkdir "store/$name"
        STARPU_TIC_PROTOCOL=sel run_apart "$tool" run -- "$lib/mainaccess"
        [ "$status" -eq 78 ]
        grep -q "store/$name is in the way: not a regular file. Remove it" err
    done
}

# Results that the newest line has as done are removed from the log, and what came of them means
# nothing to the older one.
@test "the newest line is damaged or gone: no results of the log are used" {
    local expected newest
    export STARPU_TIC_PROTOCOL=tic+sel STARPU_TIC_EVERY=15 STARPU_TIC_VERIFY=0 P_QUIET=1
    expected=$(STARPU_TIC_PROTOCOL=off "$lib/mainaccess")
    crash line-renamed:2 "$program"
    crash task-end:25 "$program"
    rm "$(find store -name '*-line-*.h5' | sort | tail -1)"
    run_apart "$tool" run -- "$program"
    is_right "$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$program")" lines || complain program wrong
    grep -q "a newer recovery line in .* is damaged or gone: tasks of the event log are executed again" err
    for point in 5 15 25; do
        turn=$((${turn-0} + 1))
        ways=(damaged gone)
        is_soak || ways=("${ways[turn % 2]}") # in turns
        for way in "${ways[@]}"; do
            rm -rf store
            crash line-renamed:2 "$lib/mainaccess" # from here on there are two lines
            crash "task-end:$point" "$lib/mainaccess"
            newest=$(find store -name '*-line-*.h5' | sort | tail -1)
            if [ $way = gone ]; then
                rm "$newest"
            else
                printf X | dd of="$newest" bs=1 seek=3000 conv=notrunc 2>/dev/null
            fi
            run_apart "$tool" run -- "$lib/mainaccess"
            is_right "$expected" lines || complain mainaccess "$way after $point"
        done
    done
}

# They are invalidated first, which StarPU must go on knowing.
@test "reductions: results of contributions and of their sum" {
    need_examples
    local command=("$examples/cg" -n 512 -nblocks 4 -maxiter 20) point
    STARPU_TIC_PROTOCOL=sel "$tool" run -- "${command[@]}" 2>&1 | grep -i delta >expected
    [ "$(wc -l <expected)" -ge 2 ]
    for point in 53 60 300; do # the first sum has just been read; then in the next ones
        STARPU_TIC_PROTOCOL=sel crash "task-end:$point" "${command[@]}"
        STARPU_TIC_PROTOCOL=sel run_apart "$tool" run -- "${command[@]}"
        [ "$status" -eq 0 ]
        [ "$(stat_of forced_used)" -ge 53 ]
        grep -hi delta out err >got || :
        diff expected got
    done
}

# Rows of results that later ones have replaced hold something else by then.
@test "results that replace each other, around what a restart does again, stand for their tasks" {
    local protocol protocols mode expected turn=0
    for mode in waits reads writes holds invalid sums sees many calls parts gaps; do
        protocols=(sel tic+sel)
        is_soak || protocols=("${protocols[turn++ % 2]}") # in turns
        for protocol in "${protocols[@]}"; do
            expected=$(STARPU_TIC_PROTOCOL=off "$lib/replaced" $mode)
            case $mode in # tasks of theirs have no result that a restart can use
                sees | many | calls) STARPU_NCPU=1 loses_nothing $protocol 20 400 2 "$lib/replaced" $mode ;;
                *) STARPU_NCPU=1 loses_nothing $protocol 0 400 2 "$lib/replaced" $mode ;;
            esac
            [ "$(<out)" = "$expected" ] || complain "replaced $mode" "wrong"
        done
    done
}

# main() holds the submission lock then, for which the task that has read waits.
@test "StarPU holds main() up in no submission of a task that stands in for another" {
    local expected
    expected=$(STARPU_TIC_PROTOCOL=off "$lib/replaced" sees)
    export STARPU_TIC_PROTOCOL=sel STARPU_LIMIT_MAX_SUBMITTED_TASKS=30 STARPU_LIMIT_MIN_SUBMITTED_TASKS=15
    crash task-end:150 "$lib/replaced" sees
    run_apart timeout "$hangs" "$tool" run -- "$lib/replaced" sees
    is_right "$expected" lines || complain "replaced sees" "wrong"
    [ "$(stat_of forced_used)" -ge 130 ]
}

@test "the same with recovery lines in between: tic+sel" {
    need_examples
    local point
    for point in 130 200 300; do # past 120 the cut at 80 is taken: the line of 40 is there
        STARPU_TIC_EVERY=40 loses_nothing tic+sel 1 "$point" 3 \
            "$examples/cholesky_implicit" -size 960 -nblocks 12 -check
        [ "$(stat_of tasks_skipped)" -gt 0 ]
    done
}

@test "killed again and again, in the replay, too, nothing is lost" {
    need_examples
    local command=("$examples/cholesky_implicit" -size 960 -nblocks 12 -check) i
    export STARPU_TIC_PROTOCOL=sel
    for i in 1 2 3 4 5; do # each run but the first one restores first, and executes 20 more
        crash "forced-written:$((i * 10))" "${command[@]}"
        crash "restore-begin:3" "${command[@]}"
    done
    run_apart "$tool" run -- "${command[@]}"
    [ "$status" -eq 0 ]
    [ "$(stat_of forced_used)" -ge 150 ]
    [ "$(stat_of tasks_executed)" -le $((364 - 150)) ]
}

@test "main() that reads between tasks, and meets events, gets the same again" {
    local expected point
    expected=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$lib/mainaccess")
    export STARPU_TIC_PROTOCOL=sel
    skipped=0
    for point in task-end:1 task-end:5 task-begin:9 forced-written:12 task-end:20; do
        resumes "$point" 3 "$expected" "$lib/mainaccess"
    done
}

# StarPU allows such a structure no predecessor when it is submitted again.
@test "a structure that is submitted again is not replaced, nor what waits for tasks misled" {
    local protocol name expected
    for protocol in sel tic+sel; do
        export STARPU_TIC_PROTOCOL=$protocol
        for name in resubmit temporary; do
            expected=$("$lib/patterns" $name)
            skipped=0
            resumes task-end:50 3 "$expected" "$lib/patterns" $name
        done
    done
}

# In the restart a callback submits earlier: results of tasks that now come after it do not count.
@test "results of an order that a callback has changed are not used" {
    local protocol expected point
    expected=$("$lib/dynamic" callback-late)
    for protocol in sel tic+sel; do
        export STARPU_TIC_PROTOCOL=$protocol
        for point in 13 17 20; do
            D_LATE=1 crash "task-end:$point" "$lib/dynamic" callback-late
            run_apart timeout "$hangs" "$tool" run -- "$lib/dynamic" callback-late
            [ "$status" -eq 0 ]
            [ "$(<out)" = "$expected" ]
            [ "$(stat_of forced_used)" -ge 10 ]
        done
    done
}

@test "other input is found, although no line knows the first" {
    export STARPU_TIC_PROTOCOL=sel
    crash task-end:20 "$program"
    P_INPUT=5 run_apart "$tool" run -- "$program"
    [ "$status" -eq 78 ]
    grep -q "the input of this run differs: handle 0" err
    run_apart "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(stat_of forced_used)" -ge 20 ]
}

# Each tile of the matrix is restored once, however often tasks had written it.
@test "versions that nobody needs are neither read nor restored" {
    need_examples
    local command=("$examples/cholesky_implicit" -size 960 -nblocks 12) tile=$((80 * 80 * 4)) point
    export STARPU_TIC_PROTOCOL=sel
    for point in 100 250 360; do
        rm -rf "$STARPU_TIC_DIR"
        crash "task-end:$point" "${command[@]}"
        run_apart "$tool" run -- "${command[@]}"
        [ "$status" -eq 0 ]
        [ "$(stat_of forced_used)" -ge $((point - 1)) ] # one has a callback
        [ "$(stat_of bytes_restored)" -le $((78 * tile)) ]
        [ "$(stat_of bytes_restored)" -le $(($(stat_of planned_bytes) + tile)) ]
        [ "$(stat_of bytes_verified)" -eq "$(stat_of planned_bytes)" ]
        [ "$(stat_of planned_executions)" -eq "$(stat_of planned_least)" ]
    done
}

# A callback makes a restart execute its task again, whose input its result has replaced.
@test "what a task with a callback has read is kept, although its result is logged" {
    need_examples
    local command=("$examples/cholesky_implicit" -size 960 -nblocks 20) point workers turn=1
    export STARPU_TIC_PROTOCOL=sel
    for point in 1520 1530 1535 1539; do
        turn=$((3 - turn))
        for workers in $(is_soak && echo 1 2 || echo $turn); do
            rm -rf "$STARPU_TIC_DIR"
            STARPU_NCPU=$workers crash "task-end:$point" "${command[@]}"
            run_apart "$tool" run -- "${command[@]}"
            [ "$status" -eq 0 ] || complain "${command[*]}" "killed after $point tasks" || return 1
            [ "$(stat_of forced_used)" -ge $((point - 1)) ]
        done
    done
}

@test "sel tells what it saves only with STARPU_TIC_VERIFY=0" {
    local protocol
    export STARPU_TIC_VERBOSE=1
    for protocol in sel tic+sel; do
        export STARPU_TIC_PROTOCOL=$protocol
        STARPU_TIC_VERIFY=2 run_apart "$tool" run -- "$program"
        [ "$status" -eq 0 ]
        [ "$(grep -c "$protocol: results of single tasks are logged only with" err)" -eq 1 ]
        [ "$(stat_of events_logged)" -eq 0 ]
        [ "$(stat_of forced_checkpoints)" -eq 0 ]
        run_apart "$tool" run -- "$program"
        [ "$status" -eq 0 ]
        [ "$(grep -c "results of single tasks are logged only with" err)" -eq 0 ]
        [ "$(stat_of events_logged)" -gt 0 ]
    done
    STARPU_TIC_PROTOCOL=tic STARPU_TIC_VERIFY=2 run_apart "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(grep -c "results of single tasks are logged only with" err)" -eq 0 ]
    [ "$(stat_of events_logged)" -eq 0 ]
}

@test "results need not be used" {
    export STARPU_TIC_PROTOCOL=sel
    crash task-end:100 "$program"
    STARPU_TIC_RESULTS=0 run_apart "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(stat_of forced_used)" -eq 0 ]
    [ "$(stat_of tasks_executed)" -eq "$(stat_of tasks_submitted)" ]
}

@test "a damaged log is told of, and what it held is executed again" {
    local expected segment
    export STARPU_TIC_PROTOCOL=sel
    expected=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$program" | grep -v progress)
    crash task-end:100 "$program"
    run_apart "$tool" verify "$STARPU_TIC_DIR"
    [ "$status" -eq 0 ]
    cp -r "$STARPU_TIC_DIR" whole
    printf x | dd of="$STARPU_TIC_DIR"/p0-log-00000001.h5 bs=1 seek=$((8300 + 65536)) conv=notrunc status=none
    run_apart "$tool" verify "$STARPU_TIC_DIR"
    [ "$status" -eq 1 ]
    grep -q "p0-log-00000001.h5 is damaged" err
    run_apart "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(grep -v progress out)" = "$expected" ]
    grep -q "p0-log-00000001.h5 is damaged" err
    for segment in whole/p0-segment-*.h5; do # also their rows, which cannot be found then
        truncate -s 1000 "$segment"
    done
    STARPU_TIC_DIR=$PWD/whole run_apart "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(grep -v progress out)" = "$expected" ]
    grep -q "segment-.* is damaged" err
}

@test "a limit to the size of files suspends protection and nothing else" {
    local protocol
    for protocol in tic sel tic+sel; do
        rm -rf "$STARPU_TIC_DIR"
        STARPU_TIC_EVERY=20 STARPU_TIC_PROTOCOL=$protocol run_apart \
            bash -c 'ulimit -f 100; exec "$@"' bash "$tool" run -- "$program"
        [ "$status" -eq 0 ]
        [ "$(stat_of suspensions)" -gt 0 ]
    done
}

# Each writer (two workers, main()) keeps the file of 4 MiB that its block lies in, and one is new.
@test "lines let the log go: its size stays bounded" {
    export STARPU_TIC_SYNC=commit STARPU_TIC_KEEP=1 P_LENGTH=10 # more would bring lines by itself
    P_TASKS=120000 STARPU_TIC_PROTOCOL=sel run_apart "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(stat_of log_size)" -gt 20971520 ]
    rm -rf "$STARPU_TIC_DIR"
    P_TASKS=120000 STARPU_TIC_PROTOCOL=tic+sel STARPU_TIC_EVERY=6000 run_apart "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(stat_of log_size)" -le 16777216 ]
}

@test "results that were overwritten make room, without any period" {
    need_examples
    local command=("$examples/cholesky_implicit" -size 1440 -nblocks 18 -check) written
    export STARPU_TIC_PROTOCOL=sel STARPU_TIC_PERIOD=1000 STARPU_TIC_SYNC=never
    run_apart "$tool" run -- "${command[@]}"
    [ "$status" -eq 0 ]
    [ "$(stat_of results_replaced)" -gt 500 ]
    written=$(stat_of bytes_written)
    rm -rf "$STARPU_TIC_DIR"
    crash task-end:1100 "${command[@]}"
    [ "$(du -sk "$STARPU_TIC_DIR" | cut -f1)" -lt $((written * 3 / 4096)) ]
    run_apart timeout "$hangs" "$tool" run -- "${command[@]}"
    [ "$status" -eq 0 ]
    [ "$(stat_of recovered)" = true ]
}

@test "the log in words, in JSON and as a picture" {
    need_examples
    export STARPU_TIC_PROTOCOL=sel
    crash task-end:35 "$examples/cholesky_implicit" -size 480 -nblocks 5
    run "$tool" info "$STARPU_TIC_DIR"
    [ "$status" -eq 0 ]
    [[ $output == *"event log (sel):"*"35 tasks created"* ]]
    run "$tool" info --json "$STARPU_TIC_DIR"
    [ "$(jq -r .log.protocol <<<"$output")" = sel ]
    [ "$(jq .log.tasks_finished <<<"$output")" -ge 25 ]
    run "$tool" log "$STARPU_TIC_DIR"
    [ "$status" -eq 0 ]
    [ "$(grep -c ' created task ' <<<"$output")" -eq 35 ]
    run "$tool" log --json "$STARPU_TIC_DIR"
    [ "$(jq '[.events[] | select(.event == "finished")] | length' <<<"$output")" -ge 25 ]
    run "$tool" graph "$STARPU_TIC_DIR" -o tasks.dot
    [ "$status" -eq 0 ]
    [ "$(grep -c '^  t[0-9]* \[' tasks.dot)" -eq 35 ]
    if command -v dot; then
        run "$tool" graph "$STARPU_TIC_DIR" -o tasks.svg
        [ "$status" -eq 0 ]
        grep -q '<svg' tasks.svg
    fi
    PATH=/nonexistent run "$tool" graph "$STARPU_TIC_DIR" -o tasks.svg
    [ "$status" -eq 1 ]
    [[ $output == *"install graphviz"* ]]
}

@test "a large graph is summarized; a log without tasks is none" {
    need_examples
    export STARPU_TIC_PROTOCOL=sel
    crash task-end:300 "$examples/cholesky_implicit" -size 960 -nblocks 12
    run "$tool" graph "$STARPU_TIC_DIR" -o tasks.dot
    [ "$status" -eq 0 ]
    # StarPU 1.4 has a kind more
    [[ $(grep -c '^  g[0-9]* \[' tasks.dot) == [34] ]]
    grep -q '364 tasks\|286 tasks\|220 tasks' tasks.dot
    run "$tool" graph "$BATS_FILE_TMPDIR" -o tasks.dot
    [ "$status" -eq 1 ]
    [[ $output == *"holds no task"* ]]
}

@test "a picture that is there stays if there is nothing to draw; names are escaped" {
    need_examples
    export STARPU_TIC_PROTOCOL=sel
    echo old >tasks.dot
    run "$tool" graph "$BATS_FILE_TMPDIR" -o tasks.dot
    [ "$status" -eq 1 ]
    [ "$(<tasks.dot)" = old ]
    crash task-end:320 "$lib/orders" odd-names
    run "$tool" graph "$STARPU_TIC_DIR" -o /dev/full
    [ "$status" -eq 1 ]
    [[ $output == *"cannot write /dev/full"* ]]
    run "$tool" graph "$STARPU_TIC_DIR" -o tasks.dot
    [ "$status" -eq 0 ]
    [ ! -e tasks.dot.new ]
    grep -qF 'label="say \"so\" \\ again\n' tasks.dot # summarized
    ! command -v dot || dot -Tsvg tasks.dot >/dev/null
}

@test "what cannot be printed is a failure" {
    export STARPU_TIC_PROTOCOL=sel
    crash task-end:20 "$program"
    local command
    for command in "log $STARPU_TIC_DIR" "log --json $STARPU_TIC_DIR" "info $STARPU_TIC_DIR" settings; do
        # shellcheck disable=SC2086 # words
        run bash -c '"$@" >/dev/full' bash "$tool" $command
        [ "$status" -eq 1 ]
        [[ $output == *"cannot write the output: No space left"* ]]
    done
}

@test "the message of a restart tells of results, too" {
    export STARPU_TIC_PROTOCOL=sel
    crash task-end:20 "$program"
    run_apart "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    grep -q "0 tasks done, .* and the results of $(stat_of results_found) more in the event log" err
}

# What was recorded of the writes of a run: lines of "sync NAME" and "write NAME", in order.
calls_of() {
    python3 - "$1" <<'PYTHON'
import struct, sys
head = struct.Struct("=IIQQQ")
data, at, names, last = open(sys.argv[1], "rb").read(), 0, {0: "directory"}, None
while at + head.size <= len(data):
    call, name_size, file, _, size = head.unpack_from(data, at)
    name = data[at + head.size:at + head.size + name_size].decode()
    at += head.size + name_size + (size if call == 1 else 0)
    if call == 0:
        names[file] = name
    now = {1: "write ", 3: "sync "}.get(call, "") + names.get(file, "?")
    if call in (0, 1, 3) and now != last:
        print("create " + name if call == 0 else now)
    last = now
PYTHON
}

@test "STARPU_TIC_LOG_SYNC forces names, values and log to the disk, in this order" {
    export STARPU_TIC_PROTOCOL=sel STARPU_TIC_SYNC=never P_TASKS=20000
    export STARPU_TIC_PATIENCE=60 # else tasks write by memory
    local log=p0-log-00000001.h5
    recorded() {
        rm -rf "$STARPU_TIC_DIR" stream
        TIC_RECORD=$PWD/stream TIC_RECORD_PATH=$STARPU_TIC_DIR \
            LD_PRELOAD=$TIC_BUILD/.libs/recorder.so:$calm "$tool" run -- "$program" >/dev/null
        calls_of stream >calls
    }
    recorded
    ! grep -q "^sync" calls
    STARPU_TIC_LOG_SYNC=1 recorded
    [ "$(grep -c "^sync $log" calls)" -gt 1 ]
    # Of each log file its name first.
    awk '/^create p0-log/ { named[$2] = 0 }
        $0 == "sync directory" { for (name in named) named[name] = 1 }
        /^sync p0-log/ { logs++; if (!named[$2]) exit 1 }
        END { if (logs == 0) exit 1 }' calls
    [ "$(grep -c "^create p0-log" calls)" -gt 1 ]
    # Before the first of a row of logs the segments.
    grep ^sync calls | awk '/p0-segment/ { segments = 1 }
        /p0-log/ && !after_log { if (!segments) exit 1; segments = 0 }
        { after_log = /p0-log/ }'
}

@test "statistics sum up over the runs of a store" {
    local protocol kills
    for protocol in sel tic+sel tic; do
        rm -rf "$STARPU_TIC_DIR"
        export STARPU_TIC_PROTOCOL=$protocol STARPU_TIC_EVERY=20 P_TASKS=400
        [ $protocol != sel ] || STARPU_TIC_EVERY=0
        run_apart "$tool" run -- "$program"
        [ "$(stat_of runs)" -eq 1 ] && [ "$(stat_of fault_ratio)" = 1.0 ]
        [ "$(stat_of all_bytes)" -eq "$(stat_of bytes_written)" ]
        local events bytes
        events=$(stat_of all_events) bytes=$(stat_of all_bytes)
        for kills in 105 105; do # a line is there, at the latest, when the cut of 80 is taken
            crash "task-end:$kills" "$program"
        done
        run_apart "$tool" run -- "$program"
        [ "$status" -eq 0 ]
        [ "$(stat_of runs)" -eq 3 ]
        jq -en 'input | .all_seconds > .seconds and .fault_ratio >= 1 and .all_lost_seconds >= 0' \
            "$STARPU_TIC_STATS"
        jq -en 'input | .fault_ratio == .all_seconds / (.all_seconds - .all_lost_seconds) or
               (.fault_ratio - .all_seconds / (.all_seconds - .all_lost_seconds) | fabs) < 1e-6' \
            "$STARPU_TIC_STATS"
        [ "$(stat_of all_events)" -gt "$(stat_of events_logged)" ] || [ $protocol = tic ]
        [ "$(stat_of all_bytes)" -gt "$(stat_of bytes_written)" ]
        # Nothing is counted twice: no more than all had written who lived to the end.
        [ "$(stat_of all_bytes)" -le $((3 * bytes)) ]
        [ $protocol != sel ] || [ "$(stat_of all_events)" -le $((3 * events + 3)) ]
        [ $protocol = sel ] || [ "$(stat_of all_checkpoints)" -gt "$(stat_of checkpoints)" ]
    done
}

@test "what is stored already is not written again, nor written twice for a line" {
    need_examples
    local written
    STARPU_TIC_PROTOCOL=sel run_apart "$tool" run -- \
        "$examples/cg" -n 512 -nblocks 4 -no-reduction -maxiter 20
    [ "$status" -eq 0 ]
    [ "$(stat_of bytes_shared)" -gt 50000 ]
    local command=("$examples/cholesky_implicit" -size 960 -nblocks 12)
    STARPU_TIC_PROTOCOL=sel run_apart "$tool" run -- "${command[@]}"
    written=$(stat_of values_written)
    STARPU_TIC_PROTOCOL=tic+sel STARPU_TIC_EVERY=40 run_apart "$tool" run -- "${command[@]}"
    [ "$(stat_of checkpoints)" -ge 3 ]
    [ "$(stat_of values_written)" -le "$((written + 10))" ] # tables of the lines may be some
}

# Conjugate gradients write some of their values as they were before.
@test "info tells what sharing saves" {
    need_examples
    export STARPU_TIC_PROTOCOL=sel
    crash task-end:300 "$examples/cg" -n 512 -nblocks 4 -no-reduction -maxiter 20
    run "$tool" info --json "$STARPU_TIC_DIR"
    jq -en 'input | .log.stored_bytes < .log.value_bytes and .log.stored_bytes > 0' <<<"$output"
    run "$tool" info "$STARPU_TIC_DIR"
    [[ $output =~ "bytes stored (1."[0-9]+" : 1)" ]]
}

@test "values that share rows come back, killed and resumed" {
    need_examples
    local command=("$examples/cg" -n 512 -nblocks 4 -no-reduction -maxiter 20) protocol point
    STARPU_TIC_PROTOCOL=off TIC_ORACLE=$PWD/expected LD_PRELOAD=$oracle:$calm \
        "$tool" run -- "${command[@]}" >/dev/null 2>&1
    [ -s expected ]
    for protocol in sel tic+sel tic; do
        export STARPU_TIC_PROTOCOL=$protocol STARPU_TIC_EVERY=40
        for point in 200 400; do
            rm -rf "$STARPU_TIC_DIR" got
            crash "task-end:$point" "${command[@]}"
            run_apart "$tool" verify "$STARPU_TIC_DIR"
            [ "$status" -eq 0 ]
            TIC_ORACLE=$PWD/got LD_PRELOAD=$oracle:$calm run_apart "$tool" run -- "${command[@]}"
            [ "$status" -eq 0 ]
            [ "$(stat_of recovered)" = true ]
            # Which versions checkpoints meet is chance; the log meets all.
            [ "$protocol" = tic ] || [ "$(stat_of values_shared)" -gt 0 ]
            cmp expected got
        done
    done
}
