#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks what a program declares by starpu_tic.h: names of data, codelets that can be skipped or have
# effects, excluded data.
load common

declares=$lib/declares

# ---- names --------------------------------------------------------------------------------------

# A store of the mode, with two recovery lines.
make_named() {
    STARPU_NCPU=1 STARPU_TIC_SCHED=eager STARPU_TIC_EVERY=20 crash line-retired:2 "$declares" names
}

@test "names of data are in the store, and all who show data show them" {
    need_jq
    make_named
    "$tool" info --json "$STARPU_TIC_DIR" >info.json
    long=$(printf 'ä%.0s' $(seq 32))
    jq -e --arg long "$long" '.lines | length == 2 and all(.names == [
        {data: 0, name: "left & <right> \"both\""}, {data: 1, name: "two lines"}, {data: 2, name: $long},
        {data: 3, name: "twin"}, {data: 4, name: "twin"}])' info.json
    "$tool" info "$STARPU_TIC_DIR" | grep -q '^  names of data: 0 "left & <right> "both"", 1 "two lines", '
    run "$tool" diff "$STARPU_TIC_DIR"
    [[ $output == *" data 1 "*' "two lines"'* ]]
    "$tool" diff --json "$STARPU_TIC_DIR" >diff.json || true
    jq -e '.data | length == 5 and all(has("name"))' diff.json
    "$tool" extract "$STARPU_TIC_DIR" | grep -q '32 of 4 bytes "two lines"$'
    "$tool" extract --json "$STARPU_TIC_DIR" | jq -e '.data[1].name == "two lines"'
    "$tool" report "$STARPU_TIC_DIR" -o page.html
    grep -q '<div>data 0 &#34;left &#38; &#60;right&#62; &#34;both&#34;&#34;</div>' page.html
    "$tool" verify "$STARPU_TIC_DIR"
}

@test "extract takes a name in the place of the number, if it is one datum's" {
    need_jq
    make_named
    "$tool" extract "$STARPU_TIC_DIR" 1 -o number.txt
    "$tool" extract --json "$STARPU_TIC_DIR" "two lines" -o name.txt >written.json
    cmp number.txt name.txt
    jq -e '.data == 1 and .name == "two lines"' written.json
    run "$tool" extract "$STARPU_TIC_DIR" twin -o twin.txt
    [ "$status" -eq 1 ]
    [[ $output == *"several data are named \"twin\""* ]]
    run "$tool" extract "$STARPU_TIC_DIR" nobody -o nobody.txt
    [ "$status" -eq 1 ]
    [[ $output == *"no data is named \"nobody\""* ]]
    [ ! -e twin.txt ] && [ ! -e nobody.txt ]
}

@test "Python: a line tells the names" {
    need_h5py
    make_named
    python - "$STARPU_TIC_DIR" <<'END'
import sys, starpu_tic
with_names = starpu_tic.Store(sys.argv[1]).newest()
assert with_names.names[1] == "two lines" and with_names.names[2] == "ä" * 32, with_names.names
END
}

# What the run started from stays in each later line, until main() says otherwise.
@test "a restart knows the names before main() gives them, and the last one counts" {
    need_jq
    expected=$("$declares" names)
    make_named
    D_OTHER=1 STARPU_NCPU=1 STARPU_TIC_EVERY=20 crash line-retired:2 "$declares" names
    "$tool" info --json "$STARPU_TIC_DIR" |
        jq -e '.lines[0].names | map(.name) | .[0] == "other" and .[1] == "two lines" and length == 5'
    run_apart "$tool" run -- "$declares" names
    is_right "$expected" yes || complain declares wrong
}

# ---- codelets -----------------------------------------------------------------------------------

wrote='tasks write memory that is not registered data'

# All of it is skipped that the line has as done, and it is done in the order of submission.
@test "tasks without output that can be skipped are not executed again" {
    export STARPU_NCPU=1 STARPU_TIC_SCHED=eager STARPU_TIC_EVERY=50
    for mode in readers parents; do
        expected=$("$declares" $mode)
        for skip in "" 1; do
            rm -rf "$STARPU_TIC_DIR"
            D_SKIP=$skip crash task-end:320 "$declares" $mode
            D_SKIP=$skip run_apart "$tool" run -- "$declares" $mode
            is_right "$expected" yes || complain $mode wrong
            if [ -z "$skip" ]; then
                [ "$(stat_of tasks_skipped)" -le 150 ] || complain $mode "skipped all the same"
            else
                [ "$(stat_of tasks_skipped)" -ge 250 ] && [ "$(stat_of tasks_executed_again)" -eq 0 ] ||
                    complain $mode "not skipped"
            fi
        done
    done
}

# Also where the kernel of such a task has submitted others, which the line then knows.
@test "codelets that can be skipped: killed under each protocol, right" {
    export D_SKIP=1 STARPU_TIC_EVERY=20
    for mode in readers statistics parents tokens; do
        resumes_always "$("$declares" $mode)" "$declares" $mode
    done
}

@test "what only tasks that can be skipped write beside their data is not looked at" {
    export STARPU_TIC_EVERY=20
    for mode in statistics chance; do
        expected=$("$declares" $mode)
        run_apart "$tool" run -- "$declares" $mode
        is_right "$expected" ""
        [ "$(grep -c "$wrote" err)" -eq 1 ] || complain $mode "not told of"
        crash task-end:450 "$declares" $mode
        run_apart "$tool" run -- "$declares" $mode
        [ "$status" -eq 78 ] || complain $mode "not refused"
        rm -r "$STARPU_TIC_DIR"
        D_SKIP=1 crash task-end:450 "$declares" $mode
        D_SKIP=1 run_apart "$tool" run -- "$declares" $mode
        is_right "$expected" yes || complain $mode wrong
        ! grep "$wrote" err || complain $mode "told of without reason"
    done
}

@test "where other tasks may have written, too, a restart is refused as before" {
    export D_SKIP=1 STARPU_TIC_EVERY=20
    crash task-end:450 "$declares" mixture
    [[ $output == *"$wrote"* ]]
    run_apart "$tool" run -- "$declares" mixture
    [ "$status" -eq 78 ] || complain mixture "not refused"
    grep -q 'tasks that are done have written memory that is not registered data' err
}

@test "pointers beside data without content end protection, but for tasks that can be skipped" {
    for skip in "" 1; do
        D_SKIP=$skip run_apart "$tool" run -- "$declares" tokens
        [ "$(grep -c 'count_at: it declares only data without content' err)" -eq $((1 - ${skip:-0})) ]
        [ "$(stat_of protected)" = "$([ -n "$skip" ] && echo true || echo false)" ]
    done
}

@test "check does not list tasks that can be skipped" {
    run_apart "$tool" check -- "$declares" readers
    grep -q '^  count ' out
    D_SKIP=1 run_apart "$tool" check -- "$declares" readers
    [ "$status" -eq 0 ]
    ! grep -q '  count' out
}

@test "tasks with effects are executed again, whatever STARPU_TIC_RERUN says" {
    export STARPU_TIC_EVERY=20
    expected=$("$declares" effects)
    cp effects effects.plain
    skipped=0
    for rerun in 1 0; do
        export STARPU_TIC_RERUN=$rerun
        for at in line-renamed:2 task-end:150 task-end:290; do
            resumes $at 3 "$expected" "$declares" effects
            cmp effects effects.plain || complain effects "not the same effects after $at"
        done
    done
    [ "$skipped" -gt 0 ]
}

# The history of the line has the tasks that are executed again, and what they read, or it has not.
@test "a start with another STARPU_TIC_RERUN than that of the line is refused" {
    export STARPU_TIC_EVERY=20 STARPU_TIC_POINTERS=trust # they count
    for rerun in 1 0; do
        STARPU_TIC_RERUN=$rerun crash line-renamed:2 "$declares" readers
        STARPU_TIC_RERUN=$((1 - rerun)) run_apart timeout "$hangs" "$tool" run -- "$declares" readers
        [ "$status" -eq 78 ] || complain readers "not refused"
        grep -q "are of a run with STARPU_TIC_RERUN=$rerun: start with that" err || complain readers "not named"
        STARPU_TIC_RERUN=$rerun run_apart "$tool" run -- "$declares" readers
        [ "$status" -eq 0 ] && [ "$(stat_of recovered)" = true ] || complain readers "not continued"
    done
}

# The line has what came of it later.
@test "a task with effects that writes data ends protection, and is named" {
    expected=$("$declares" effects-and-data)
    cp effects effects.plain
    run_apart "$tool" run -- "$declares" effects-and-data
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] && [ "$(stat_of protected)" = false ]
    cmp effects effects.plain
    grep -q 'protection ends here: step_and_tell: its codelet has effects beside data' err
    [ "$(stat_of tasks_executed)" -eq 0 ]
    run_apart "$tool" check -- "$declares" effects-and-data
    [ "$status" -eq 1 ]
    grep -q 'step_and_tell: its codelet has effects' out
}

@test "a task with a token that is executed again finds packed data as main() had made it" {
    export STARPU_TIC_EVERY=20
    expected=$("$declares" effects-packed)
    cp effects effects.plain
    skipped=0
    for verify in 2 0; do
        export STARPU_TIC_VERIFY=$verify
        for at in line-renamed:2 task-end:150; do
            resumes $at 2 "$expected" "$declares" effects-packed
            cmp effects effects.plain || complain effects-packed "it found something else after $at"
        done
    done
    [ "$skipped" -gt 0 ]
}

@test "a restart does not take a value that it has not restored for what a task reads" {
    export STARPU_TIC_EVERY=20
    expected=$("$declares" effects-packed-late)
    cp effects effects.plain
    crash task-end:150 "$declares" effects-packed-late
    D_LATE=1 STARPU_NCPU=1 crash task-end:70 "$declares" effects-packed-late
    run_apart timeout "$hangs" "$tool" run -- "$declares" effects-packed-late
    is_right "$expected" "" && [ "$(stat_of recovered)" = true ] || complain effects-packed-late wrong
    cmp effects effects.plain || complain effects-packed-late "it found something else"
}

# ---- excluded data ------------------------------------------------------------------------------

@test "no recovery line holds excluded data, and who makes it is executed again" {
    need_jq
    export STARPU_NCPU=1 STARPU_TIC_SCHED=eager STARPU_TIC_EVERY=50
    expected=$("$declares" excluded-once)
    for protocol in tic sel; do
        export STARPU_TIC_PROTOCOL=$protocol STARPU_TIC_VERIFY=$([ $protocol = tic ] && echo 2 || echo 0)
        rm -rf "$STARPU_TIC_DIR"
        D_INCLUDED=1 crash line-retired:2 "$declares" excluded-once
        with=$("$tool" info --json "$STARPU_TIC_DIR" | jq '.lines[0].bytes')
        rm -rf "$STARPU_TIC_DIR"
        crash line-retired:2 "$declares" excluded-once
        without=$("$tool" info --json "$STARPU_TIC_DIR" | jq '.lines[0].bytes')
        [ $((with - without)) -eq $((4 * 4096 * 4)) ] || complain excluded-once "$with, $without bytes"
        run_apart "$tool" run -- "$declares" excluded-once
        is_right "$expected" yes || complain excluded-once wrong
        [ "$(stat_of tasks_executed_again)" -eq 4 ] && [ "$(stat_of tasks_skipped)" -ge 96 ]
    done
}

@test "excluded data under a random mixture: killed under each protocol, right" {
    export STARPU_TIC_EVERY=13
    for seed in ${TIC_MIXTURES:-1}; do
        export D_SEED=$seed
        resumes_always "$("$declares" excluded)" "$declares" excluded
    done
    resumes_always "$("$declares" excluded-early)" "$declares" excluded-early
}

@test "excluded data: killed in restarts, and nothing of the content is lost" {
    export STARPU_TIC_EVERY=13
    for verify in 2 0; do
        export STARPU_TIC_VERIFY=$verify D_SEED=$((4 + verify / 2))
        expected=$("$declares" excluded)
        for points in "task-end:150 task-begin:30" "task-begin:250 task-end:3 task-end:70" \
            "line-renamed:4 replay-skip:1 replay-skip:20" "copy-on-write:4 line-written:1 task-begin:120"; do
            rm -rf "$STARPU_TIC_DIR"
            for point in $points; do # what ends before its point must be right, too
                STARPU_TIC_FAIL=$point run_apart timeout "$hangs" "$tool" run -- "$declares" excluded
                [ "$status" -eq 137 ] || is_right "$expected" "" || complain excluded "wrong before $point"
            done
            STARPU_NCPU=3 run_apart timeout "$hangs" "$tool" run -- "$declares" excluded
            is_right "$expected" "" || complain excluded "wrong after $points"
        done
    done
}

# Nobody else knows what it was.
@test "a task that makes other content of excluded data than it did stops the restart" {
    for protocol in tic sel; do
        export STARPU_TIC_EVERY=13 STARPU_TIC_PROTOCOL=$protocol
        export STARPU_TIC_VERIFY=$([ $protocol = tic ] && echo 2 || echo 0)
        expected=$("$declares" excluded-once)
        STARPU_NCPU=1 crash line-renamed:4 "$declares" excluded-once
        D_WRONG=1 run_apart "$tool" run -- "$declares" excluded-once
        [ "$status" -eq 70 ] || complain excluded-once "not stopped"
        grep -q 'task "generate" (submission 2), which is executed again, has written other content to data 7 ' err
        cp -r "$STARPU_TIC_DIR" kept
        D_WRONG=1 STARPU_TIC_INPUTS=ignore run_apart "$tool" run -- "$declares" excluded-once
        [ "$status" -eq 0 ] && [ "$(<out)" != "$expected" ] || complain excluded-once "not ignored"
        rm -rf "$STARPU_TIC_DIR"
        mv kept "$STARPU_TIC_DIR"
        run_apart "$tool" run -- "$declares" excluded-once
        is_right "$expected" yes || complain excluded-once wrong
    done
}

# Also what the restart has executed for the first time, or again.
@test "what a restart has made of excluded data is compared in the next one" {
    export STARPU_TIC_EVERY=13 D_SEED=2
    expected=$("$declares" excluded)
    crash line-renamed:1 "$declares" excluded
    crash task-end:100 "$declares" excluded
    # A line of this run would hold what it has made.
    STARPU_TIC_EVERY=1000000 D_WRONG=1 run_apart "$tool" run -- "$declares" excluded
    [ "$status" -eq 70 ] || complain excluded "not stopped"
    run_apart "$tool" run -- "$declares" excluded
    is_right "$expected" yes || complain excluded wrong
}

@test "starpu-tic check tells of a kernel that makes other content of excluded data" {
    run "$tool" check "$declares" excluded-once
    [ "$status" -eq 0 ]
    run env D_CHANCE=1 "$tool" check "$declares" excluded-once
    [ "$status" -eq 1 ]
    [[ $output == *"the task of submission 2 (counted from 0) writes other content into data that no recovery line holds"* ]]
}

@test "protection ends in a restart before data is excluded again: the result is right" {
    export STARPU_TIC_EVERY=13
    expected=$("$declares" excluded-in-turn)
    crash task-begin:150 "$declares" excluded-in-turn
    D_END=1 run_apart "$tool" run -- "$declares" excluded-in-turn
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain excluded-in-turn wrong
    [ "$(stat_of recovered)" = true ] && [ "$(stat_of protected)" = false ]
}

@test "excluded data that is packed, excluded late, or in turn; kernels that fail: right" {
    export STARPU_TIC_EVERY=13
    for mode in packed late in-turn fails; do
        resumes_always "$("$declares" excluded-$mode)" "$declares" excluded-$mode
    done
}

# The first line holds what main() has put there, as it was not excluded yet.
@test "data that is excluded after a line has it" {
    need_jq
    export STARPU_TIC_EVERY=13
    expected=$("$declares" excluded-late)
    crash line-renamed:1 "$declares" excluded-late
    "$tool" extract --json "$STARPU_TIC_DIR" | jq -e '[.data[] | select(.data == 5)] | length == 1'
    crash task-end:350 "$declares" excluded-late
    "$tool" extract --json "$STARPU_TIC_DIR" | jq -e '[.data[] | select(.data == 5)] | length == 0'
    run_apart "$tool" run -- "$declares" excluded-late
    is_right "$expected" yes || complain excluded-late wrong
}

# Else the content would be that of the program's start.
@test "who makes excluded data is executed again, whatever STARPU_TIC_RERUN says" {
    export STARPU_TIC_EVERY=13 STARPU_TIC_RERUN=0
    resumes_always "$("$declares" excluded)" "$declares" excluded
}

@test "a restart that excludes other data is stopped" {
    export STARPU_TIC_EVERY=13
    expected=$("$declares" excluded)
    crash line-renamed:3 "$declares" excluded
    for other in D_FEWER D_INCLUDED; do
        run_apart env $other=1 "$tool" run -- "$declares" excluded
        [ "$status" -eq 70 ] || complain excluded "not stopped"
        grep -q 'the replay differs from the recorded run' err
    done
    rm -rf "$STARPU_TIC_DIR"
    D_INCLUDED=1 crash line-renamed:3 "$declares" excluded
    run_apart "$tool" run -- "$declares" excluded
    [ "$status" -eq 70 ] || complain excluded "not stopped"
    grep -q 'the program excludes data 5 .*, and did not when tasks wrote it' err
    D_INCLUDED=1 run_apart "$tool" run -- "$declares" excluded
    is_right "$expected" yes || complain excluded wrong
}

# The line has neither that content nor what came of it.
@test "a restart in which excluded data begins with other content is refused" {
    export STARPU_TIC_EVERY=13
    expected=$("$declares" excluded)
    crash line-renamed:3 "$declares" excluded
    D_CONTENT=1 run_apart "$tool" run -- "$declares" excluded
    [ "$status" -eq 78 ] || complain excluded "not refused"
    grep -q 'the input of this run differs: handle 5' err
    run_apart "$tool" run -- "$declares" excluded
    is_right "$expected" yes || complain excluded wrong
}

@test "what excluded data cannot be used for ends protection, by name" {
    while IFS='|' read -r mode message; do
        expected=$("$declares" excluded-$mode)
        run_apart timeout "$hangs" "$tool" run -- "$declares" excluded-$mode
        [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] && [ "$(stat_of protected)" = false ] &&
            [ "$(grep -c 'protection ends here' err)" -eq 1 ] && grep -q "protection ends here: $message" err ||
            complain excluded-$mode "not refused as it should be"
        STARPU_TIC_EVERY=13 crash task-end:50 "$declares" excluded-$mode
        run_apart timeout "$hangs" "$tool" run -- "$declares" excluded-$mode
        case $status in
        0) [ "$(<out)" = "$expected" ] || complain excluded-$mode wrong ;;
        70 | 78) rm -rf "$STARPU_TIC_DIR" ;;
        *) complain excluded-$mode "neither right nor stopped" ;;
        esac
    done <<EOF
both|both: it uses data 5 .*, and writes it beside other data
commute|commute: it uses data 5 .*, and its accesses commute
kernel|look: it uses data 5 .*, and a task, a callback or another thread submits it
order|change: it uses data 5 .*, and StarPU does not order it by that data
inputs|derive: it uses data 5 .*, and writes it, and StarPU does not order it by other data that it reads
redux|contribute: it uses data 5 .*, and writes it beside other data
reduced|contribute: reductions (STARPU_REDUX) of data that no recovery line holds
callback|starpu_data_acquire_cb: accesses with a callback to data that no recovery line holds
plan|starpu_data_partition_plan: planned partitions of data that no recovery line holds
twice|starpu_data_register: memory of data that no recovery line holds
EOF
}

@test "starpu_tic_data_exclude: what cannot be excluded is answered" {
    run_apart "$tool" run -- "$declares" excluded-status
    [ "$status" -eq 0 ]
    grep ': -\?[0-9]*$' err >answers
    cat answers
    diff - answers <<END
none: -22
without content: -22
registered twice: -95
another thread: -1
reduced: -95
excluded: 0
again: 0
a part of it: 0
a part: -95
used: -16
END
    export STARPU_DISK_SWAP=$PWD STARPU_DISK_SWAP_BACKEND=unistd STARPU_DISK_SWAP_SIZE=64
    D_INCLUDED=1 run_apart "$tool" run -- "$declares" excluded-once
    [ "$status" -eq 0 ] || complain excluded-once "fails with a disk"
    run_apart "$tool" run -- "$declares" excluded-once # it exits where data cannot be excluded
    [ "$status" -eq 1 ] || complain excluded-once "excluded with a disk"
}

@test "no line is taken at commit points while data is excluded" {
    export STARPU_TIC_EVERY=20
    expected=$("$declares" excluded-points)
    run_apart "$tool" run -- "$declares" excluded-points
    is_right "$expected" ""
    grep -q 'no recovery line is taken at commit point .*data is registered that no recovery line holds' err
}
