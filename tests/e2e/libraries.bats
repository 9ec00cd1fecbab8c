#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that a run goes on with the builds of the program and of its libraries that it began with,
# and with no others; and what is said of programs that cannot be reached, and of several processes.
load common

libraries=$lib/libraries

build_of() { # NAME: another file, as builds make it
    cp "$TIC_BUILD/.libs/$1.so" new.so
    mv new.so libk.so
}
killed_with() { # MODE BUILD [COMMAND...]: expected is what it prints
    local mode=$1 build=$2
    shift 2
    rm -rf "$STARPU_TIC_DIR"
    build_of "$build"
    expected=$("$@" "$libraries" "$mode" ./libk.so)
    build_of "$build"
    STARPU_NCPU=1 STARPU_TIC_EVERY=7 STARPU_TIC_FAIL=line-renamed:5 run_apart "$@" "$tool" run -- "$libraries" "$mode" ./libk.so
    [ "$status" -eq 137 ] && says_nothing || complain "$mode $build" "not killed, or messages"
}
# A run with one build is killed. The other one is refused by its name, and with the first one it
# goes on: another_is_refused MODE BUILD OTHER [COMMAND...]
another_is_refused() {
    local mode=$1 build=$2 other=$3
    shift 3
    killed_with "$mode" "$build" "$@"
    build_of "$other"
    run_apart timeout "$hangs" "$@" "$tool" run -- "$libraries" "$mode" ./libk.so
    [ "$status" -eq 78 ] && grep -q 'the library libk.so, .*, is another build than it was' err ||
        complain "$mode $build" "another build is not refused"
    build_of "$build"
    run_apart timeout "$hangs" "$@" "$tool" run -- "$libraries" "$mode" ./libk.so
    is_right "$expected" lines || complain "$mode $build" "wrong with the same build"
}

@test "a library with kernels is built anew: refused by its name, however it is loaded" {
    for mode in opened late again; do
        another_is_refused $mode library3 library5
    done
    another_is_refused loaded library3 library5 env LD_PRELOAD="$PWD/libk.so"
}

@test "a library that submits the tasks is built anew: refused by its name" {
    another_is_refused driver driver3 driver5
}

@test "a library without a build ID: its content counts, also that of its data" {
    another_is_refused opened nameless3 nameless5
}

@test "a library that is removed or replaced while the program runs: its build ID is known, without one it is told" {
    local way
    for way in 'mv libk.so away.so' "cp '$TIC_BUILD/.libs/nameless5.so' new.so && mv new.so libk.so"; do
        echo "$way" >after.sh
        AFTER=after.sh another_is_refused opened library3 library5
        build_of nameless3
        rm -rf "$STARPU_TIC_DIR"
        AFTER=after.sh STARPU_NCPU=1 STARPU_TIC_EVERY=7 STARPU_TIC_FAIL=line-renamed:5 run_apart "$tool" run -- "$libraries" opened ./libk.so
        [ "$status" -eq 137 ] && [ "$(grep -c 'libk.so has no build ID, and its file' err)" -eq 1 ] ||
            complain "$way" "not killed, or not told"
        for build in nameless3 nameless5; do
            build_of $build
            run_apart timeout "$hangs" "$tool" run -- "$libraries" opened ./libk.so
            [ "$status" -eq 78 ] && grep -q 'the library libk.so' err || complain "$way" "an unknown build is not refused"
        done
    done
}

@test "STARPU_TIC_PROGRAM=any: another build of a library does not matter" {
    killed_with opened library3
    build_of library5
    STARPU_TIC_PROGRAM=any run_apart timeout "$hangs" "$tool" run -- "$libraries" opened ./libk.so
    [ "$status" -eq 0 ] && [ "$(stat_of recovered)" = true ] || complain opened "the user's word does not count"
}

@test "LD_LIBRARY_PATH leads to another build of a library: refused by its name" {
    mkdir one two
    cp "$TIC_BUILD/.libs/library3.so" one/libk.so
    cp "$TIC_BUILD/.libs/library5.so" two/libk.so
    STARPU_NCPU=1 STARPU_TIC_EVERY=7 STARPU_TIC_FAIL=line-renamed:5 LD_LIBRARY_PATH=$PWD/one run_apart "$tool" run -- "$libraries" opened libk.so
    [ "$status" -eq 137 ]
    LD_LIBRARY_PATH=$PWD/two run_apart timeout "$hangs" "$tool" run -- "$libraries" opened libk.so
    [ "$status" -eq 78 ] && grep -q 'the library libk.so' err || complain two "not refused"
    mv one three
    expected=$(LD_LIBRARY_PATH=$PWD/three "$libraries" opened libk.so)
    LD_LIBRARY_PATH=$PWD/three run_apart timeout "$hangs" "$tool" run -- "$libraries" opened libk.so
    is_right "$expected" lines || complain three "wrong in another folder"
}

@test "a kernel that is in no file that can be found: one message, and the result is right" {
    build_of library3
    expected=$("$libraries" apart ./libk.so)
    run_apart timeout "$hangs" "$tool" run -- "$libraries" apart ./libk.so
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain apart "wrong"
    [ "$(grep -c 'a function of task "others" is in no file' err)" -eq 1 ] || complain apart "says nothing, or more"
}

@test "the program's file is removed, replaced or moved before StarPU starts: the same build goes on" {
    local way
    build_of library3
    expected=$("$libraries" opened ./libk.so)
    for way in 'rm folder/prog' "cp '$lib/identity' folder/new && mv folder/new folder/prog" 'mv folder moved'; do
        rm -rf "$STARPU_TIC_DIR" folder moved
        mkdir folder
        cp "$libraries" folder/prog
        echo "$way" >before.sh
        BEFORE=before.sh STARPU_NCPU=1 STARPU_TIC_EVERY=7 STARPU_TIC_FAIL=line-renamed:5 run_apart "$tool" run -- folder/prog opened ./libk.so
        [ "$status" -eq 137 ] && says_nothing || complain "$way" "not killed, or messages"
        rm -rf folder
        mkdir folder
        cp "$libraries" folder/prog
        run_apart timeout "$hangs" "$tool" run -- folder/prog opened ./libk.so
        is_right "$expected" lines || complain "$way" "the same build is refused"
    done
}

@test "a program that is called \"x (deleted)\" keeps its name, and a symbolic link to it is the same program" {
    cp "$libraries" 'x (deleted)'
    ln -s 'x (deleted)' link
    build_of library3
    expected=$(./link opened ./libk.so)
    STARPU_NCPU=1 STARPU_TIC_EVERY=7 STARPU_TIC_FAIL=line-renamed:5 run_apart "$tool" run -- ./link opened ./libk.so
    [ "$status" -eq 137 ]
    "$tool" info "$STARPU_TIC_DIR" | grep -q 'x (deleted)'
    run_apart timeout "$hangs" "$tool" run -- './x (deleted)' opened ./libk.so
    is_right "$expected" lines || complain x "refused by its own name"
}

@test "StarPU-MPI is asked whether there are several processes, where the launcher does not tell" {
    local from
    build_of library3
    expected=$("$libraries" opened ./libk.so)
    export LD_PRELOAD=$TIC_BUILD/.libs/ranks.so STARPU_TIC_EVERY=7
    RANKS=1 run_apart timeout "$hangs" "$tool" run -- "$libraries" opened ./libk.so
    is_right "$expected" "" && says_nothing || complain ranks "one process is not protected"
    for from in 1 30; do # MPI starts before the first task, or later
        RANKS=2 RANKS_FROM=$from run_apart timeout "$hangs" "$tool" run -- "$libraries" opened ./libk.so
        [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] && [ "$(stat_of protected)" = false ] || complain ranks "protected"
        [ "$(grep -c 'several MPI ranks need STARPU_TIC_RANKS=try (starpu-tic explain mpi)' err)" -eq 1 ] || complain ranks "says nothing"
    done
}

@test "run says of programs that nothing can be preloaded into that they are not protected" {
    local kind said
    printf 'int main(void) { return 0; }\n' >main.c
    cc -static -o static main.c 2>/dev/null || skip "no static libc"
    cp "$libraries" rights
    chmod u+s rights
    [ "$(id -u)" -ne 0 ] || chown nobody rights && chmod u+s rights
    cp "$libraries" other
    printf '\x08\x00' | dd of=other bs=1 seek=18 conv=notrunc 2>/dev/null
    printf '#!/bin/sh\nexit 0\n' >script
    chmod +x script
    for kind in static rights other; do
        case $kind in static) said='is statically linked' ;; rights) said='set-user-ID' ;; *) said='another architecture' ;; esac
        [ $kind != rights ] || [ "$(id -u)" -eq 0 ] || continue
        run_apart timeout "$hangs" "$tool" run -- ./$kind
        [ "$(grep -c "^starpu-tic: ./$kind .*$said.*: StarPU in it is not protected" err)" -eq 1 ] || complain $kind "not told"
    done
    for kind in ./script true "sh -c true"; do
        run_apart timeout "$hangs" "$tool" run -- $kind
        [ "$status" -eq 0 ] && [ ! -s err ] || complain "$kind" "a false alarm"
    done
}

@test "check and rehearse of several MPI processes answer in one line" {
    local command
    for command in check rehearse; do
        run_apart timeout "$hangs" "$tool" $command -- mpirun -np 2 "$libraries" opened ./libk.so
        [ "$status" -eq 3 ] && [ "$(cat out err | wc -l)" -eq 1 ] && grep -q "$command tells of one process" err || complain $command "says more, or nothing"
        PMI_SIZE=2 PMI_RANK=0 run_apart timeout "$hangs" "$tool" $command -- "$libraries" opened ./libk.so
        [ "$status" -eq 3 ] && [ "$(cat out err | wc -l)" -eq 1 ] || complain $command "looks at one of several"
        PMI_SIZE=2 PMI_RANK=1 run_apart timeout "$hangs" "$tool" $command -- "$libraries" opened ./libk.so
        [ "$status" -eq 3 ] && [ "$(cat out err | wc -l)" -eq 0 ] || complain $command "says it on each rank"
    done
}

@test "programs of AddressSanitizer, whose library has to come first, are killed and resumed" {
    local flags starpu
    starpu=$(ldd "$libraries" | sed -n 's/.*lib\(starpu-[0-9.]*\)\.so.* => .*/\1/p')
    eval "flags=($(pkg-config --cflags --libs "$starpu"))"
    cc -fsanitize=address -o sanitized "$BATS_TEST_DIRNAME/../../examples/01_vector.c" "${flags[@]}" 2>/dev/null ||
        skip "no AddressSanitizer"
    unset LD_PRELOAD
    export ASAN_OPTIONS=detect_leaks=0 STARPU_TIC_EVERY=5
    ./sanitized >plain
    STARPU_TIC_FAIL=line-renamed:2 run_apart "$tool" run -- ./sanitized
    [ "$status" -eq 137 ] || complain sanitized "not killed"
    LD_PRELOAD=$fixed_time run_apart "$tool" run -- ./sanitized
    is_right "$(<plain)" lines || complain sanitized "does not go on"
    run_apart "$tool" check ./sanitized
    [ "$status" -eq 0 ] || complain sanitized "not checked"
}
