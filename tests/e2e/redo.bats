#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks restarts that redo the history of their line: killed at a committed
# line, a program goes on by it, and its result is that of a run without protection.
load common

setup_file() {
    export STARPU_TIC_EVERY=1
}

# Killed when it has committed so many lines, and started again on another number of workers. `times`: it
# prints times, and checks its result itself. `verify` and `then`: percent, before and after the kill.
redoes() { # lines, command...
    local lines=$1 expected reference
    shift
    reference=expected-${*//\//_} # once for all lines of a test
    [ -e "$reference" ] || timeout "$hangs" "$@" >"$reference" 2>/dev/null
    expected=$(<"$reference")
    rm -rf "$STARPU_TIC_DIR"
    STARPU_TIC_VERIFY=${verify-2} STARPU_TIC_FAIL=line-renamed:$lines STARPU_NCPU=1 \
        run_apart timeout "$hangs" "$tool" run -- "$@"
    [ "$status" -eq 137 ] || complain "$*" "it has not come to line $lines"
    STARPU_TIC_VERIFY=${then-2} STARPU_TIC_VERBOSE=1 STARPU_NCPU=3 \
        run_apart timeout "$hangs" "$tool" run -- "$@"
    [ "$status" -eq 0 ] && [ -n "${times-}" -o "$(<out)" = "$expected" ] || complain "$*" "wrong from line $lines"
    grep -q 'continuing from recovery line' err ||
        complain "$*" "its history was not redone"
}

@test "tasks, callbacks and accesses of main()" {
    redoes 2 "$lib/orders" fetch
    redoes 1 "$lib/orders" alias-changed
    redoes 1 "$lib/orders" fold-after-callback
    redoes 2 "$lib/orders" callback-awaited
    redoes 2 "$lib/orders" callback-tags
    redoes 1 "$lib/orders" reader-left
}

@test "accesses with a callback: that read, that write, and granted inside the call" {
    for lines in $(some_of 2 1 3 5); do
        redoes $lines "$lib/modes" acquire-cb
        redoes $lines "$lib/modes" acquire-cb-write
    done
    redoes 1 "$lib/orders" granted-inside
    redoes 2 "$lib/orders" granted-inside
}

@test "tasks that main() waits for in their submission" {
    for lines in $(some_of 2 1 2 4 6); do
        redoes $lines "$lib/orders" callback-synchronous
    done
    redoes 9 "$lib/prologues" sudden
}

@test "a task without output that was running while main() waited for it" {
    for lines in $(some_of 2 1 2 3); do
        redoes $lines "$lib/orders" callback-long
    done
}

@test "what main() holds for reading is not written to show it to a task" {
    for lines in $(some_of 2 3 4 7 12); do
        redoes $lines "$lib/orders" held-look
    done
}

@test "calls on data that tasks without output are to read come when those have begun" {
    for lines in $(some_of 2 3 4 6); do
        redoes $lines "$lib/orders" planned-read-called
    done
    redoes 2 "$lib/declares" excluded
}

# An unpartition of main() needs a value of data without a home before the cut; who read it later, and
# before the cut, is shown an older one after that.
@test "a value that main() needed before the cut, and that others are shown older ones of, comes back once more" {
    local lines
    export D_INCLUDED=1 STARPU_TIC_EVERY=13
    for lines in $(some_of 2 3 4 5 6 7); do
        redoes $lines "$lib/declares" excluded
    done
}

@test "prologues, with what they read" {
    for form in data data-pop declared readers early access called; do
        redoes 4 "$lib/prologues" $form
    done
}

@test "Debian's programs, which check their results" {
    need_examples
    export STARPU_TIC_EVERY=10
    times=1
    redoes 3 "$examples/cholesky_implicit" -size 960 -nblocks 6 -check
    redoes 2 "$examples/lu_implicit_example_float" -size 960 -nblocks 6 -check
}

# They end inside of each other, and the last one tells main() of its end first.
@test "main() submits tasks again when a tag tells that they have ended" {
    need_examples
    local point skipped=0
    export STARPU_TIC_EVERY=5
    for point in $(some_of 2 task-begin:{86,110,130,150,171,203,220,235}); do
        resumes "$point" 4 "" "$examples/tag_restartable"
    done
}

@test "main() gets access to a planned part by callback" {
    for lines in $(some_of 2 1 2 4); do
        redoes $lines "$lib/orders" planned-access
    done
}

@test "reductions, tasks of threads, tasks of StarPU itself, data that leaves while StarPU ends" {
    for lines in $(some_of 2 1 3 5); do
        redoes $lines "$lib/orders" fold-after-callback
        redoes $lines "$lib/orders" parts-gathered
    done
    STARPU_TIC_EVERY=20 redoes 2 "$lib/dynamic" thread
    STARPU_TIC_EVERY=20 redoes 3 "$lib/leaving"
}

@test "callbacks of tasks that run nowhere, and that read" {
    for lines in $(some_of 2 1 2 3); do
        redoes $lines "$lib/orders" callback-nowhere
        redoes $lines "$lib/orders" callback-nowhere-ready
    done
}

@test "lines with and without comparison are continued by each other" {
    local verify then
    for verify in 0 2; do
        for then in 0 2; do
            is_soak || [ $verify -ne $then ] || continue # by itself: other tests
            redoes 2 "$lib/orders" callback-awaited
            redoes 3 "$lib/modes" acquire-cb-write
            redoes 9 "$lib/prologues" sudden
            STARPU_TIC_EVERY=20 redoes 3 "$lib/leaving"
        done
    done
}

@test "tasks that kernels submit" {
    for lines in $(some_of 2 1 2 3); do
        redoes $lines "$lib/orders" children-only-read
        redoes $lines "$lib/orders" children-callback
        redoes $lines "$lib/orders" children-reader
        redoes $lines "$lib/orders" parts-children-planned
    done
    for lines in $(some_of 2 2 30 80); do
        redoes $lines "$lib/knary" commute 4 5
        redoes $lines "$lib/dynamic" codelet-child
        redoes $lines "$lib/dynamic" effects
    done
}

@test "a callback of a kernel's task that came in a restart comes in the next one where it came then" {
    local expected verify
    expected=$("$lib/orders" children-called)
    for verify in 2 0; do
        export STARPU_TIC_VERIFY=$verify STARPU_NCPU=1
        rm -rf "$STARPU_TIC_DIR"
        crash line-renamed:3 "$lib/orders" children-called # the kernel is done, its task is not
        crash line-renamed:6 "$lib/orders" children-called
        run_apart "$tool" run -- "$lib/orders" children-called
        is_right "$expected" yes && ! grep -q 'used by no task' err || complain children-called wrong
    done
}

# What `make check-replay` does for all programs: every cut, and a failpoint at which a thread is late. With
# TIC_SOAK the run of inside-access that is killed has a preemption, too, not its restarts alone.
@test "three programs of the explorer, at every cut" {
    local program inside=inside-access-in-turn
    ! is_soak || inside=inside-access
    unset STARPU_TIC_EVERY
    for program in chain invalidate-late "$inside"; do
        TIC_REPLAY=$program "$TIC_BUILD/tests/unit/replay/test_replay" > explored 2>&1 ||
            { tail -30 explored; false; }
    done
}
