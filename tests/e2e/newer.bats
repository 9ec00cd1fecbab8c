#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks what only StarPU 1.4 has: each part is resumed with its result, or ends protection with one
# message that names it while the program runs on; and the road by STARPU_SCHED_LIB.
load common

need_newer() {
    run "$lib/newer"
    [ "$status" -ne 77 ] || skip "StarPU is older than 1.4"
}

# The result is right, and one message says what ended protection: refuses MODE MESSAGE
refuses() {
    local expected
    expected=$("$lib/newer" "$1") || { status=$?; complain "$1" "fails unprotected"; }
    STARPU_TIC_EVERY=11 run_apart timeout "$hangs" "$tool" run -- "$lib/newer" "$1"
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain "$1" "is not $expected"
    [ "$(stat_of protected)" = false ] || complain "$1" "is protected"
    [ "$(grep -c 'protection ends' err)" -eq 1 ] || complain "$1" "no single message"
    grep -q "protection ends here: $2" err || complain "$1" "the message does not name $2"
}

@test "tensors" {
    need_newer
    survive_modes newer tensor homeless tensor-reads tensor-parts
}

@test "arrays of n dimensions" {
    need_newer
    survive_modes newer ndim ndim-homeless ndim-parts
}

@test "peek, copies with a priority, deinitialization, reductions with arguments, other tasks" {
    need_newer
    survive_modes newer peek cpy deinitialize redux sync
}

@test "planned partitions that become read-only" {
    need_newer
    survive_modes newer downgrade
}

@test "HDF5 tools read a tensor with its four dimensions" {
    need_newer
    need_h5py
    STARPU_TIC_EVERY=50 crash line-renamed:2 "$lib/newer" tensor
    # after the numbers of tests/lib/steps.c
    run python -c 'import sys, starpu_tic as t; print(t.Store(sys.argv[1]).newest().array(169, "uint64").shape)' \
        "$STARPU_TIC_DIR"
    [ "$output" = "(4, 2, 4, 3)" ]
}

@test "what is not protected yet ends protection by its name" {
    need_newer
    refuses dup-ro starpu_data_dup_ro
    refuses retry starpu_task_submit_nodeps
    refuses epilogue 'step.*epilogue'
    refuses transaction starpu_transaction_open
    refuses returns 'returns.*cl_ret'
    refuses returns-late 'returns-late.*cl_ret'
    refuses release-to starpu_data_release_to
    refuses bubble 'step.*bubble'
}

@test "STARPU_SCHED_LIB gives the policy, and says that nothing is protected by that alone" {
    need_newer
    export STARPU_SCHED_LIB=$library STARPU_SCHED=tic-ws
    expected=$(STARPU_SCHED= "$lib/modes" bundle)
    run_apart "$lib/modes" bundle
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain modes "wrong"
    [ "$(grep -c 'this run is not protected: STARPU_SCHED_LIB' err)" -eq 1 ]
    [ "$(grep -c starpu-tic err)" -eq 1 ]
    STARPU_SILENT=0 STARPU_TIC_PROTOCOL=off run_apart "$lib/modes" bundle
    ! grep -E "starpu-tic|not found" err
    # Preloaded besides, everything is as ever.
    STARPU_TIC_EVERY=11 crash task-end:200 "$lib/modes" bundle
    run_apart "$tool" run -- "$lib/modes" bundle
    is_right "$expected" lines
    ! grep 'not protected' err
}

@test "a context with another policy is looked up in a library that has our policy, too" {
    need_newer
    export STARPU_SCHED_LIB=$library STARPU_SCHED=tic-ws
    run_apart "$lib/modes" contexts
    [ "$status" -eq 0 ] && [ "$(<out)" = "$(STARPU_SCHED_LIB= STARPU_SCHED= "$lib/modes" contexts)" ]
}
