#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that starpu-tic check finds registered data that main() touches by plain pointers, that it
# disturbs no program by that, and that runs read the advice that it leaves.
load common

touches=$lib/touches

# look MODE [OPTION...]: out, err and status of check. It leaves nothing but advice, and the program
# prints what it prints by itself.
look() {
    local mode=$1
    shift
    env -u STARPU_TIC_STATS "$touches" "$mode" >alone
    mkdir -p temporary
    TMPDIR=$PWD/temporary run_apart timeout "$hangs" "$tool" check "$@" -- "$touches" "$mode"
    [ -z "$(ls -A temporary)" ]
    [ "$status" -eq 0 ] || complain "$mode" "check failed"
    [ ! -s err ] || complain "$mode" "there are messages"
    cmp alone <(sed "/^$/,\$d" out)
    grep -q '^The program writes files:' out || [ "$(tail -n 1 out)" = "${verdict:-It can be protected.}" ]
}

in_part='It can be protected; main() was not watched throughout: `starpu-tic rehearse` tells more.'

# found VERB ID AFTER: one line of the report.
found() {
    grep -Eq "^  main\(\) $1 data $2 \(800000 bytes\) by its pointer, without starpu_data_acquire, at .+, after $3\$" out ||
        complain "$1 data $2" "was not found"
}

finds() { # how many lines there are
    [ "$(grep -c 'by its pointer' out)" -eq "$1" ] || complain "$1 lines" "found others"
}

advises() { # ids
    [ "$(sed -n 's/^log //p' "$STARPU_TIC_DIR.advice" | xargs)" = "$*" ]
}

nothing() {
    finds 0
    advises # that nobody need be warned
}

@test "main() reads, or writes, after it has waited for all tasks" {
    look reads
    finds 1
    found reads 0 starpu_task_wait_for_all
    advises 0
    look first
    finds 1
    found reads 0 starpu_task_wait_for_all
    look writes
    finds 1
    found writes 0 starpu_task_wait_for_all
    advises 0
    look changes
    found reads 0 starpu_task_wait_for_all
    found writes 0 starpu_task_wait_for_all
    grep -q 'reads and writes' "$STARPU_TIC_DIR.advice"
}

@test "the place is the line of the source, that of the program if a library does it" {
    command -v addr2line >/dev/null || skip "no addr2line"
    look reads
    line=$(sed -n 's/.* at touches\.c:\([0-9]*\) (sum),.*/\1/p' out)
    sed -n "${line}p" "$BATS_TEST_DIRNAME/../lib/touches.c" | grep -q 'values\[i\]'
    look copies
    finds 1
    grep -q ' at touches\.c:[0-9]* (touch), after' out
}

@test "without addr2line the place is an address in the program" {
    mkdir bin
    for name in env timeout; do ln -s "$(command -v $name)" bin/; done
    PATH=$PWD/bin "$tool" check "$touches" reads >out
    grep -Eq ' at touches\+0x[0-9a-f]+, after' out
}

@test "partitioned data, synchronous tasks, and data beside what main() holds" {
    look part
    finds 1
    found reads 0 starpu_task_wait_for_all
    look synchronous
    finds 1
    found reads 0 "a synchronous task"
    look beside
    finds 1
    found reads 1 starpu_data_acquire
    advises 1
}

@test "tiles of a matrix whose columns are shorter than a page" {
    # the pages at both ends are not theirs alone, and when one has left, none are
    verdict=$in_part look tile
    finds 1
    grep -q '^  main() reads data 6 (80000 bytes) by its pointer' out
    sed -n 's/^log //p' "$STARPU_TIC_DIR.advice" | grep -qx 6
    verdict=$in_part look held-tile
    finds 0
}

@test "nothing is said of accesses, of small data, of data that only main() writes, of former data" {
    for mode in acquires small input gone; do
        look $mode
        nothing
    done
}

@test "a program that handles SIGSEGV itself" {
    look handler
    found reads 0 starpu_task_wait_for_all
}

@test "a fault of the program's own ends it as ever" {
    run_apart "$touches" crash
    [ "$status" -eq 139 ]
    run_apart timeout "$hangs" "$tool" check "$touches" crash
    [ "$status" -eq 3 ]
    grep -q 'run 1 of 2 ended with status 139' err
    STARPU_TIC_PAGES=1 STARPU_TIC_REPORT=report LD_PRELOAD=$library run_apart "$touches" crash
    [ "$status" -eq 139 ]
}

@test "a program that fails because a system call does is run once more without" {
    "$touches" kernel >alone
    run_apart timeout "$hangs" "$tool" check "$touches" kernel
    [ "$status" -eq 0 ]
    cmp alone <(sed "/^$/,\$d" out)
    grep -q '^Note: the program fails while its data is closed to it' out
    grep -q '^Its data can be protected; its files were not compared, nor was main() watched throughout' out
    nothing
}

# The kernel does not fault on closed memory: the call fails, and few programs look.
@test "system calls that main() gives data are seen, and a restart gives them the right values" {
    head -c 2400000 /dev/zero | tr '\0' 'a' >input
    for mode in system stream input-system input-stream; do
        rm -f values "$STARPU_TIC_DIR.advice"
        look $mode
        finds 1
        case $mode in
        input-*) found writes 0 starpu_task_wait_for_all ;;
        *) found reads 0 starpu_task_wait_for_all ;;
        esac
        advises 0
        [ ! -e values ] || mv values expected
        STARPU_TIC_EVERY=2 crash line-renamed:2 "$touches" $mode
        run_apart "$tool" run -- "$touches" $mode
        [ "$status" -eq 0 ] && cmp alone out || complain $mode "wrong"
        grep -q 'continuing from' err || complain $mode "did not continue"
        [ ! -e values ] || cmp expected values
    done
}

@test "what tells of system calls is in no other run" {
    for variable in 0 1; do
        STARPU_TIC_PAGES=$variable STARPU_TIC_REPORT=report \
            "$tool" run -- sh -c 'cat /proc/self/maps' >maps
        grep -q libstarputic.so maps
        [ "$(grep -c tic-syscalls.so maps)" -gt 0 ] && seen=1 || seen=0
        [ $seen -eq $variable ]
    done
}

@test "where the advice is written: beside the directory of a run, or where it is wanted" {
    unset STARPU_TIC_DIR
    "$tool" check --advice wanted "$touches" reads >out
    grep -qx 'log 0' wanted
    grep -q ' the file wanted, ' out
    [ "$(ls -d ./*.advice 2>/dev/null)" = "" ]
    "$tool" check "$touches" reads >out
    advice=$(echo touches-*.tic.advice)
    grep -qx 'log 0' "$advice"
    # the run's own directory has this name
    STARPU_TIC_KEEP=1 STARPU_TIC_VERBOSE=2 LD_PRELOAD=$library run_apart "$touches" reads
    grep -q "advice in $PWD/$advice: .* 1 " err
    [ -d "${advice%.advice}" ]
    # elsewhere, with a message if it cannot be
    run_apart "$tool" check --advice missing/file "$touches" reads
    [ "$status" -eq 0 ]
    grep -q 'cannot write missing/file' err
}

@test "advice that is not needed any more is replaced" {
    look reads
    advises 0
    look acquires
    finds 0
    advises
}

@test "a run reads advice, but not what others may write" {
    printf '# comment\n\nlog 3\n  log 0\nlog 7 8\nseen 1 2\n' >"$STARPU_TIC_DIR.advice"
    STARPU_TIC_VERBOSE=2 LD_PRELOAD=$library run_apart "$touches" reads
    [ "$status" -eq 0 ]
    grep -q "advice in $STARPU_TIC_DIR.advice: .* 2 " err
    grep -q "$STARPU_TIC_DIR.advice, line 5, is ignored" err
    chmod g+w "$STARPU_TIC_DIR.advice"
    STARPU_TIC_VERBOSE=2 LD_PRELOAD=$library run_apart "$touches" reads
    [ "$status" -eq 0 ]
    grep -q "$STARPU_TIC_DIR.advice is ignored: .* others may write to it" err
    ! grep -q ' 2 pieces' err
}

@test "examples run as they do without" {
    need_examples
    export STARPU_TIC_REPORT=$PWD/report STARPU_TIC_PAGES=1 LD_PRELOAD=$library
    for name in vector_scal variable block cholesky_implicit reductions/dot_product; do
        [ -x "$examples/$name" ] || continue
        run_apart timeout "$hangs" "$examples/$name"
        [ "$status" -eq 0 ] || complain "$name" "failed"
        [ -s report ] || complain "$name" "has no report"
        rm report
    done
}

@test "the note about larger data comes once, and not where somebody has looked" {
    local note="starpu-tic explain large"
    STARPU_TIC_FAIL=task-end:40 STARPU_TIC_EVERY=5 run_apart "$tool" run -- "$lib/unseen" sumlarge 0.2
    [ "$status" -eq 137 ]
    [ "$(grep -c "$note" err)" -eq 1 ]
    run_apart "$tool" run -- "$lib/unseen" sumlarge 0.2
    grep -q "continuing from" err
    [ "$(grep -c "$note" err)" -eq 0 ]
    run_apart "$tool" run -- "$lib/unseen" sumlarge 0.2
    [ "$(grep -c "$note" err)" -eq 1 ]
    : >"$STARPU_TIC_DIR.advice" # nobody has looked
    run_apart "$tool" run -- "$lib/unseen" sumlarge 0.2
    [ "$(grep -c "$note" err)" -eq 1 ]
    echo 'seen 0 99' >"$STARPU_TIC_DIR.advice"
    run_apart "$tool" run -- "$lib/unseen" sumlarge 0.2
    [ "$(grep -c "$note" err)" -eq 0 ]
}

# told MODE NOTE: the first run tells it once.
told() {
    rm -rf "$STARPU_TIC_DIR" "$STARPU_TIC_DIR.advice"
    run_apart timeout "$hangs" "$tool" run -- "$lib/told" "$1"
    [ "$status" -eq 0 ] && [ "$(<out)" = "$("$lib/told" "$1")" ] || complain "$1" "wrong"
    [ "$(grep -c "$2" err)" -eq 1 ] || complain "$1" "was not told"
}

@test "what a restart may not give back is told, where the program does it" {
    STARPU_TIC_VERBOSE=2 told exposed 'main() has had a pointer to data 0'
    told packed 'may touch data 0'
    run_apart timeout "$hangs" "$tool" check "$lib/told" packed
    [ "$status" -eq 0 ] && ! grep -q 'interface packs' err
    grep -q '^Note: main() goes on .* that its interface packs (the first: data 0, by number of registration)' out ||
        complain packed "not told by check"
    told addresses 'tasks write addresses of memory of this process into data 0'
    told blind 'task "read_all" declares no data'
    STARPU_TIC_VERBOSE=2 told callback 'task "add_one" has a callback, and does not declare data 1 (number of registration, 8 bytes)'
    run_apart timeout "$hangs" "$tool" check "$lib/told" callback
    grep -q '^Note: task "add_one" has a callback, and does not declare data 1' out || complain callback "not told by check"
    told left 'data 0: main() may read it after starpu_data_unregister_no_coherency'
    STARPU_TIC_LOOKS=8192 run_apart timeout "$hangs" "$tool" run -- "$lib/told" left
    [ ! -s err ] || complain left "told although it is logged"
    run_apart timeout "$hangs" "$tool" run -- "$lib/told" declared
    ! grep -Eq 'had a pointer|packs|addresses|declares no data|no_coherency' err || complain declared "told"
}

@test "main() reads small data that its interface packs by its pointers, and sees it again" {
    local at expected skipped=0
    expected=$("$lib/told" packed)
    export STARPU_TIC_EVERY=1
    for at in task-end:2 task-end:4 task-end:6 wait-end:3 wait-end:5; do
        resumes $at 2 "$expected" "$lib/told" packed
    done
    [ "$skipped" -gt 0 ]
}

@test "an interface that lays data out otherwise after unpack_data stops the restart" {
    STARPU_TIC_EVERY=1 STARPU_TIC_FAIL=task-end:4 run_apart timeout "$hangs" "$tool" run -- "$lib/told" moved
    [ "$status" -eq 137 ] && ! grep -q 'unpack_data' err
    run_apart timeout "$hangs" "$tool" run -- "$lib/told" moved
    [ "$status" -eq 78 ]
    [ "$(grep -c 'data 0 (number of registration) was given back by unpack_data' err)" -eq 1 ]
}

@test "it is told before a recovery line holds what main() has gone on with" {
    STARPU_TIC_FAIL=task-end:2 run_apart timeout "$hangs" "$tool" run -- "$lib/told" packed
    [ "$status" -eq 137 ] && grep -q 'may touch data' err
}

@test "a number in the place of arguments is no memory" {
    local expected protocol
    expected=$("$lib/told" number)
    for protocol in tic sel; do
        export STARPU_TIC_PROTOCOL=$protocol STARPU_TIC_EVERY=7
        crash task-end:40 "$lib/told" number
        run_apart timeout "$hangs" "$tool" run -- "$lib/told" number
        is_right "$expected" || complain number "wrong"
        rm -rf "$STARPU_TIC_DIR"
    done
}

# Not every piece has pages of its own: check gives each one such, and says where it cannot.
@test "data that shares pages with other memory" {
    look heap
    finds 1
    grep -q '^  main() reads data 0 (4800 bytes) by its pointer' out
    rm -f "$STARPU_TIC_DIR.advice"
    verdict=$in_part look static
    nothing
    grep -q '^Note: 1 data handles share pages with other memory, at data 0 (800000 bytes) first' out
    grep -q '^Note: 1 of 2 data handles that tasks wrote (of more than 4 KiB) were watched' out
    look reads
    ! grep -q '^Note: ' out
}

# restart MODE: it is killed in its last round, and the next run goes on from what it had then.
restart() {
    STARPU_TIC_EVERY=2 crash line-renamed:3 "$touches" "$1"
    run_apart timeout "$hangs" "$tool" run -- "$touches" "$1"
    [ "$status" -eq 0 ] && grep -q 'continuing from' err || complain "$1" "did not continue"
}

@test "advice silences the restart for data that check has watched whenever main() had waited, and no other" {
    local later='main() goes on after waits, and may read data 0 (800000 bytes) as it is later'
    look none
    grep -qx 'seen 0 1' "$STARPU_TIC_DIR.advice"
    restart none
    cmp alone out && ! grep -q 'may read data' err || complain none "told, or wrong"
    rm "$STARPU_TIC_DIR.advice"
    restart none
    grep -Fq "$later" err || complain none "not told"
    # Its page holds other variables, too.
    verdict=$in_part look static
    grep -qx 'seen 1 1' "$STARPU_TIC_DIR.advice"
    restart static
    grep -Fq "$later" err || complain static "not told"
    # When main() reads it a task is there.
    verdict=$in_part look busy
    grep -q '^Note: main() was not watched after 3 of [0-9]* calls of StarPU: it had waited for some tasks' out
    ! grep -q '^seen' "$STARPU_TIC_DIR.advice"
    restart busy
    grep -Fq "${later/data 0/data 1}" err || complain busy "not told"
}

@test "a program that does something else where its data is closed: a third run tells" {
    run_apart timeout "$hangs" "$tool" check -- "$touches" closed
    [ "$status" -eq 0 ] && [ "$(tail -n 1 out)" = "It can be protected." ]
    grep -q '^Note: the program did something else in the run in which its data was closed' out
    ! grep -q '^Two runs differ' out
}

@test "check counts no data where main() was watched at no time" {
    verdict=$in_part look crowded
    grep -q '^Note: main() was not watched after 1 of [0-9]* calls of StarPU' out
    ! grep '^Note: 0 of' out
}
