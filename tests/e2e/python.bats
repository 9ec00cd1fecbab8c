#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that a checkpoint can be read with h5py and FORMAT.md alone, by the module of bindings/python.
load common

@test "the elements of every vector are what its version says" {
    need_h5py
    # In the order of submission, so that no vector is left out.
    export STARPU_NCPU=1 STARPU_TIC_SCHED=eager STARPU_TIC_EVERY=50 P_TASKS=2000
    crash line-renamed:2 "$program"
    check_vectors 1000
    run read_value 4
    [ "$status" -ne 0 ]
    [[ $output == "handle 4 has no value"* ]]
}

@test "where values are many, they are in blocks" {
    need_h5py
    STARPU_TIC_EVERY=30 crash task-end:900 "$lib/sizes" 300
    [ "$(read_value 190 uint64 | tail -1)" = "$(seq -s ' ' 190 2237)" ]
    [ "$(read_value 190 uint64 | head -1)" = "version 1" ]
}
