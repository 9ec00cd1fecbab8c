#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks data that is longer than the memory that the program has there (tests/lib/extents.c): it
# ends protection with one message, before anything of it is saved; and memory that fits does not.
load common

extents=$lib/extents

protected() { # mode
    rm -rf "$STARPU_TIC_DIR"
    STARPU_TIC_EVERY=7 run_apart timeout "$hangs" "$tool" run -- "$extents" "$1"
}

is_refused() { # mode, what it is longer than
    protected "$1"
    [ "$status" -eq 0 ] && [ "$(<out)" = "$("$extents" "$1")" ] &&
        [ "$(stat_of protected)" = false ] && [ "$(grep -c 'protection ends here' err)" -eq 1 ] &&
        grep -Eq "starpu_data_register: data of [0-9]+ bytes .* beyond $2\. " err ||
        complain "$1" "not refused as it should be"
    [ -z "$(find "$STARPU_TIC_DIR" -name '*-line-*.h5')" ]
}

@test "data longer than its block, variable, stack frame or mapping ends protection" {
    local block='its block of malloc\(\)'
    is_refused block "$block"
    LONG=1 is_refused block "$block"
    is_refused matrix "$block"
    is_refused large "$block"
    is_refused inner "$block"
    is_refused global 'the variable "shown"'
    is_refused local 'the variable "hidden"'
    is_refused stack 'the variables of the function that has it on its stack'
    is_refused mapping 'what is mapped there'
}

@test "starpu-tic check names data that is longer than its block" {
    run_apart timeout "$hangs" "$tool" check -- "$extents" block
    [ "$status" -eq 1 ]
    grep -q 'data of 48 bytes .* beyond its block of malloc()' out
}

@test "memory that fits stays protected, whatever it holds" {
    local mode skipped=0
    export STARPU_TIC_EVERY=7
    for mode in exact tiles tile-global tile-stack aligned pages allocated; do
        protected "$mode"
        is_right "$("$extents" "$mode")" "" && [ ! -s err ] || complain "$mode" "not protected"
        resumes task-end:40 1 "$("$extents" "$mode")" "$extents" "$mode"
    done
    [ "$skipped" -gt 0 ]
}

@test "blocks of another allocator are never said to be too short" {
    local other
    for other in libtcmalloc_minimal.so.4 libjemalloc.so.2; do
        ldconfig -p | grep -q "$other" || continue
        LD_PRELOAD=$other protected exact
        ! grep beyond err
    done
}
