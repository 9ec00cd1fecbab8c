#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that programs that use HDF5 themselves are protected, and that HDF5 stays theirs.
load common

setup_file() {
    export STARPU_TIC_EVERY=7 STARPU_WORKERS_NOBIND=1 H5_MODULE=$TIC_BUILD/.libs/h5write.so
}

# What the program prints, and the sums of its files.
shows() { # program
    cat out
    env -u LD_PRELOAD "$lib/h5user-pic" read ./*.h5
    rm ./*.h5
}

# Protected, and killed and resumed on another number of workers, each time with the same output and
# the same files: is_protected WHEN PROGRAM
is_protected() {
    local when=$1 user=$lib/$2 expected point
    "$user" "$when" >out
    expected=$(if [ "$when" = n ]; then cat out; else shows; fi)
    for point in "" line-renamed:2 line-renamed:9; do
        [ "$point" != line-renamed:9 ] || [ "$when" = bdao ] || continue
        rm -rf "$STARPU_TIC_DIR"
        STARPU_TIC_FAIL=$point run_apart "$tool" run -- "$user" "$when"
        if [ -n "$point" ]; then
            [ "$status" -eq 137 ]
            STARPU_NCPU=1 run_apart "$tool" run -- "$user" "$when"
            [ "$(stat_of recovered)" = true ]
        fi
        [ "$status" -eq 0 ]
        [ "$(stat_of protected)" = true ]
        [ "$(stat_of checkpoints_failed)" -eq 0 ]
        [ "$(if [ "$when" = n ]; then cat out; else shows; fi)" = "$expected" ]
    done
}

@test "a program with variables of libhdf5 in its own memory (COPY relocations) is protected" {
    command -v readelf >/dev/null && readelf -rW "$lib/h5user-copy" | grep -q 'COPY.*H5T_NATIVE_LONG_g'
    for when in n b d a o bdao; do
        is_protected $when h5user-copy
    done
}

@test "a program of position-independent code that uses HDF5 is protected" {
    for when in n bdao $(is_soak && echo b d a o); do # alone with each of the others
        is_protected $when h5user-pic
    done
}

@test "a program that opens libhdf5 by dlopen, before or after StarPU starts, is protected" {
    for when in n b d a o bdao; do
        is_protected $when h5user-late
    done
}
