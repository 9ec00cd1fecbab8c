#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks how runs start, end, continue and refuse.
load common

sync=commit # as it is by default

expected() { # the output of a run without faults
    STARPU_TIC_PROTOCOL=off "$tool" run -- "$program" | grep -v progress
}

# The result of the task that was stolen last is not executed again, although no line knows it.
@test "stolen tasks are not executed again" {
    need_examples
    export STARPU_TIC_VERIFY=0 # else results are not used
    cholesky=("$examples/cholesky_implicit" -size 960 -nblocks 12)
    for _ in {1..10}; do # there is a twelfth theft, and it comes after the first line, nearly always
        rm -rf "$STARPU_TIC_DIR"
        STARPU_TIC_EVERY=20 STARPU_TIC_FORCED=100 STARPU_TIC_FAIL=forced-written:12 \
            run "$tool" run -- "${cholesky[@]}"
        [ "$status" -eq 137 ] || continue
        STARPU_NCPU=3 run_apart "$tool" run -- "${cholesky[@]}"
        [ "$status" -eq 0 ]
        [ "$(stat_of recovered)" = false ] || break
    done
    [ "$(stat_of forced_used)" -ge 1 ]
    [ $(($(stat_of tasks_executed) + $(stat_of tasks_skipped) + $(stat_of forced_used))) -eq \
        "$(stat_of tasks_submitted)" ]
}

@test "a program that a protected one starts runs unprotected in the same directory" {
    local child="env -u P_START P_QUIET=1 P_TASKS=20 $program"
    P_START=$child P_QUIET=1 run_apart timeout "$hangs" "$tool" run -- "$program"
    [ "$status" -eq 0 ] && [ "$(<out)" = "$(P_QUIET=1 P_TASKS=20 $program; P_QUIET=1 $program)" ] ||
        complain program "wrong, or its child was refused"
    grep -q 'not protected: the program that started it uses STARPU_TIC_DIR' err
    P_START="env STARPU_TIC_DIR=other $child" P_QUIET=1 run_apart timeout "$hangs" "$tool" run -- "$program"
    [ "$status" -eq 0 ] && ! grep -q 'not protected' err || complain program "its child is not protected elsewhere"
}

@test "the directory is named by a link: each end removes it, and the next start makes it again" {
    mkdir real
    for link in real "$PWD/real"; do
        rm -f "$STARPU_TIC_DIR"
        ln -s "$link" "$STARPU_TIC_DIR"
        for _ in 1 2; do
            P_QUIET=1 run_apart "$tool" run -- "$program"
            [ "$status" -eq 0 ] && [ ! -e real ] && [ -L "$STARPU_TIC_DIR" ] || complain "$link" "wrong"
        done
        STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
        ls real/p0-line-*.h5
        P_QUIET=1 run_apart "$tool" run -- "$program"
        [ "$status" -eq 0 ] && grep -q 'continuing from' err
    done
}

# A restart skips them, and prints nothing for them.
@test "what done tasks have printed is written before the recovery line counts" {
    local protocol done
    for protocol in tic sel; do
        STARPU_TIC_EVERY=7 STARPU_TIC_PROTOCOL=$protocol STARPU_TIC_FAIL=line-renamed:3 \
            run_apart "$tool" run -- "$lib/rehearsed" talk
        [ "$status" -eq 137 ]
        mv out killed
        done=$("$tool" info --json "$STARPU_TIC_DIR" | jq '.lines[0].tasks_done')
        [ "$done" -ge 7 ] && [ "$(grep -c '^task [0-9]*$' killed)" -ge "$done" ] ||
            complain $protocol "$done tasks are done, and fewer have printed"
        STARPU_TIC_PROTOCOL=$protocol run_apart "$tool" run -- "$lib/rehearsed" talk
        [ "$status" -eq 0 ]
        [ "$(grep -h '^task' killed out | sort -u | wc -l)" -eq 40 ]
    done
}

@test "what main() alone prints is not written for a recovery line: it prints again in a restart" {
    expected=$(P_QUIET=1 "$program")
    STARPU_TIC_EVERY=200 STARPU_TIC_FAIL=line-renamed:1 P_QUIET=1 run_apart "$tool" run -- "$program"
    [ "$status" -eq 137 ] && [ ! -s out ] || complain "$program" "has printed"
    P_QUIET=1 run_apart "$tool" run -- "$program"
    is_right "$expected" "" || complain "$program" "wrong"
}

@test "forks run unprotected: each would take the recovery lines of another one for its own" {
    expected=$(timeout "$hangs" "$lib/starters" 2 fork)
    run_apart timeout "$hangs" "$tool" run -- "$lib/starters" 2 fork
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain starters "wrong"
    [ "$(grep -c 'not protected: it is a fork' err)" -eq 2 ] && [ ! -e "$STARPU_TIC_DIR" ] ||
        complain starters "its children are protected, or were not told"
}

@test "other standard input is refused" {
    seq 30 >one
    seq 31 >other
    expected=$("$lib/rehearsed" input <one)
    STARPU_TIC_EVERY=5 STARPU_TIC_FAIL=line-renamed:3 run_apart "$tool" run -- "$lib/rehearsed" input <one
    [ "$status" -eq 137 ]
    run_apart "$tool" run -- "$lib/rehearsed" input <other
    [ "$status" -eq 78 ] && grep -q 'its standard input was a file with other content' err ||
        complain rehearsed "not refused"
    run_apart timeout "$hangs" "$tool" run -- "$lib/rehearsed" input <one
    is_right "$expected" "lines" || complain rehearsed "wrong with its input"
}

@test "another build of the program is refused, unless it does the same" {
    cp "$program" built
    expected=$(./built | grep -v progress)
    STARPU_NCPU=1 STARPU_TIC_EVERY=20 STARPU_TIC_FAIL=line-renamed:3 run_apart "$tool" run -- ./built
    [ "$status" -eq 137 ]
    python3 - built <<'EOF'
import re, sys
binary = bytearray(open(sys.argv[1], "rb").read())
note = re.search(rb"\x04\0\0\0....\x03\0\0\0GNU\0", binary, re.S)
binary[note.end()] ^= 0xff
open(sys.argv[1], "wb").write(binary)
EOF
    run_apart "$tool" run -- ./built
    [ "$status" -eq 78 ] && grep -q 'the program was built anew since then' err || complain built "not refused"
    STARPU_TIC_PROGRAM=any run_apart timeout "$hangs" "$tool" run -- ./built
    [ "$status" -eq 0 ] && [ "$(grep -v progress out)" = "$expected" ] && [ "$(stat_of recovered)" = true ] ||
        complain built "wrong, or from the beginning"
}

@test "StarPU takes longer to start than STARPU_TIC_PATIENCE" {
    expected=$(expected)
    STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
    STARPU_TIC_PATIENCE=0.001 run_apart timeout "$hangs" "$tool" run -- "$program"
    [ "$status" -eq 0 ] && [ "$(grep -v progress out)" = "$expected" ] || complain program "wrong, or crashed"
}

@test "main() that waits for a kernel, which a restart skips, is told of" {
    export P_POST=1 STARPU_TIC_EVERY=20
    crash line-renamed:1 "$program"
    STARPU_TIC_PATIENCE=0.2 "$tool" run -- "$program" >out 2>err 3>&- &
    until grep -q 'the replay stands still: main() waits outside of StarPU' err; do
        kill -0 $! || complain program "did not stand still, or told nothing"
        sleep 0.05 # until it looks
    done
    kill -KILL $!
    wait $! || [ $? -eq 137 ]
}

@test "who dies after the last task, in an exit handler, goes on from the last line" {
    P_LATE=1 STARPU_TIC_EVERY=20 run "$tool" run -- "$program"
    [ "$status" -eq 137 ]
    run_apart "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(stat_of tasks_skipped)" -ge 180 ]
    [ ! -e "$STARPU_TIC_DIR" ]
}

@test "a program that opens StarPU with RTLD_DEEPBIND is not protected, and is told so once" {
    [ "$("$lib/late")" = 200 ] || skip "StarPU's development files are not there"
    LATE_DEEP=1 run_apart "$tool" run -- "$lib/late"
    [ "$status" -eq 0 ] && [ "$(<out)" = 200 ]
    [ "$(wc -l <err)" -eq 1 ] && grep -q "not protected: .*libstarpu.* was not reached" err ||
        complain late "not told, or not once"
    # StarPU that is loaded and not started, protection that is not wanted, StarPU that is reached
    LATE_DEEP=1 LATE_IDLE=1 run_apart "$tool" run -- "$lib/late"
    [ ! -s err ]
    LATE_DEEP=1 STARPU_TIC_PROTOCOL=off run_apart "$tool" run -- "$lib/late"
    [ ! -s err ]
    run_apart "$tool" run -- "$lib/late"
    [ ! -s err ]
}

@test "success removes the recovery lines and the directory" {
    STARPU_TIC_EVERY=20 run "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ ! -e "$STARPU_TIC_DIR" ]
    [ "$(stat_of checkpoints)" -gt 0 ]
}

@test "STARPU_TIC_KEEP=1 keeps them; so does a program that fails" {
    export STARPU_TIC_EVERY=20
    STARPU_TIC_KEEP=1 run "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    ls "$STARPU_TIC_DIR"/p0-line-*.h5
    rm -rf "$STARPU_TIC_DIR"
    P_EXIT=3 run "$tool" run -- "$program"
    [ "$status" -eq 3 ]
    ls "$STARPU_TIC_DIR"/p0-line-*.h5
}

@test "a program that never shuts StarPU down ends as usual" {
    P_NOSHUTDOWN=1 STARPU_TIC_EVERY=20 run "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ ! -e "$STARPU_TIC_DIR" ]
}

@test "by default the directory is named after program and arguments, in the working directory" {
    unset STARPU_TIC_DIR
    STARPU_TIC_KEEP=1 STARPU_TIC_EVERY=20 run "$tool" run -- "$program"
    STARPU_TIC_KEEP=1 STARPU_TIC_EVERY=20 run "$tool" run -- "$program" other
    [ "$(ls -d program-????????.tic | wc -l)" -eq 2 ]
    [ -z "$(find program-????????.tic -perm /077)" ] # nobody else reads or writes them
}

@test "killed and started again: the work is skipped, the result is the same" {
    export STARPU_TIC_EVERY=20
    reference=$(expected)
    crash task-end:150 "$program"
    STARPU_NCPU=1 run "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(grep -v -e progress -e starpu-tic <<<"$output")" = "$reference" ]
    [[ $output == *"progress: status 0 recovered 1 skipped all 1 replaying 0"* ]]
    [[ $output == *"continuing from recovery line"* ]]
    [ "$(stat_of recovered)" = true ]
    [ "$(stat_of recovered_tasks)" -gt 0 ]
    [ "$(stat_of tasks_skipped)" -eq "$(stat_of recovered_tasks)" ]
    [ $(($(stat_of tasks_executed) + $(stat_of tasks_skipped) + $(stat_of forced_used))) -eq 200 ]
}

@test "a killed program that is asked for checkpoints needs no period" {
    unset STARPU_TIC_EVERY
    P_REQUEST=1 P_TASKS=100000 crash line-renamed:1 "$program"
    P_TASKS=100000 run "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(stat_of recovered)" = true ]
    reference=$(P_TASKS=100000 STARPU_TIC_PROTOCOL=off "$tool" run -- "$program" | grep -v progress)
    [ "$(grep -v -e progress -e starpu-tic <<<"$output")" = "$reference" ]
}

@test "another program, and other arguments, are refused; nothing is lost" {
    STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
    cp "$program" other-program
    run "$tool" run -- ./other-program
    [ "$status" -eq 78 ]
    [[ $output == *'the program is "program" there, and "other-program" here'* ]]
    run "$tool" run -- "$program" argument
    [ "$status" -eq 78 ]
    [[ $output == *'the arguments are "" there, and "argument" here'* ]]
    run "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(stat_of recovered)" = true ]
}

@test "two runs at once: the second is refused, the first goes on" {
    mkfifo ready go
    P_HOLD=1 "$tool" run -- "$program" >first 2>&1 3>&- &
    cat ready # now the first run holds the store
    run "$tool" run -- "$program"
    sh -c ': >go' # a child: bash itself may be interrupted while it opens
    [ "$status" -eq 78 ]
    [[ $output == *"another run uses"* ]]
    wait $!
    grep -q progress first
}

@test "a damaged newest line: the older one is used, with a warning" {
    reference=$(expected)
    STARPU_NCPU=1 STARPU_TIC_EVERY=20 crash line-renamed:3 "$program"
    printf X | dd of="$STARPU_TIC_DIR"/p0-line-00000003.h5 bs=1 seek=2000 conv=notrunc 2>/dev/null
    run "$tool" info "$STARPU_TIC_DIR"
    [ "$status" -eq 1 ]
    [[ $output == *"p0-line-00000003.h5: damaged"* ]]
    run "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [[ $output == *"p0-line-00000003.h5 is not used: damaged"* ]]
    [[ $output == *"continuing from recovery line 2"* ]]
    [ "$(grep -v -e progress -e starpu-tic <<<"$output")" = "$reference" ]
}

@test "damaged data: found before the program starts" {
    STARPU_TIC_EVERY=20 crash line-renamed:1 "$program"
    for segment in "$STARPU_TIC_DIR"/p0-segment-*.h5; do
        dd if=/dev/zero of="$segment" bs=4096 seek=1 count=20 conv=notrunc 2>/dev/null
    done
    run "$tool" run -- "$program"
    [ "$status" -eq 78 ]
    [[ $output == *"remove the directory"* ]]
    [[ $output != *progress* ]]
}

@test "a store of a future format is refused" {
    STARPU_TIC_EVERY=20 crash line-renamed:1 "$program"
    sed -i '2s/format [0-9]*/format 9/' "$STARPU_TIC_DIR"/p0-line-00000001.h5
    run "$tool" run -- "$program"
    [ "$status" -eq 78 ]
    [[ $output == *"written by another version of starpu-tic"* ]]
    [ -e "$STARPU_TIC_DIR"/p0-line-00000001.h5 ]
}

@test "a replay that diverges stops and names the first submission that differs" {
    STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
    P_SWAP=17 run "$tool" run -- "$program"
    [ "$status" -eq 70 ]
    [[ $output == *'submission 17 is now task "twice" on handles 1 '* ]]
    run "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(stat_of recovered)" = true ]
}

@test "a replay that ends too early stops" {
    STARPU_TIC_EVERY=20 crash task-end:190 "$program"
    P_TASKS=3 run "$tool" run -- "$program"
    [ "$status" -eq 70 ]
    [[ $output == *"main() waits for tasks where it did not wait for them"* ]]
}

@test "other input: a restart goes on with what was recorded, or stops, or nobody looks" {
    export P_QUIET=1
    expected=$("$program" 2>/dev/null)
    STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
    STARPU_TIC_INPUTS=check P_INPUT=5 run "$tool" run -- "$program"
    [ "$status" -eq 78 ]
    [[ $output == *"the input of this run differs: handle 0"* ]]
    cp -r "$STARPU_TIC_DIR" again
    STARPU_TIC_INPUTS=ignore P_INPUT=5 run "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    STARPU_TIC_DIR=$PWD/again P_INPUT=5 run_apart "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(<out)" = "$expected" ]
    [ "$(grep -c "held other content when a task first read it" err)" -eq 1 ]
}

@test "other input at any moment: the result is that of the recorded one" {
    expected=$(P_QUIET=1 "$program" 2>/dev/null)
    for at in 2 40 90 170; do
        rm -rf "$STARPU_TIC_DIR"
        P_QUIET=1 STARPU_TIC_EVERY=2 STARPU_TIC_FAIL=task-begin:$at \
            run_apart "$tool" run -- "$program"
        [ "$status" -eq 137 ]
        P_QUIET=1 P_INPUT=5 STARPU_NCPU=3 run_apart "$tool" run -- "$program"
        [ "$(stat_of recovered)" = false ] || is_right "$expected" "" || complain "$at" "wrong"
    done
}

@test "time() of the program is replayed, before and after starpu_init" {
    export STARPU_TIC_EVERY=20 P_TIME=1
    # fixed_time counts calls from the year 2020 on: the real clock of the second run differs
    export LD_PRELOAD=$library:$fixed_time
    STARPU_TIC_FAIL=line-renamed:2 run stdbuf -oL "$program"
    [ "$status" -eq 137 ]
    [ "$(grep -c '^time .* 16000000' <<<"$output")" -eq 2 ]
    first=$(grep '^time' <<<"$output")
    export LD_PRELOAD=$library
    run "$program"
    [ "$status" -eq 0 ]
    [ "$(grep '^time' <<<"$output")" = "$first" ]
}

@test "a directory that cannot be made is a clear error at the start" {
    touch file
    STARPU_TIC_DIR=$PWD/file/store run "$tool" run -- "$program"
    [ "$status" -eq 78 ]
    [[ $output == *"cannot use the directory"* ]]
    STARPU_TIC_DIR=$PWD/missing/store run "$tool" run -- "$program"
    [ "$status" -eq 78 ]
    [[ $output == *"create the folder that it is in"* ]]
}

@test "a kill while success removes the lines leaves a store that can be used" {
    export STARPU_TIC_EVERY=20
    reference=$(expected)
    crash line-removed:1 "$program"
    run "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(stat_of recovered)" = true ]
    [ ! -e "$STARPU_TIC_DIR" ]
    [ "$(grep -v -e progress -e starpu-tic <<<"$output")" = "$reference" ]
    crash line-removed:2 "$program"
    run "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(grep -v -e progress -e starpu-tic <<<"$output")" = "$reference" ]
}

@test "verify tells what is damaged and which line is good" {
    STARPU_NCPU=1 STARPU_TIC_EVERY=20 crash line-renamed:3 "$program"
    run "$tool" verify "$STARPU_TIC_DIR"
    [ "$status" -eq 0 ]
    [ "$(grep -c '  good: ' <<<"$output")" -ge 2 ]
    # the line file itself
    cp -a "$STARPU_TIC_DIR" undamaged
    flip_at p0-line-00000003.h5 3000
    run "$tool" verify "$STARPU_TIC_DIR"
    [ "$status" -eq 1 ]
    [[ $output == *$'p0-line-00000003.h5\n  damaged: its content does not have the checksum'* ]]
    [[ $output == *"a restart continues from recovery line 2" ]]
    truncate -s 300 "$STARPU_TIC_DIR"/p0-line-00000003.h5
    run "$tool" verify "$STARPU_TIC_DIR"
    [ "$status" -eq 1 ]
    [[ $output == *"damaged: it is shorter than its header"* ]]
    # under another name it is another line
    cp undamaged/p0-line-00000003.h5 "$STARPU_TIC_DIR"/p0-line-00000009.h5
    run "$tool" verify "$STARPU_TIC_DIR"
    [ "$status" -eq 1 ]
    [[ $output == *"p0-line-00000009.h5"*"damaged"* ]]
    # all lines
    for file in "$STARPU_TIC_DIR"/p0-line-*.h5; do
        flip_at "${file##*/}" 2
    done
    run "$tool" verify "$STARPU_TIC_DIR"
    [ "$status" -eq 3 ]
    [[ $output == *"no recovery line in $STARPU_TIC_DIR can be used" ]]
    # a segment that is gone
    rm -rf "$STARPU_TIC_DIR"
    cp -a undamaged "$STARPU_TIC_DIR"
    rm "$STARPU_TIC_DIR"/p0-segment-*.h5
    run "$tool" verify "$STARPU_TIC_DIR"
    [ "$status" -eq 3 ]
    [[ $output == *"/values, entry 0 (handle 0): p0-segment-"*" is missing"* ]]
    mkdir empty
    run "$tool" verify empty
    [ "$status" -eq 3 ]
    [ "$output" = "no recovery line in empty" ]
    run "$tool" verify no-such-directory
    [ "$status" -eq 3 ]
    [[ $output == *"No such file or directory"* ]]
}

@test "verify names the handle, the row and the byte that are damaged" {
    STARPU_TIC_FORCED=0 STARPU_TIC_EVERY=20 crash line-renamed:1 "$program"
    for segment in "$STARPU_TIC_DIR"/p0-segment-*.h5; do
        dd if=/dev/zero of="$segment" bs=4096 seek=1 count=20 conv=notrunc 2>/dev/null
    done
    run "$tool" verify "$STARPU_TIC_DIR"
    [ "$status" -eq 3 ]
    [[ $output == *"/values, entry "*" (handle "*"): p0-segment-0000000"?".h5, dataset /payload-"*", row "*", at byte "*": does not have its checksum"* ]]
    byte=$(sed -n 's/.*entry .*at byte \([0-9]*\):.*/\1/p' <<<"$output" | head -n 1)
    [ "$byte" -ge 4096 ]
}

@test "STARPU_TIC_KEEP_LINES says how many lines are kept, also across a restart" {
    export STARPU_TIC_EVERY=20
    reference=$(expected)
    STARPU_NCPU=1 STARPU_TIC_KEEP_LINES=4 crash line-retired:2 "$program"
    [ "$(ls "$STARPU_TIC_DIR"/p0-line-*.h5 | wc -l)" -eq 4 ]
    for file in $(ls "$STARPU_TIC_DIR"/p0-line-*.h5 | tail -n 2); do
        truncate -s -1 "$file"
    done
    STARPU_TIC_KEEP_LINES=3 crash checkpoint-begin:1 "$program"
    [ "$(ls "$STARPU_TIC_DIR"/p0-line-*.h5 | wc -l)" -eq 2 ]
    STARPU_TIC_KEEP=1 STARPU_TIC_KEEP_LINES=1 run "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(stat_of recovered)" = true ]
    [ "$(grep -v -e progress -e starpu-tic <<<"$output")" = "$reference" ]
    [ "$(ls "$STARPU_TIC_DIR"/p0-line-*.h5 | wc -l)" -eq 1 ]
    STARPU_TIC_KEEP_LINES=0 run "$tool" run -- "$program"
    [ "$status" -eq 2 ]
    [[ $output == *"STARPU_TIC_KEEP_LINES=0 is not valid"* ]]
}

# What the directory takes on the disk.
store_size() {
    find "$STARPU_TIC_DIR" -type f -printf '%b\n' | awk '{ n += $1 } END { print n * 512 }'
}

@test "STARPU_TIC_SPACE bounds the directory: the last line stays, and the run goes on" {
    export STARPU_TIC_EVERY=20 STARPU_TIC_FORCED=0 STARPU_TIC_KEEP=1
    reference=$(expected)
    for space in 1 100000 200000 250000 300000; do
        rm -rf "$STARPU_TIC_DIR"
        STARPU_TIC_SPACE=$space run "$tool" run -- "$program"
        [ "$status" -eq 0 ]
        [ "$(stat_of protected)" = true ]
        [ "$(grep -v -e progress -e starpu-tic <<<"$output")" = "$reference" ]
        size=$(store_size)
        [ "$size" -le "$space" ] || [ "$size" -eq 0 ]
        if [ "$(stat_of suspended)" = true ]; then
            [[ $output == *"STARPU_TIC_SPACE"* ]]
            [ "$(stat_of checkpoints)" -gt 0 ] || [[ $output == *"there is no recovery line"* ]]
            [ "$(stat_of checkpoints)" -eq 0 ] || [[ $output == *"the last recovery line stays"* ]]
        fi
    done
    rm -rf "$STARPU_TIC_DIR"
    STARPU_TIC_SPACE=100000 run "$tool" run -- "$program"
    [[ $(stat_of suspended) == true ]]
}

@test "STARPU_TIC_SPACE counts what is written, not what is only formatted" {
    export STARPU_TIC_EVERY=20 STARPU_TIC_KEEP=1 STARPU_TIC_VERIFY=0
    run "$tool" run -- "$program"
    size=$(store_size)
    rm -rf "$STARPU_TIC_DIR"
    STARPU_TIC_SPACE=$((size + 400000)) run "$tool" run -- "$program"
    [ "$(stat_of suspensions)" -eq 0 ]
    # What is written depends on which tasks run beside others: the most of some runs.
    local size=0 now
    for _ in 1 2 3 4 5; do
        rm -rf "$STARPU_TIC_DIR"
        run "$tool" run -- "$lib/sizes" 60
        now=$(store_size)
        [ "$now" -gt "$size" ] || continue
        size=$now
        formatted=$(find "$STARPU_TIC_DIR" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')
    done
    echo "formatted $formatted, written $size"
    [ "$formatted" -gt $((size * 5 / 4)) ]
    # Between both: if what is formatted counted, no run would have room.
    space=$(((size + formatted) / 2))
    for _ in 1 2 3 4 5 6 7 8; do
        rm -rf "$STARPU_TIC_DIR"
        STARPU_TIC_SPACE=$space run "$tool" run -- "$lib/sizes" 60
        [ "$(store_size)" -le "$space" ]
        [ "$(stat_of suspensions)" -ne 0 ] || break
    done
    [ "$(stat_of suspensions)" -eq 0 ]
}

@test "a restart with fewer open files than it needs says so; with more it continues" {
    export STARPU_TIC_EVERY=3
    reference=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$lib/sizes" 200)
    crash task-end:750 "$lib/sizes" 200
    [ "$(find "$STARPU_TIC_DIR" -name 'p0-segment-*' | wc -l)" -gt 16 ]
    run bash -c 'ulimit -n 16; exec "$@"' bash "$tool" run -- "$lib/sizes" 200
    [ "$status" -eq 78 ]
    [[ $output == *"more open files than the 16"*"ulimit -n"* ]]
    run_apart "$tool" run -- "$lib/sizes" 200
    is_right "$reference" yes
}

@test "a limit to the size of files that a restart has, and the run before had not: never the end" {
    local limit
    for limit in 0 8 64; do
        for protocol in tic sel tic+sel; do
            export STARPU_TIC_EVERY=20 STARPU_TIC_PROTOCOL=$protocol
            rm -rf "$STARPU_TIC_DIR"
            crash task-end:130 "$program"
            run bash -c 'ulimit -f $1; shift; exec "$@"' bash $limit "$tool" run -- "$program"
            echo "$output"
            [ "$status" -eq 0 ]
            [ "$(grep -v -e progress -e starpu-tic <<<"$output")" = "$(expected)" ]
        done
    done
}

@test "a message of ours to a file that is full, or to a pipe that nobody reads, ends nothing" {
    export STARPU_TIC_EVERY=20
    head -c 1024 /dev/zero >full
    bash -c 'ulimit -f 1; "$@" 2>>full | tail -4 >&3; exit ${PIPESTATUS[0]}' bash \
        "$tool" run -- "$program" 3>sums
    [ "$(<sums)" = "$(expected | tail -4)" ]
    mkfifo pipe
    exec 4<>pipe 5>pipe
    exec 4<&- # nobody reads
    STARPU_TIC_SPACE=1 "$tool" run -- "$program" 2>&5 | tail -4 >sums
    [ "${PIPESTATUS[0]}" -eq 0 ]
    [ "$(<sums)" = "$(expected | tail -4)" ]
    exec 4<>pipe # it is full, and somebody may read some day
    dd if=/dev/zero of=pipe bs=4096 count=100 oflag=nonblock 2>/dev/null || :
    STARPU_TIC_SPACE=1 timeout "$hangs" "$tool" run -- "$program" 2>&4 | tail -4 >sums
    [ "${PIPESTATUS[0]}" -eq 0 ]
    [ "$(<sums)" = "$(expected | tail -4)" ]
}

# Which of the threads is main() for protection is a race: it ends when the second one comes.
@test "threads that start StarPU, and shut it down, at the same time" {
    local expected
    expected=$(timeout "$hangs" "$lib/starters" 3)
    for _ in {1..5}; do
        rm -rf "$STARPU_TIC_DIR"
        run_apart timeout "$hangs" "$tool" run -- "$lib/starters" 3
        [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain starters "wrong"
        [ "$(grep -c 'another thread starts StarPU' err)" -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] ||
            complain starters "it did not say once that protection ends"
    done
}

# swap_with COMMAND...: StarPU has a second memory node, a disk that seems to be slaves by MPI. Without
# the command, which would preload the library after what is preloaded already.
swap_with() {
    mkdir -p swap
    STARPU_DISK_SWAP=$PWD/swap STARPU_DISK_SWAP_BACKEND=unistd STARPU_DISK_SWAP_SIZE=200 \
        run_apart timeout "$hangs" env KINDS=mpi LD_PRELOAD="$library:$TIC_BUILD/.libs/kinds.so" "$@"
}

@test "a start that is refused because of a kind of device leaves no file" {
    expected >reference
    swap_with "$program"
    [ "$status" -eq 0 ]
    grep -v progress out | cmp - reference
    [ "$(grep -c 'not protected: StarPU uses a kind of device' err)" -eq 1 ]
    [ ! -e "$STARPU_TIC_DIR" ] || complain program "something is left: $(ls -A "$STARPU_TIC_DIR")"
}

@test "it leaves recovery lines of earlier runs, and the next start is protected" {
    STARPU_TIC_EVERY=20 crash task-end:120 "$program"
    swap_with "$program"
    grep -q 'not protected: StarPU uses a kind of device' err
    ls "$STARPU_TIC_DIR"/p0-line-*.h5
    rm -rf "$STARPU_TIC_DIR"
    export STARPU_TIC_EVERY=10 STARPU_TIC_KEEP=1
    swap_with "$lib/patterns" swap-first
    [ "$status" -eq 0 ]
    "$tool" verify "$STARPU_TIC_DIR"
    [ "$(stat_of tasks_executed)" -eq 60 ]
}

# An access of main() is another one than in the recorded run; what is said of it:
# other_access VARIABLE VALUE MODE-THEN
other_access() {
    rm -rf "$STARPU_TIC_DIR"
    M_MODE=$3 STARPU_TIC_EVERY=20 crash task-end:200 "$lib/mainaccess"
    run_apart env "$1=$2" timeout "$hangs" "$tool" run -- "$lib/mainaccess"
    [ "$status" -eq 70 ]
    grep -Eo 'main\(\) accesses handle .* in the recorded run' err >said
}

@test "another access of main() than before: what differs is named, mode or handle" {
    local it="handle [0-9]+ \(number of registration\)"
    other_access M_MODE w r
    grep -Eqx "main\(\) accesses $it for writing \(STARPU_W\), and accessed it for reading \(STARPU_R\) in the recorded run" said
    other_access M_MODE r rw
    grep -Eqx "main\(\) accesses $it for reading \(STARPU_R\), and accessed it for writing \(STARPU_W or STARPU_RW\) in the recorded run" said
    other_access M_MODE r w
    grep -Eqx "main\(\) accesses $it for reading \(STARPU_R\), and accessed it for writing \(STARPU_W or STARPU_RW\) in the recorded run" said
    other_access M_VECTOR 1 r
    grep -Eqx "main\(\) accesses handle [0-9]+, and accessed handle [0-9]+ \(numbers of registration\) in the recorded run" said
}

# A restart has told StarPU of neither those that are done nor those that it keeps until main() is at the cut.
@test "main() asks for successors of tasks: it gets its own, and a restart stops, and says why" {
    local expected protocol scenario
    expected=$("$lib/patterns" listed)
    [ "$(STARPU_TIC_EVERY=20 "$tool" run -- "$lib/patterns" listed)" = "$expected" ]
    for protocol in tic sel tic+sel; do
        for scenario in listed listed-done; do
            export STARPU_TIC_PROTOCOL=$protocol
            rm -rf "$STARPU_TIC_DIR"
            STARPU_TIC_EVERY=20 crash task-end:150 "$lib/patterns" $scenario
            run_apart timeout "$hangs" "$tool" run -- "$lib/patterns" $scenario
            [ "$status" -eq 70 ] || complain "$scenario, $protocol" "not stopped"
            grep -q 'starpu_task_get_task_succs gives main() 0 tasks, and gave [12]' err
        done
    done
}

@test "a program that opens StarPU itself, for itself" {
    [ "$("$lib/late")" = 200 ] || skip "StarPU's development files are not there"
    STARPU_TIC_EVERY=20 STARPU_TIC_FAIL=task-end:100 run_apart "$tool" run -- "$lib/late"
    [ "$status" -eq 137 ]
    run_apart "$tool" run -- "$lib/late"
    [ "$status" -eq 0 ] && [ "$(<out)" = 200 ]
    [ "$(stat_of recovered)" = true ]
    [ "$(stat_of tasks_skipped)" -gt 0 ]
}

@test "what dlopen() has given is no memory of the program" {
    [ "$("$lib/late")" = 200 ] || skip "StarPU's development files are not there"
    LATE_AGAIN=1 run_apart "$tool" run -- "$lib/late"
    [ "$status" -eq 0 ] && [ "$(<out)" = 200 ]
    [ ! -s err ]
}

@test "StarPU is shut down while data is about to leave: no crash, and the same after a kill" {
    expected=$("$lib/leaving")
    run_apart timeout "$hangs" "$tool" run -- "$lib/leaving"
    is_right "$expected" "" || complain leaving "wrong, or it crashed"
    for at in 100 300; do
        STARPU_TIC_EVERY=20 crash task-end:$at "$lib/leaving"
        run_apart timeout "$hangs" "$tool" run -- "$lib/leaving"
        is_right "$expected" yes || complain leaving "wrong after task $at"
    done
}
