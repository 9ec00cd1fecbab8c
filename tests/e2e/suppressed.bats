#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks variables that tasks may write although nobody registered them (tests/lib/suppressed.c):
# those that are known, and those of STARPU_TIC_SUPPRESSIONS.
load common

suppressed=$lib/suppressed
run=("$tool" run --)

killed() { # mode
    rm -rf "$STARPU_TIC_DIR"
    STARPU_TIC_EVERY=20 STARPU_TIC_FAIL=task-end:300 run_apart timeout "$hangs" "${run[@]}" "$suppressed" "$1"
    [ "$status" -eq 137 ] || complain "$1" "not killed"
}

goes_on() { # mode
    killed "$1"
    ! grep 'not registered' err
    run_apart timeout "$hangs" "${run[@]}" "$suppressed" "$1"
    is_right "$("$suppressed" "$1")" lines || complain "$1" "does not go on"
}

is_refused() { # mode, what the message says
    killed "$1"
    grep -q "not registered data: .*$2" err || complain "$1" "not told"
    run_apart timeout "$hangs" "${run[@]}" "$suppressed" "$1"
    [ "$status" -eq 78 ] && grep -q "$2" err || complain "$1" "not refused"
}

@test "what gcov, sanitizers, nvcc and the environment need is known" {
    local mode
    for mode in gcov asan tsan nvcc guard handle cudart environ; do
        goes_on "$mode"
    done
}

# What launches find out is known without names; what a function for devices may write is looked at.
@test "nvcc's stubs in stripped programs; libraries that only CUDA functions of a codelet are in" {
    local cudart=$TIC_BUILD/.libs/cudart.so
    suppressed=$PWD/stripped
    "$TIC_BUILD/libtool" --mode=install cp "$lib/suppressed" "$suppressed" >install.log 2>&1
    strip "$suppressed"
    run=(env LD_PRELOAD="$library:$cudart")
    LD_PRELOAD=$cudart goes_on stub
    is_refused library executions
}

@test "a variable of the program's own is refused with the line that suppresses it" {
    is_refused own '"own_counts" of suppressed.* (symbol:own_counts)'
    grep -q 'the same command with STARPU_TIC_POINTERS=trust' err
    printf '# mine\n\n  symbol:own_c?unts  # counters\n' >file
    STARPU_TIC_SUPPRESSIONS=$PWD/file goes_on own
    STARPU_TIC_SUPPRESSIONS=$PWD/file is_refused section placed
    echo 'section:own_*' >file
    STARPU_TIC_SUPPRESSIONS=$PWD/file goes_on section
    echo 'object:suppressed' >file
    STARPU_TIC_SUPPRESSIONS=$PWD/file goes_on own
}

@test "a file of suppressions with another line, or none, stops the start" {
    echo 'variable:x' >file
    STARPU_TIC_SUPPRESSIONS=$PWD/file run_apart timeout "$hangs" "$tool" run -- "$suppressed" own
    [ "$status" -eq 78 ] && grep -q 'line 1 of .*file is none of' err
    STARPU_TIC_SUPPRESSIONS=$PWD/nothing run_apart timeout "$hangs" "$tool" run -- "$suppressed" own
    [ "$status" -eq 78 ] && grep -q 'cannot read .*nothing' err
}
