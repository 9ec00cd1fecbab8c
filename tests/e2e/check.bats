#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks what starpu-tic check says of programs before any failure: those that can be protected, and
# those that cannot, with the reason.
load common

patterns=$TIC_BUILD/tests/lib/patterns
yes="It can be protected."
# Data in the midst of other variables, or of the heap.
in_part='It can be protected; main() was not watched throughout: `starpu-tic rehearse` tells more.'
no="It cannot be protected as it is."

# check COMMAND...: out, err and status; it must leave nothing behind.
check() {
    mkdir -p temporary
    TMPDIR=$PWD/temporary run_apart timeout "$hangs" "$tool" check -- "$@"
    [ -z "$(ls -A temporary)" ]
    [ ! -e "$STARPU_TIC_DIR" ]
    [ ! -e "$STARPU_TIC_STATS" ]
}

answers() { # status, last line
    [ "$status" -eq "$1" ] && [ "$(tail -n 1 out)" = "$2" ] && return
    echo "status $status, not $1; out, err:"
    cat out err
    return 1
}

# Where the program's own output ends.
line="---- starpu-tic check ----"

printed() { # what the program prints by itself
    cmp "$1" <(sed '/^$/,$d' out)
    [ "$(grep -cx -e "$line" out)" -eq 1 ]
}

@test "a program that can be protected: its features are listed after its own output, and a line" {
    env -u STARPU_TIC_STATS "$program" >reference
    check "$program"
    answers 0 "$in_part"
    printed reference
    grep -qx 'The program has:' out
    grep -Eqx ' +200 tasks' out
    grep -Eqx ' +4 data handles' out
}

@test "features of programs that use more of StarPU" {
    check "$TIC_BUILD/tests/lib/dynamic" callback
    answers 0 "$yes"
    grep -Eqx ' +354 tasks that callbacks submit' out
    grep -Eqx ' +360 tasks with callbacks' out
    check "$TIC_BUILD/tests/lib/dynamic" effects
    answers 0 "$yes"
    grep -Eqx ' +360 tasks that write no data: a restart executes them again' out
    grep -qx '  look (360 tasks)' out
    check "$TIC_BUILD/tests/lib/plans" explicit
    # Whether all of its array was watched depends on where that lies in its page.
    answers 0 "$in_part" >why || answers 0 "$yes" || { cat why; false; }
    grep -Eqx ' +6 planned partitions' out
    check "$TIC_BUILD/tests/lib/nbody" 3 4
    answers 0 "$yes"
    grep -Eqx ' +[0-9]+ accesses to accumulators of reductions' out
}

@test "a kernel submits a task with a pointer among its arguments" {
    check "$patterns" child-pointer
    answers 1 "$no"
    grep -Eq '^  with_pointer: .* pointer in its arguments.* \(60 times\)$' out
    grep -qx '  parent (60 tasks)' out
}

@test "a kernel submits a task with end dependencies" {
    need_examples
    check "$examples/task_end_dep"
    answers 1 "$no"
    grep -Eq '^  codelet2: a task submits it with what a restart cannot repeat' out
}

@test "two runs submit other tasks: the first submission that differs" {
    check "$patterns" pid-tasks
    answers 1 "$no"
    [ "$(wc -l <err)" -eq 1 ] # of the first run
    grep -Eq "^Two runs differ: main\(\) submits other tasks from submission [0-9]+ on" out
}

@test "two runs begin with other data: the handle" {
    check "$patterns" pid-data
    answers 1 "$no"
    grep -q '^Two runs differ: handle 0 (number of registration) holds other data' out
    # trusted on request; then only the results differ
    STARPU_TIC_INPUTS=0 check "$patterns" pid-data
    answers 0 "It can be protected, if results differ by the order of sums only."
    grep -q '^Note: two runs have other results, as in handle 0 .*not piecewise deterministic.*rehearse' out
}

@test "files that the program writes are named, with who does" {
    for by in append:steps:advance dump:calls.json:advance; do
        IFS=: read -r mode file who <<<"$by"
        check "$TIC_BUILD/tests/lib/rehearsed" "$mode"
        answers 0 'Its data can be protected; its files were not compared: `starpu-tic rehearse` compares them.'
        grep -Fqx "  $file (task $who)" out
    done
    check "$TIC_BUILD/tests/lib/rehearsed" report
    grep -Fqx '  steps (main())' out
    check sh -c '"$1" temporary >printed.new; mv printed.new printed' sh "$patterns"
    grep -Fqx '  printed (main())' out
}

@test "nothing can be said of a program that fails, is not there, or does not use StarPU" {
    P_EXIT=9 check "$program"
    [ "$status" -eq 3 ]
    grep -q 'run 1 of 2 ended with status 9' err
    check sh -c 'kill -TERM $$'
    [ "$status" -eq 3 ]
    grep -q 'run 1 of 2 ended with status 143' err
    check ./no-such-program
    [ "$status" -eq 3 ]
    grep -q 'cannot run ./no-such-program' err
    check sh -c 'echo shell'
    [ "$status" -eq 3 ]
    grep -q 'does not start StarPU' err
    [ "$(<out)" = shell ]
}

@test "settings of a run do not disturb" {
    STARPU_TIC_FAIL=task-end:5 STARPU_TIC_EVERY=10 STARPU_TIC_KEEP=1 STARPU_TIC_PROTOCOL=off \
        check "$program"
    answers 0 "$in_part"
}

@test "an answer that cannot be written is none: status 3" {
    run bash -c '"$@" >&- 2>err' check "$tool" check "$program"
    [ "$status" -eq 3 ]
    grep -q 'cannot write the output' err
}

@test "wrong use: status 2; help: status 0" {
    for arguments in "" "--" "--nonsense $program"; do
        run_apart "$tool" check $arguments
        [ "$status" -eq 2 ]
        [ ! -s out ]
        grep -q '^Usage: starpu-tic check' err
    done
    run_apart "$tool" check --help
    [ "$status" -eq 0 ]
    [ ! -s err ]
    grep -q '^Usage: starpu-tic check' out
}

@test "a directory for temporary files that cannot be used" {
    TMPDIR=$PWD/missing run_apart "$tool" check "$program"
    [ "$status" -eq 3 ]
    [ ! -s out ]
    grep -q missing err
}

# StarPU's main memory and the disk hold copies of the same data.
@test "data on a disk is refused by name, and computes what it computes without check" {
    "$patterns" disk >reference
    check "$patterns" disk
    answers 1 "$no"
    printed reference
    grep -qx '  starpu_disk_register: data on disks .* is not protected yet (1 times)' out
    ! grep -q 'differ' out
}

@test "a disk from the start can be protected" {
    mkdir swap
    STARPU_DISK_SWAP=$PWD/swap STARPU_DISK_SWAP_BACKEND=unistd STARPU_DISK_SWAP_SIZE=200 check "$program"
    answers 0 "$in_part"
}

# The shell of the program reads its standard input, and prints it.
@test "the program reads the whole standard input in each run" {
    seq 20000 >numbers
    check sh -c 'cksum; "$1" temporary' sh "$patterns" <numbers
    answers 0 "$yes"
    [ "$(grep -cx "$(cksum <numbers)" out)" -eq 1 ]
    check sh -c 'cksum; "$1" temporary' sh "$patterns" < <(cat numbers)
    answers 0 "$yes"
    [ "$(grep -cx "$(cksum <numbers)" out)" -eq 1 ]
}

@test "a standard input that is closed is empty" {
    run_apart bash -c '"$@" <&-' closed "$tool" check -- sh -c 'wc -c; "$1" temporary' sh "$patterns"
    answers 0 "$yes"
    [ "$(grep -cx 0 out)" -eq 1 ]
}

# In a run without check each of them finds zeros.
@test "memory that the program has never set: the same verdict each time" {
    for mode in stack heap $(is_soak && echo stack heap stack heap); do
        check "$lib/unset" $mode
        answers 1 "$no"
        grep -q '^Two runs differ: handle 0 .* memory .* never written' out
    done
    for mode in kernel kernel; do
        check "$lib/unset" $mode
        answers 0 "It can be protected, if results differ by the order of sums only."
        ! grep -q 'as it was slower' out
    done
    check "$lib/unset" fails
    answers 1 "$no"
    grep -q '^The program fails where memory that it has never set' out
}

@test "what a later run prints is shown if it fails" {
    check sh -c 'echo run; [ -z "$STARPU_TIC_EVENTS" ] && exec "$1" temporary; echo "not again"; exit 4' \
        sh "$patterns"
    [ "$status" -eq 3 ]
    [ "$(grep -cx run out)" -eq 1 ]
    grep -qx 'not again' err
    grep -q 'run 2 of 2 ended with status 4' err
}

@test "a task without a name is called by its kernel, not by its performance model" {
    check "$lib/unset" nameless
    answers 0 "$yes"
    grep -qx '  look_at (1 tasks)' out
}

# README's first program in small: it has a callback, and main() goes on after waits.
@test "a good run says one line; what check has told of is not warned of again" {
    need_examples
    cholesky=("$examples/cholesky_implicit" -size 960 -nblocks 6)
    run_apart "$tool" run -- "${cholesky[@]}"
    [ "$(<said)" = "starpu-tic: protected: a checkpoint every 1000 s in $STARPU_TIC_DIR (STARPU_TIC_VERBOSE=0 silences this)" ]
    [ "$(wc -l <err)" -eq 2 ]
    rm "$STARPU_TIC_STATS"
    check "${cholesky[@]}"
    answers 0 "$yes"
    grep -q '^Note: what callbacks read' out
    [ -s "$STARPU_TIC_DIR.advice" ]
    run_apart "$tool" run -- "${cholesky[@]}"
    [ ! -s err ] && [ -s said ]
    run_apart "$tool" run -q -- "${cholesky[@]}"
    [ ! -s err ] && [ ! -s said ]
    # nothing is cleared where it cannot be protected
    rm "$STARPU_TIC_DIR.advice" "$STARPU_TIC_STATS"
    check "$patterns" pid-tasks
    answers 1 "$no"
    [ ! -e "$STARPU_TIC_DIR.advice" ]
}
