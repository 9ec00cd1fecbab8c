#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that the command line tool behaves as getopt_long tools do.
load common
bats_require_minimum_version 1.5.0

@test "help and version go to standard output with status 0" {
    run_apart "$tool" --help
    [ "$status" -eq 0 ]
    [ ! -s err ]
    grep -q '^Commands:' out
    run_apart "$tool" --version
    [ "$status" -eq 0 ]
    grep -Eq '^starpu-tic [0-9]+\.[0-9]+\.[0-9]+$' out
    for command in run rehearse info log graph verify interval settings failpoints; do
        run_apart "$tool" $command --help
        [ "$status" -eq 0 ]
        [ ! -s err ]
        grep -q "^Usage: starpu-tic $command" out
    done
}

@test "wrong use goes to standard error with status 2" {
    for arguments in "" "nonsense" "run" "run --nonsense x" "run --dir" "info" "stats" \
        "verify" "verify --json a" "graph a" "diff a b c d"; do
        run_apart "$tool" $arguments
        [ "$status" -eq 2 ]
        [ ! -s out ]
        [ -s err ]
    done
}

@test "HDF5 is loaded only to look into a store; where it is not, one message says so" {
    run_apart ldd "$tool"
    [ "$status" -eq 0 ]
    [ "$(grep -c hdf5 out)" -eq 0 ]
    mkdir -p alone/.libs
    cp "$tool" alone
    touch alone/.libs/libstarputic.so # and no tic-store.so
    run_apart alone/starpu-tic info "$STARPU_TIC_DIR"
    [ "$status" -eq 1 ]
    [ ! -s out ]
    grep -q "^starpu-tic: cannot load the store module: " err
    run_apart alone/starpu-tic settings
    [ "$status" -eq 0 ]
}

@test "the exit status is the program's" {
    for expected in 0 1 42; do
        P_EXIT=$expected run "$tool" run -- "$program"
        [ "$status" -eq "$expected" ]
        rm -rf "$STARPU_TIC_DIR"
    done
    run "$tool" run -- sh -c 'kill -TERM $$'
    [ "$status" -eq 143 ]
}

@test "a program that cannot be started: 127 and 126, as in the shell" {
    run -127 "$tool" run -- ./no-such-program
    touch not-executable
    run -126 "$tool" run -- ./not-executable
}

@test "options of run set the settings, options of the program are left alone" {
    run "$tool" run --dir d1 --period 3.5 --protocol off --sched eager -- \
        sh -c 'echo $STARPU_TIC_DIR $STARPU_TIC_PERIOD $STARPU_TIC_PROTOCOL $STARPU_TIC_SCHED "$@"' \
        sh --dir other
    [ "$output" = "$PWD/d1 3.5 off eager --dir other" ]
    run "$tool" run sh -c 'echo "$@"' sh --period 9
    [ "$output" = "--period 9" ]
}

@test "run keeps what LD_PRELOAD already holds" {
    run env LD_PRELOAD="$fixed_time" "$tool" run -- sh -c 'echo "$LD_PRELOAD"'
    [ "$output" = "$fixed_time:$(readlink -f "$library")" ]
}

@test "doc/settings.md is what settings --markdown prints" {
    "$tool" settings --markdown >settings.md
    diff settings.md "$BATS_TEST_DIRNAME/../../doc/settings.md"
}

@test "settings lists every setting, and run refuses bad values with their name" {
    run "$tool" settings
    for name in DIR PERIOD PROTOCOL SCHED SYNC KEEP VERBOSE STATS EVERY INPUTS FAIL; do
        [[ $output == *"STARPU_TIC_$name="* ]]
    done
    for bad in PERIOD=0 PERIOD=ten PERIOD=-1 PROTOCOL=on SYNC=sometimes KEEP=yes VERBOSE=9 EVERY=-1 \
        NONSENSE=1; do
        run env "STARPU_TIC_$bad" "$tool" run -- true
        [ "$status" -eq 2 ]
        [[ $output == *"STARPU_TIC_${bad%=*}"* ]]
    done
}

@test "info of a directory without lines, and of no directory" {
    mkdir empty
    run "$tool" info empty
    [ "$status" -eq 0 ]
    [[ $output == *"no recovery line"* ]]
    run "$tool" info missing
    [ "$status" -eq 1 ]
    [[ $output == *missing* ]]
}

@test "info tells about lines in words and in JSON, also where StarPU is not installed" {
    export STARPU_TIC_EVERY=20
    STARPU_NCPU=1 crash line-renamed:5 "$program"
    run "$tool" info "$STARPU_TIC_DIR"
    [ "$status" -eq 0 ]
    [[ $output == *"p0-line-00000005.h5: good"* && $output == *"tasks done of 200"* ]]
    run "$tool" info --json "$STARPU_TIC_DIR"
    [ "$(jq -r '.lines | length' <<<"$output")" -eq 3 ]
    [ "$(jq -r '.lines[0] | .good, .number, .program, .handles, .bytes' <<<"$output" | tr '\n' ' ')" = \
        "true 5 program 4 32000 " ]
    ! ldd "$tool" | grep -Ei 'starpu|hwloc'
}

@test "without /proc the message says why the library is not found" {
    local change=(chroot) file
    [ "$(id -u)" -eq 0 ] || change=(unshare -r chroot)
    mkdir -p root/bin root/tmp
    for file in $(ldd "$tool" | grep -o '/[^ ]*'); do
        mkdir -p "root${file%/*}"
        cp "$file" "root$file"
    done
    cp "$tool" root/bin/
    "${change[@]}" root /bin/starpu-tic --version >/dev/null 2>&1 || skip "no chroot"
    for command in run check rehearse; do
        run "${change[@]}" root /bin/starpu-tic $command -- /bin/starpu-tic </dev/null
        [ "$status" -eq 1 ] || [ "$status" -eq 3 ]
        [[ $output == *"cannot find libstarputic.so: /proc"* ]]
        [[ $output != *"cannot be executed"* ]]
    done
}
