#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that a run continues its own recovery lines, and no others: those of what the process ran
# before exec, or of other inputs.
load common

identity=$lib/identity

# A kill in phase $1, at the point $2: the same command gives the right result.
phases_resume() {
    rm -rf "$STARPU_TIC_DIR"
    run_apart env STARPU_TIC_EVERY=7 STARPU_TIC_FAIL="$1" timeout "$hangs" "$tool" run -- "$identity" exec
    [ "$status" -eq 137 ] || complain exec "not killed"
    run_apart timeout "$hangs" "$tool" run -- "$identity" exec
    [ "$status" -eq 0 ] && [ "$(<out)" = "$2" ] || complain exec "wrong"
    grep -q 'continuing from recovery line' err || complain exec "not continued"
    [ ! -e "$STARPU_TIC_DIR" ]
}

@test "a program that executes itself: each phase computes what is its own" {
    expected=$("$identity" exec)
    STARPU_TIC_EVERY=7 run_apart timeout "$hangs" "$tool" run -- "$identity" exec
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain exec "wrong"
    [ "$(grep -c 'not protected: .* what this process ran before exec' err)" -eq 2 ] || complain exec "says nothing"
    [ "$(grep -c 'starpu-tic: ' err)" -eq 2 ] || complain exec "says more"
    [ ! -e "$STARPU_TIC_DIR" ]
    phases_resume line-renamed:3 "$expected"
    grep -q 'recovery line 3' err
}

@test "a phase after exec is protected in a directory of its own, and one without lines is not mistaken" {
    expected=$("$identity" exec)
    # No line of the first phase: those of a second one would be found by the first one in a restart.
    STARPU_TIC_PERIOD=1000 run_apart timeout "$hangs" "$tool" run -- "$identity" exec
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain exec "wrong"
    [ "$(grep -c 'not protected: ' err)" -eq 2 ] || complain exec "protected"
    unset STARPU_TIC_DIR
    export EACH=1
    STARPU_TIC_EVERY=7 run_apart timeout "$hangs" "$tool" run -- "$identity" exec
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain exec "wrong"
    says_nothing || complain exec "not protected"
}

@test "a program that executes itself, with copies of its lines" {
    rm -f number
    expected=$("$identity" exec)
    rm number
    STARPU_TIC_COPY=$PWD/copy STARPU_TIC_EVERY=7 run_apart timeout "$hangs" "$tool" run -- "$identity" exec
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain exec "wrong"
    [ "$(grep -c 'not protected: .* what this process ran before exec' err)" -eq 2 ] || complain exec "says nothing"
}

@test "a program that executes itself, supervised" {
    expected=$("$identity" exec)
    unset STARPU_TIC_DIR
    STARPU_TIC_EVERY=7 STARPU_TIC_FAIL=line-renamed:3 run_apart timeout 100 \
        "$tool" run --max-restarts 20 --backoff 0 -- "$identity" exec
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain exec "wrong"
    grep -q 'restart 2 of 20' err
    [ -z "$(ls -d ./*.tic)" ]
}

# Killed at its third line with the file that is there, if there is one.
killed_with_file() { # MODE
    rm -rf "$STARPU_TIC_DIR"
    STARPU_TIC_EVERY=7 STARPU_TIC_FAIL=line-renamed:3 run_apart timeout "$hangs" "$tool" run -- "$identity" "$1"
    [ "$status" -eq 137 ] && says_nothing || complain "$1" "not killed, or messages"
}
refused_for_file() { # MODE, what is said of it
    run_apart timeout "$hangs" "$tool" run -- "$identity" "$1"
    [ "$status" -eq 78 ] && grep -q "main() reads the file number, which $2" err || complain "$1" "not refused"
    grep -q 'STARPU_TIC_PROGRAM=any' err
}
continues() { # MODE EXPECTED
    run_apart timeout "$hangs" "$tool" run -- "$identity" "$1"
    is_right "$2" "lines" || complain "$1" "wrong with its file"
}

@test "a file that main() reads has other content in the restart: refused, by its name" {
    for mode in fopen open openat freopen late; do
        echo 3 >number
        expected=$("$identity" "$mode")
        killed_with_file "$mode"
        echo 4 >number
        refused_for_file "$mode" 'had other content then'
        rm number
        refused_for_file "$mode" 'was there then, and is not now'
        echo 3 >number
        touch -d tomorrow number
        continues "$mode" "$expected"
    done
}

@test "a file that main() looked for, and that is there in the restart: refused" {
    rm -f number
    expected=$("$identity" fopen)
    killed_with_file fopen
    echo 5 >number
    refused_for_file fopen 'was not there then'
    rm number
    continues fopen "$expected"
}

@test "lines of a restart know what the first run has read" {
    echo 3 >number
    expected=$("$identity" late)
    killed_with_file late
    STARPU_TIC_EVERY=7 STARPU_TIC_FAIL=line-renamed:2 run_apart timeout "$hangs" "$tool" run -- "$identity" late
    [ "$status" -eq 137 ]
    echo 4 >number
    refused_for_file late 'had other content then'
    echo 3 >number
    continues late "$expected"
}

@test "STARPU_TIC_PROGRAM=any: other files do not matter" {
    echo 3 >number
    expected=$("$identity" fopen)
    killed_with_file fopen
    echo 3 and more >number
    refused_for_file fopen 'had other content then'
    export STARPU_TIC_PROGRAM=any
    continues fopen "$expected"
}

@test "a script of steps that read and write a file: no step goes on with the lines of another one" {
    cat >steps <<EOF
rm -f number
for i in 1 2 3; do
    if [ \$i = "\$1" ]; then export STARPU_TIC_FAIL=line-renamed:3; fi
    "$identity" state || exit
done
EOF
    expected=$(sh steps)
    rm number
    STARPU_TIC_EVERY=7 run_apart timeout "$hangs" "$tool" run -- sh steps 2
    [ "$status" -eq 137 ] || complain steps "not killed"
    run_apart timeout "$hangs" "$tool" run -- sh steps
    [ "$status" -eq 78 ] && grep -q 'reads the file number, which was there then' err || complain steps "not refused"
    echo 2 >number # as it was
    run_apart timeout "$hangs" "$tool" run -- "$identity" state
    [ "$status" -eq 0 ] && [ "$(<out)" = "$(sed -n 2p <<<"$expected")" ] || complain steps "wrong"
}

@test "a file that main() reads, and overwrites before it has ended: told in the first run" {
    echo 3 >number
    STARPU_TIC_EVERY=7 STARPU_TIC_FAIL=line-renamed:3 run_apart timeout "$hangs" "$tool" run -- "$identity" rewrite
    [ "$status" -eq 137 ]
    [ "$(grep -c 'writes the file number that it has read' err)" -eq 1 ] || complain rewrite "not told"
    refused_for_file rewrite 'had other content then'
}

@test "files that main() writes before it reads them, FIFOs, directories and thousands of files are no inputs" {
    mkfifo fifo
    for mode in own many; do
        echo 3 >number
        expected=$("$identity" "$mode")
        killed_with_file "$mode"
        continues "$mode" "$expected"
    done
}
