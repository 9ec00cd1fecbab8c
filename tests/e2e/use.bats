#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks the ways to switch protection on, scheduling policies, and what cannot be protected yet.
load common

@test "by environment alone" {
    export LD_PRELOAD=$library STARPU_TIC_EVERY=20
    STARPU_TIC_FAIL=line-renamed:2 run "$program"
    [ "$status" -eq 137 ]
    run "$program"
    [ "$status" -eq 0 ]
    [ "$(stat_of recovered)" = true ]
}

@test "by linking with -lstarputic, as examples/08_api does" {
    unset STARPU_TIC_DIR
    export STARPU_TIC_EVERY=16
    example=$TIC_BUILD/examples/08_api
    run_apart "$example"
    [ "$status" -eq 0 ]
    reference=$(<out)
    STARPU_TIC_FAIL=line-renamed:3 run "$example"
    [ "$status" -eq 137 ]
    run_apart "$example"
    [ "$status" -eq 0 ]
    [ "$(<out)" = "$reference" ]
    [ "$(stat_of recovered)" = true ]
    grep -q "was done before" err
}

@test "other preloaded libraries keep working" {
    run env LD_PRELOAD="$oracle" TIC_ORACLE="$PWD/hashes" "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(wc -l <hashes)" -eq 4 ]
}

policy_of() { # environment assignments...
    env "$@" "$tool" run -- "$program" >out 2>&1 || return 1
    stat_of scheduler
}

@test "the policy: STARPU_TIC_SCHED, then STARPU_SCHED, then the application's, else tic-ws" {
    [ "$(policy_of A=1)" = tic-ws ]
    [ "$(policy_of P_POLICY=eager)" = eager ]
    [ "$(policy_of P_POLICY=eager STARPU_SCHED=random)" = random ]
    [ "$(policy_of P_POLICY=eager STARPU_SCHED=random STARPU_TIC_SCHED=dmda)" = dmda ]
    [ "$(policy_of STARPU_SCHED=tic-ws P_POLICY=eager)" = tic-ws ]
    [ "$(policy_of STARPU_TIC_SCHED=tic-ws STARPU_SCHED=eager)" = tic-ws ]
    STARPU_TIC_SCHED=nonsense run "$tool" run -- "$program"
    [ "$status" -eq 78 ]
    [[ $output == *"STARPU_TIC_SCHED=nonsense"* ]]
}

@test "tic-ws works without protection, too, where it is asked for by name" {
    export STARPU_TIC_PROTOCOL=off P_SHOW=1
    P_POLICY=eager "$tool" run -- "$program" >eager 2>warnings
    STARPU_TIC_SCHED=tic-ws P_POLICY=eager "$tool" run -- "$program" >by-us 2>>warnings
    STARPU_SCHED=tic-ws P_POLICY=eager "$tool" run -- "$program" >by-starpu 2>>warnings
    P_POLICY=tic-ws "$tool" run -- "$program" >by-program 2>>warnings
    cat warnings
    [ ! -s warnings ]
    [ ! -e "$STARPU_TIC_DIR" ]
    grep -x "policy eager" eager
    for name in us starpu program; do
        grep -x "policy tic-ws" "by-$name"
        diff <(grep -v -e progress -e policy "by-$name") <(grep -v -e progress -e policy eager)
    done
}

@test "every policy of StarPU that runs the program is protected with it" {
    export STARPU_TIC_EVERY=20
    for policy in eager prio random ws lws dm dmda dmdar dmdas modular-eager modular-ws modular-heft; do
        export STARPU_TIC_SCHED=$policy
        crash task-end:120 "$program"
        run "$tool" run -- "$program"
        [ "$status" -eq 0 ]
        [ "$(stat_of recovered)" = true ]
        [ "$(stat_of scheduler)" = "$policy" ]
    done
}

@test "what cannot be protected yet says so once and runs on with its result unchanged" {
    need_examples
    for name in cg dot_product minmax_reduction fmultiple_submit fmultiple_submit_implicit \
        task_end_dep sequential_consistency sched_ctx mlr pipeline heat tag_example; do
        run "$examples/$name"
        [ "$status" -eq 0 ] || continue # it fails by itself with some versions
        STARPU_TIC_EVERY=200 run_apart "$tool" run -- "$examples/$name"
        [ "$status" -eq 0 ] || { echo "$name: $status"; return 1; }
        [ "$(grep -c '^starpu-tic: .*protect' err)" -le 1 ] || { echo "$name"; cat err; return 1; }
        rm -rf "$STARPU_TIC_DIR"
    done
}

@test "programs that use their own policy are protected with it" {
    need_examples
    run "$tool" run -- "$examples/dummy_sched"
    [ "$status" -eq 0 ]
    [ "$(stat_of scheduler)" = dummy ]
}

@test "main() that reads, writes and decides between tasks: killed three times, it sees the same" {
    export STARPU_TIC_EVERY=9
    access=$TIC_BUILD/tests/lib/mainaccess
    reference=$("$access")
    for end in 77 150 163 222 290; do
        rm -rf "$STARPU_TIC_DIR"
        crash "task-end:$end" "$access"
        STARPU_NCPU=1 STARPU_TIC_FAIL=task-end:10 run "$tool" run -- "$access"
        [ "$status" -eq 137 ]
        STARPU_NCPU=4 STARPU_TIC_FAIL=restore-end:2 run "$tool" run -- "$access"
        [ "$status" -eq 137 ]
        STARPU_TIC_VERBOSE=0 run "$tool" run -- "$access"
        [ "$status" -eq 0 ]
        [ "$output" = "$reference" ]
        [ "$(stat_of recovered)" = true ]
        [ "$(stat_of tasks_skipped)" -gt 0 ]
    done
}

@test "patterns that once failed: temporary data, a structure submitted again, visible modes, fork" {
    export STARPU_TIC_EVERY=7 STARPU_TIC_VERBOSE=0
    for name in temporary resubmit commute fork; do
        reference=$("$TIC_BUILD/tests/lib/patterns" $name)
        rm -rf "$STARPU_TIC_DIR"
        crash task-end:50 "$TIC_BUILD/tests/lib/patterns" $name
        run timeout "$hangs" "$tool" run -- "$TIC_BUILD/tests/lib/patterns" $name
        [ "$status" -eq 0 ] && [ "$output" = "$reference" ] || { echo "$name: $output"; return 1; }
        [ "$(stat_of recovered)" = true ]
    done
}

@test "memory that main() has unmapped, but not unregistered, is not touched" {
    patterns=$TIC_BUILD/tests/lib/patterns
    expected=$("$patterns" unmapped)
    for setting in STARPU_TIC_PERIOD=10 STARPU_TIC_EVERY=1 STARPU_TIC_VERIFY=0; do
        rm -rf "$STARPU_TIC_DIR"
        env $setting "$tool" run -- "$patterns" unmapped >out 2>err
        [ "$(<out)" = "$expected" ]
        for at in 70 178; do
            rm -rf "$STARPU_TIC_DIR"
            STARPU_TIC_EVERY=5 crash task-end:$at env $setting "$patterns" unmapped
            run_apart env $setting "$tool" run -- "$patterns" unmapped
            [ "$status" -eq 0 ] || complain "$setting, $at" "failed"
            [ "$(<out)" = "$expected" ]
        done
    done
}

# Other threads than main()'s are told that the memory is there: main() gives it back just after.
@test "memory that main() unmaps while it is saved or compared" {
    patterns=$TIC_BUILD/tests/lib/patterns
    expected=$("$patterns" unmapped)
    for setting in STARPU_TIC_EVERY=1 STARPU_TIC_COMPRESS=1 STARPU_TIC_VERIFY=0; do
        rm -rf "$STARPU_TIC_DIR"
        LD_PRELOAD=$TIC_BUILD/.libs/mincore.so \
            run_apart env STARPU_TIC_EVERY=2 $setting "$tool" run -- "$patterns" unmapped
        is_right "$expected" "" || complain "$setting" "wrong"
    done
}

@test "memory that main() frees, but does not unregister, is left to the heap" {
    patterns=$TIC_BUILD/tests/lib/patterns
    expected=$("$patterns" freed)
    for setting in STARPU_TIC_PERIOD=10 STARPU_TIC_PROTOCOL=sel STARPU_TIC_UNUSED=leave; do
        rm -rf "$STARPU_TIC_DIR"
        run_apart env $setting STARPU_TIC_EVERY=3 "$tool" run -- "$patterns" freed
        [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain "$setting" "wrong"
        grep -q 'main() gives memory of registered data back (free)' err || complain "$setting" "not told of"
        for at in 90 130 180; do
            rm -rf "$STARPU_TIC_DIR"
            STARPU_TIC_EVERY=5 crash task-end:$at env $setting "$patterns" freed
            STARPU_NCPU=3 run_apart env $setting "$tool" run -- "$patterns" freed
            [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain "$setting, $at" "wrong"
        done
    done
}

@test "a program that closes all descriptors ends right, and nothing is left" {
    STARPU_TIC_VERBOSE=0 run_apart "$tool" run -- "$TIC_BUILD/tests/lib/patterns" closefds
    [ "$status" -eq 0 ]
    [ "$(<out)" = "$("$TIC_BUILD/tests/lib/patterns")" ]
    [ ! -e "$STARPU_TIC_DIR" ]
}
