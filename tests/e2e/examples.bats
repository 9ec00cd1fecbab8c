#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that each example, killed early, late, and again in its restart, prints what it prints plain
# and gets the same data back from StarPU, bit for bit, on other numbers of workers.
load common

here=$TIC_BUILD/examples

# The output of a command, and hashes of the data that it gets back: outcome FILE COMMAND...
outcome() {
    local file=$1
    shift
    rm -f hashes
    LD_PRELOAD=$oracle:$calm TIC_ORACLE=$PWD/hashes run_apart timeout "$hangs" "$@"
    [ "$status" -eq 0 ] || complain "$*" "failed"
    sort hashes 2>/dev/null | cat out - >"$file"
}

# Kills a command after so many tasks, and its restart after so many more, and resumes that. Where a
# machine was too busy for a recovery line before a kill, once more: survives TASKS MORE COMMAND...
survives() {
    local first=$1 second=$2
    shift 2
    STARPU_TIC_PROTOCOL=off outcome plain "$@"
    for _ in 1 2 3 4 5; do
        crash "task-end:$first" "$@"
        STARPU_NCPU=1 crash "task-end:$second" "$@"
        STARPU_NCPU=3 outcome resumed "$tool" run -- "$@"
        cmp plain resumed || complain "$*" "another result"
        [ ! -e "$STARPU_TIC_DIR" ]
        [ "$(stat_of tasks_skipped)" -eq 0 ] || break
    done
    [ "$(stat_of recovered)" = true ] && [ "$(stat_of tasks_skipped)" -gt 0 ] || complain "$*" "not resumed"
    [ "$(stat_of tasks_executed)" -lt "$(stat_of tasks_submitted)" ]
}

@test "01_vector: a plain StarPU program" {
    STARPU_TIC_EVERY=50 survives 300 90 "$here/01_vector"
}

@test "02_cholesky: its residual is that of rounding" {
    STARPU_TIC_EVERY=20 survives 200 60 "$here/02_cholesky"
    [[ $(<out) == "residual "* ]]
}

@test "03_stencil: main() decides by the data when to stop" {
    STARPU_TIC_EVERY=50 survives 300 150 "$here/03_stencil"
    [[ $(<out) == *" steps, the last one changed 0.1"* ]]
}

@test "04_knary: kernels submit tasks" {
    STARPU_TIC_EVERY=20 survives 130 50 "$here/04_knary"
    STARPU_TIC_EVERY=20 survives 100 50 "$here/04_knary" 2 15 50
}

@test "05_fib: a tree of tasks with temporary data" {
    STARPU_TIC_EVERY=20 survives 130 50 "$here/05_fib"
    [ "$(<out)" = "F(16) = 1597" ]
    STARPU_TIC_EVERY=20 survives 130 50 "$here/05_fib" 12 3 5
}

@test "06_qap: branch and bound finds the optima that are published" {
    STARPU_TIC_EVERY=100 survives 700 500 "$here/06_qap"
    [[ $(<out) == "578: "* ]]
    skipped=0
    STARPU_TIC_EVERY=50 resumes task-end:300 1 "1014: 9 8 13 2 1 11 7 14 3 4 12 5 6 10" "$here/06_qap" 14 2
    [ "$skipped" -gt 0 ]
}

@test "07_custom_interface: data that is packed" {
    STARPU_TIC_EVERY=20 survives 100 50 "$here/07_custom_interface"
}

@test "08_api: what is in a recovery line is told to the program" {
    STARPU_TIC_EVERY=16 survives 50 20 "$here/08_api"
    grep -q "phase 0 was done before: " err
}

@test "09_fortran: StarPU's Fortran module, and ours" {
    [ -x "$here/09_fortran" ] || skip "no Fortran compiler, or no module of StarPU for it"
    STARPU_TIC_EVERY=16 survives 80 24 "$here/09_fortran"
    grep -Eq '^phase 1 was done before: 16 of [0-9]+ tasks skipped$' err
}

@test "10_cpp_fork_shared: Fork and Shared in C++" {
    [ -x "$here/10_cpp_fork_shared" ] || skip "no compiler of C++17"
    STARPU_TIC_EVERY=30 survives 150 90 "$here/10_cpp_fork_shared"
    [ "$(cut -c -14 out)" = 3.141592653589 ]
    grep -Eq '^pass 0: [0-9]+ of [0-9]+ tasks skipped$' err
}

@test "11_python: a program is killed, looked at and resumed" {
    need_h5py
    PATH=$TIC_BUILD:$PATH run_apart python "$BATS_TEST_DIRNAME/../../examples/11_python.py" "$here/02_cholesky"
    [ "$status" -eq 0 ] || complain 11_python "failed"
    [ "$(head -1 out)" = "first run: status -9" ]
    [ "$(tail -1 out)" = "second run: status 0, recovered True; $("$here/02_cholesky")" ]
}

@test "13_declared: a matrix that is generated is in no recovery line" {
    STARPU_TIC_EVERY=100 survives 900 300 "$here/13_declared"
    [ "$(stat_of tasks_executed_again)" -eq 8 ]
    command -v jq >/dev/null || skip "no jq"
    rm -rf "$STARPU_TIC_DIR"
    STARPU_TIC_EVERY=100 crash line-retired:2 "$here/13_declared"
    "$tool" extract --json "$STARPU_TIC_DIR" | jq -e '.data | length == 9 and all(.name | startswith("matrix") | not)'
    rm -r "$STARPU_TIC_DIR"
    STARPU_TIC_EVERY=100 crash line-retired:2 "$here/13_declared" 200 all
    "$tool" extract --json "$STARPU_TIC_DIR" | jq -e '[.data[] | select(.name | startswith("matrix")) | .bytes] | add == 4194304'
}

# The head of an example has a command that kills it each time, and most times with a recovery line.
# Where kernels submit the tasks, tasks await no cut: there the command kills at a line.
@test "the commands in the heads of the examples kill them" {
    local source name command lines tried=0
    unset STARPU_TIC_DIR
    PATH=$TIC_BUILD:$PATH
    for source in "$BATS_TEST_DIRNAME"/../../examples/*.c*; do
        name=$(basename "${source%.c*}")
        # A command that goes on in a second line; and what it does, behind it.
        command=$(sed -n '/STARPU_TIC_FAIL=/{ /\\$/N; s/^ \* *//; s/\\\n \* *//; s/   *.*killed.*//p }' "$source")
        [ -n "$command" ] && [ -x "$here/$name" ] || continue
        tried=$((tried + 1))
        lines=0
        for _ in 1 2 3; do
            run_apart bash -c "cd '$here' && export STARPU_TIC_DIR='$PWD/head.tic' && $command"
            [ "$status" -eq 137 ] || complain "$command" "not killed"
            compgen -G 'head.tic/p0-line-*' >/dev/null && lines=$((lines + 1))
            rm -rf head.tic
        done
        [ "$lines" -gt 0 ] || complain "$command" "no recovery line"
    done
    [ "$tried" -ge 9 ]
}
