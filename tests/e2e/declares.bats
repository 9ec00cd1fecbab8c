#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks what a program declares by starpu_tic.h: names of data, codelets that can be skipped or have
# effects.
load common

declares=$lib/declares

# ---- names --------------------------------------------------------------------------------------

# A store of the mode, with two recovery lines.
make_named() {
    STARPU_NCPU=1 STARPU_TIC_SCHED=eager STARPU_TIC_EVERY=20 crash line-retired:2 "$declares" names
}

@test "names of data are in the store, and all who show data show them" {
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
    expected=$("$declares" names)
    make_named
    D_OTHER=1 STARPU_TIC_EVERY=20 crash line-retired:2 "$declares" names
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

@test "a task with effects that writes data ends protection, and is named" {
    expected=$("$declares" effects-and-data)
    cp effects effects.plain
    run_apart "$tool" run -- "$declares" effects-and-data
    [ "$status" -eq 0 ] && [ "$(cat out)" = "$expected" ] && [ "$(stat_of protected)" = false ]
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
    run_apart timeout 60 "$tool" run -- "$declares" effects-packed-late
    is_right "$expected" "" && [ "$(stat_of recovered)" = true ] || complain effects-packed-late wrong
    cmp effects effects.plain || complain effects-packed-late "it found something else"
}
