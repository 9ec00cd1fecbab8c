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
        [[ $name == */s390x || -s log ]] # records of the other byte order are not read
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
    /usr/bin/python3 - "$STARPU_TIC_DIR"/*.h5 <<'END'
import re, sys
for path in sys.argv[1:]:
    with open(path, "r+b") as file:
        content = file.read()
        later, count = re.subn(rb"\Astarpu-tic [^\n]*\nformat 5\.\d\n", lambda found: found.group()[:-2] + b"99\n", content)
        later = later.replace(b"\n\n", b"\n", 1) # the header is padded
        assert count == 1 and len(later) == len(content)
        file.seek(0)
        file.write(later)
END
    [ "$(head -2 "$STARPU_TIC_DIR/p0-line-00000002.h5" | tail -1)" = "format 5.99" ]
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

# kinds_of_history FILE: of its entries, a line each
kinds_of_history() {
    h5dump -y -d /history "$1" | awk '/^ *[0-9]+,?$/ && ++numbers % 6 == 4 { print $1 + 0 }'
}

# Killed once more, the run has of a history who began, and says so: a part of one would be redone as if all of it.
@test "5.10: stores without a history are continued, killed, and continued" {
    need_same_machine
    export STARPU_TIC_PROGRAM=any STARPU_TIC_EVERY=30
    for name in tic tree; do
        scenario=${name/tic/flow}
        continues "0.2/$name" 80 "$scenario" 16
        unpack "0.2/$name"
        ! h5dump -n "$STARPU_TIC_DIR"/p0-line-*2.h5 | grep -q /history
        crash line-retired:1 "$golden" "$scenario" 16
        "$tool" verify "$STARPU_TIC_DIR"
        newest=$(ls "$STARPU_TIC_DIR"/p0-line-*.h5 | tail -1)
        h5dump -a without_history "$newest" | grep -q "(0): 1"
        [ -z "$(h5dump -n "$newest" | grep -E '/(callbacks|ran)$')" ]
        [ "$(kinds_of_history "$newest" | sort -u)" = 1 ]
        run_apart "$tool" run -- "$golden" "$scenario" 16
        [ "$status" -eq 0 ] && [ "$(stat_of recovered)" = true ]
        LD_PRELOAD=$fixed_time "$golden" "$scenario" 16 | cmp out -
    done
}

@test "0.2, VERIFY=0: a store is continued, and continued again when that is killed while main() catches up" {
    need_same_machine
    export STARPU_TIC_PROGRAM=any STARPU_TIC_VERIFY=0 STARPU_TIC_EVERY=3
    for at in 3 20 30; do
        unpack 0.2/tree-unverified
        crash task-end:$at "$golden" tree 16
        run_apart "$tool" run -- "$golden" tree 16
        [ "$status" -eq 0 ] && [ "$(stat_of recovered)" = true ]
        LD_PRELOAD=$fixed_time "$golden" tree 16 | cmp out -
    done
}

@test "0.2, VERIFY=0: a store of a program whose tasks read and write no data is refused" {
    need_same_machine
    export STARPU_TIC_PROGRAM=any STARPU_TIC_VERIFY=0
    unpack 0.2/unverified
    run --separate-stderr "$tool" run -- "$golden" flow 16
    [ "$status" -eq 78 ]
    [[ $stderr == *'task "look" writes no data, but reads'* ]]
    "$tool" verify "$STARPU_TIC_DIR"
}

@test "what actors of a run observed is in its history, as it is in its tables" {
    need_h5py
    for scenario in flow tree; do
        rm -rf "$STARPU_TIC_DIR"
        STARPU_TIC_EVERY=40 crash line-renamed:2 "$golden" "$scenario" 16
        "$tool" verify "$STARPU_TIC_DIR"
        /usr/bin/python3 - "$STARPU_TIC_DIR"/p0-line-*2.h5 <<'END'
import h5py, sys
for path in sys.argv[1:]:
    with h5py.File(path, "r") as file:
        history = file["/history"][()]
        table = lambda name: len(file[name])
        count = lambda kind, *roles: sum(entry["kind"] == kind and entry["role"] in roles for entry in history)
        assert len(file["/blocks"]) == 0
        assert 0 < count(1, 1) + count(1, 2) and not {"callbacks", "ran"} & set(file)
        assert count(2, 1) <= count(1, 1) and count(2, 2) <= count(1, 2)
        assert count(3, 0) + count(8, 0) == table("/acquires") and count(3, 1, 2) == table("/reads")
        assert count(7, 0) == table("/inputs")
END
    done
}

# From here on: stores of each architecture, which this one must read and continue; all pairs are what
# tests/platforms/matrix goes through.
elements=$TIC_BUILD/tests/golden/elements

# resumes ARCH [SETTING...]: what it prints is in $output
resumes() {
    unpack "machines/$1"
    shift
    run --separate-stderr env "$@" "$tool" run -- "$elements" flow
}

@test "stores of amd64, i386 and arm64 are continued without a type" {
    need_same_machine
    "$elements" flow >plain
    for arch in amd64 i386 arm64; do
        resumes $arch ELEMENTS_UNTYPED=1 STARPU_TIC_PROGRAM=any
        [ "$status" -eq 0 ]
        [ "$output" = "$(<plain)" ]
        [ "$(stat_of tasks_skipped)" -gt 100 ]
    done
    if [ "$(uname -m)" = x86_64 ]; then # builds for two architectures cannot be the same
        resumes arm64
        [ "$status" -eq 0 ]
        resumes amd64
        [ "$status" -eq 78 ]
        [[ $stderr == *"the program was built anew"* ]]
    fi
}

@test "a store of the other byte order is continued by the types that it holds" {
    need_same_machine
    "$elements" flow >plain
    resumes s390x
    [ "$status" -eq 0 ]
    [ "$output" = "$(<plain)" ]
    [ "$(stat_of tasks_skipped)" -gt 100 ]
    resumes s390x ELEMENTS_UNTYPED=1
    [ "$status" -eq 0 ]
    [ "$output" = "$(<plain)" ]
    [[ $stderr == *"was written on s390x, and is converted"* ]]
}

@test "a store of the other byte order is converted once, and killed meanwhile it is as before" {
    need_same_machine
    "$elements" flow >plain
    for failpoint in segment-format:1 row-write:5 line-written:1 line-renamed:1; do
        unpack machines/s390x
        run env STARPU_TIC_FAIL=$failpoint "$tool" run -- "$elements" flow
        [ "$status" -eq 137 ]
        "$tool" run -- "$elements" flow >out 2>err
        cmp out plain
        [ "$(stat_of tasks_skipped)" -gt 100 ]
    done
    run ! grep -q "were converted" err # the last kill came after that
}

@test "a store of the other byte order without types is refused, and continued by STARPU_TIC_TYPES" {
    need_same_machine
    LD_PRELOAD='' "$elements" flow >plain
    unpack machines/s390x-untyped
    is_refused 78 "nobody has declared the type of the elements" "$tool" run -- "$elements" flow
    local types="1=int8;2=int16;4=int32;8=double;12=int32,2*float;#9=33*uint32,24*double"
    types+=";#10=33*uint32,96*float" # CSR and BCSR as they are packed: indices, then values
    STARPU_TIC_TYPES="1=int8;2=int16;4=int32;12=int32,2*float" \
        is_refused 78 "of 8 bytes of data" "$tool" run -- "$elements" flow
    run --separate-stderr env STARPU_TIC_TYPES="$types" "$tool" run -- "$elements" flow
    [ "$status" -eq 0 ]
    [ "$output" = "$(<plain)" ]
    [ "$(stat_of tasks_skipped)" -gt 100 ]
    # What is declared decides: with other types the result is another one.
    unpack machines/s390x-untyped
    run --separate-stderr env STARPU_TIC_INPUTS=ignore STARPU_TIC_TYPES="${types/8=double/8=2*float}" \
        "$tool" run -- "$elements" flow
    [ "$output" != "$(<plain)" ]
}
