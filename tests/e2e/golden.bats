#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that stores which earlier versions wrote (tests/golden) are read, verified and continued as
# FORMAT.md promises, and that what cannot be continued is refused and left as it is.
load common
bats_require_minimum_version 1.5.0
golden=$TIC_BUILD/tests/golden/golden

# unpack VERSION/NAME: as $STARPU_TIC_DIR
unpack() {
    rm -rf "$STARPU_TIC_DIR"
    tar -xzf "$BATS_TEST_DIRNAME/../golden/$1.tar.gz" # holds `store`
    chmod 700 "$STARPU_TIC_DIR"
}

need_same_machine() { # a restart needs the StarPU and the byte order of the run
    grep -q '^#define PACKAGE_STARPU_VERSION "1.3"' "$TIC_BUILD/config.h" ||
        skip "the stores were written with StarPU 1.3"
    [ "$(printf '\1\0' | od -An -tu2 | tr -d ' ')" = 1 ] || skip "little-endian stores"
}

# continues STORE SKIPPED SCENARIO LENGTH: the restart prints what a run without protection prints,
# and skips so many tasks at least
continues() {
    need_same_machine
    unpack "$1"
    run_apart "$tool" run -- "$golden" "$3" "$4"
    [ "$status" -eq 0 ] || complain continues "it failed"
    LD_PRELOAD=$fixed_time "$golden" "$3" "$4" >plain
    cmp out plain
    [ "$(stat_of recovered)" = true ]
    [ "$(stat_of tasks_skipped)" -ge "$2" ]
    [ ! -e "$STARPU_TIC_DIR" ]
}

# is_refused STATUS WORDS COMMAND...: with this message, and the store stays as it is
is_refused() {
    local expected=$1 words=$2
    shift 2
    cp -a "$STARPU_TIC_DIR" before
    run --separate-stderr "$@"
    [ "$status" -eq "$expected" ]
    [[ $stderr == *"$words"* ]]
    diff -r -x p0.lock before "$STARPU_TIC_DIR"
    rm -r before
}

@test "info, verify, log and graph read every golden store, of all versions" {
    for file in "$BATS_TEST_DIRNAME"/../golden/*/*.tar.gz; do
        name=${file%.tar.gz}
        unpack "$(basename "$(dirname "$file")")/${name##*/}"
        cp -a "$STARPU_TIC_DIR" before
        "$tool" info --json "$STARPU_TIC_DIR" >info.json
        jq -e '(.lines | length) >= 1 and all(.lines[]; .good)' info.json
        "$tool" verify "$STARPU_TIC_DIR"
        "$tool" log "$STARPU_TIC_DIR" >log
        [ -s log ]
        if [[ $name == *sel ]]; then # others log no tasks to draw
            "$tool" graph "$STARPU_TIC_DIR" -o graph.dot
            grep -q '^digraph' graph.dot
        fi
        diff -r -x p0.lock before "$STARPU_TIC_DIR"
        rm -r before
    done
}

@test "0.1: a store of tic is continued, with what main() and tasks read, time() and a reduction" {
    continues 0.1/tic 118 flow 16
}

@test "0.1: a store of sel is continued by the results of its event log" {
    export STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0
    continues 0.1/sel 0 flow 16
    [ "$(stat_of forced_used)" -ge 200 ]
}

@test "0.1: a store with compressed values is continued" {
    continues 0.1/compressed 118 flow 2048
}

@test "0.1: a store with tasks that kernels and callbacks have submitted is continued" {
    continues 0.1/tree 80 tree 16
    STARPU_TIC_UNUSED=leave continues 0.1/tree 80 tree 16 # what only kernels of skipped tasks have written is used
}

@test "0.1: tasks of kernels of another build, which exports no symbols, are refused" {
    need_same_machine
    unpack 0.1/build
    is_refused 78 "is not in this process. Start the same build of the program" \
        "$tool" run -- "$golden" tree 16
}

@test "0.1: other arguments than those of the store are refused" {
    need_same_machine
    unpack 0.1/tic
    is_refused 78 "the arguments are" "$tool" run -- "$golden" flow 17
}

@test "0.1: where the newest line is damaged, the older one is continued" {
    need_same_machine
    unpack 0.1/tic
    flip_at p0-line-00000002.h5 5000
    run "$tool" verify "$STARPU_TIC_DIR"
    [ "$status" -eq 1 ]
    run --separate-stderr "$tool" run -- "$golden" flow 16
    [ "$status" -eq 0 ]
    [[ $stderr == *"p0-line-00000002.h5 is not used: damaged"* ]]
    [ "$output" = "$(LD_PRELOAD=$fixed_time "$golden" flow 16)" ]
    [ "$(stat_of tasks_skipped)" -eq 59 ]
}

@test "of the same major format a higher minor number is read" {
    need_same_machine
    unpack 0.1/tic
    sed -i '2s/^format \([0-9]*\)\..*/format \1.9/' "$STARPU_TIC_DIR"/*.h5
    "$tool" verify "$STARPU_TIC_DIR"
    "$tool" run -- "$golden" flow 16 >out
    LD_PRELOAD=$fixed_time "$golden" flow 16 | cmp - out
    [ "$(stat_of tasks_skipped)" -eq 118 ]
}

@test "another major format is refused by the restart, and told by info and verify" {
    local words="written by another version of starpu-tic, in a format that this one does not read"
    for major in 4 99; do # those before 5 were never released
        unpack 0.1/tic
        sed -i "2s/^format .*/format $major.0/" "$STARPU_TIC_DIR"/*.h5
        is_refused 78 "$words" "$tool" run -- "$golden" flow 16
        run "$tool" info "$STARPU_TIC_DIR"
        [ "$status" -eq 1 ]
        [[ $output == *"$words"* ]]
        run "$tool" verify "$STARPU_TIC_DIR"
        [ "$status" -eq 3 ]
        [[ $output == *"$words"* ]]
    done
}
