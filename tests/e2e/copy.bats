#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks copies of recovery lines in a second directory: what a restart takes, and that nothing that
# happens there is the run's problem.
load common

sync=commit # as it is by default

setup_file() {
    export STARPU_TIC_EVERY=20 P_TASKS=3000 P_QUIET=1
}

prepare() { # a run that has copied three lines, and was killed
    export STARPU_TIC_COPY=$PWD/copy
    expected=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$program")
    crash line-copied:3 "$program"
}

newest() { # number of the newest line in a directory
    find "$1" -name 'p0-line-*.h5' -printf '%f\n' | sort | tail -1 | tr -dc '0-9' | sed 's/^00*//; s/5$//'
}

resume() {
    run_apart "$tool" run -- "$program"
    is_right "$expected" lines || complain "$program" "wrong after a restart from a copy"
    [ ! -e "$STARPU_TIC_DIR" ] && [ ! -e copy ]
}

@test "the directory is lost: a restart continues from the copy, and success removes both" {
    prepare
    [ -e copy/a ] && [ -e copy/b ]
    rm -r "$STARPU_TIC_DIR"
    resume
    grep -q "recovery line [0-9]* is copied from $PWD/copy to $STARPU_TIC_DIR" err
    [ "$(stat_of tasks_skipped)" -gt 20 ]
}

# By the period alone: there are many tasks, as three copies may take long on a busy disk.
@test "under sel, too, there are lines to copy" {
    unset STARPU_TIC_EVERY
    export STARPU_TIC_PROTOCOL=sel STARPU_TIC_PERIOD=0.02 STARPU_TIC_SYNC=never P_TASKS=300000
    prepare
    rm -r "$STARPU_TIC_DIR"
    resume
    [ "$(stat_of tasks_skipped)" -gt 20 ]
}

@test "a copy is a store of its own: info, verify, and modes as anywhere" {
    prepare
    run "$tool" verify copy
    [ "$status" -eq 0 ]
    [[ $output == *"copy copy/a:"*"good:"*"copy copy/b:"*"good:"* ]]
    run "$tool" info --json copy
    [ "$status" -eq 0 ]
    [ "$(jq -r '.lines[].file' <<<"$output" | grep -c '^[ab]/p0-line-')" -eq 2 ]
    [ "$(find copy -type d -printf '%m\n' | sort -u)" = 700 ]
    [ "$(find copy -type f ! -name '*-line-*' -printf '%m\n' | sort -u)" = 600 ]
    [ "$(find copy -type f -name '*-line-*' -printf '%m\n' | sort -u)" = 400 ]
    STARPU_TIC_DIR=$PWD/copy/a run "$tool" verify copy/a
    [ "$status" -eq 0 ]
}

@test "the newest good line of both is taken: here the copy's, there the directory's own" {
    prepare
    for segment in "$STARPU_TIC_DIR"/p0-segment-*.h5; do
        truncate -s 9000 "$segment"
    done
    resume
    grep -q "is copied from" err
    prepare
    [ "$(newest "$STARPU_TIC_DIR")" -ge "$(newest copy)" ]
    for segment in copy/*/p0-segment-*.h5; do
        truncate -s 9000 "$segment"
    done
    resume
    ! grep -q "is copied from" err || false
}

@test "killed anywhere while lines are copied: without the directory, the copy is good or not begun" {
    export STARPU_TIC_COPY=$PWD/copy
    expected=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$program")
    recovered=0
    for point in line-copied:1 line-copied:2 task-end:500 task-end:2900 \
        $(is_soak && echo task-end:200 task-end:900 task-end:1600); do
        rm -rf "$STARPU_TIC_DIR" copy
        crash "$point" "$program"
        rm -rf "$STARPU_TIC_DIR"
        held=$(find copy -name '*-line-*.h5')
        STARPU_NCPU=1 run_apart "$tool" run -- "$program"
        is_right "$expected" "$held" || complain "$program" "wrong after $point"
        [ -z "$held" ] || recovered=$((recovered + 1))
    done
    [ "$recovered" -ge 2 ]
}

@test "a copy that cannot be written: told once, counted, and the run is right" {
    expected=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$program")
    touch file
    STARPU_TIC_COPY=$PWD/file run_apart "$tool" run -- "$program"
    is_right "$expected" ""
    [ "$(grep -c "cannot copy recovery lines to $PWD/file: " err)" -eq 1 ]
    [ "$(stat_of copies_failed)" -ge 1 ]
    [ "$(stat_of copies)" -eq 0 ]
    [ "$(stat_of suspensions)" -eq 0 ]
}

@test "a file system that never answers: the run is right, and ends" {
    expected=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$program")
    export STARPU_TIC_COPY=$PWD/copy
    LD_PRELOAD=$TIC_BUILD/.libs/hang.so:$calm TIC_HANG=$PWD/copy run_apart "$tool" run -- "$program"
    is_right "$expected" ""
    [ "$(stat_of copies)" -eq 0 ]
    [ "$(stat_of checkpoints)" -gt 3 ]
    grep -q "$PWD/copy does not answer" err
}

@test "copies of another run are neither used nor overwritten" {
    prepare
    before=$(find copy -type f -exec sha256sum {} + | sort)
    STARPU_TIC_DIR=$PWD/other run "$tool" run -- "$program" other
    [ "$status" -eq 78 ]
    [[ $output == *"copy holds the recovery lines of another run"* ]]
    [ "$(find copy -type f -exec sha256sum {} + | sort)" = "$before" ]
    chmod 777 copy/a copy/b
    rm -r "$STARPU_TIC_DIR"
    run "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(stat_of recovered)" = false ]
}
