#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks commit points: a restart goes on from the last one that a recovery line is of, with the result
# of a run without a kill; where and when it was killed, on another number of workers, under all
# protocols; and that what keeps main() from going on there is refused by name.
load common

commits=$lib/commits

plain() { # COMMAND...: what it prints without protection
    STARPU_TIC_PROTOCOL=off "$@" >plain
}

# The restart ends with the result of a run without a kill: ends COMMAND...
ends() {
    run_apart timeout "$hangs" "$tool" run -- "$@"
    [ "$status" -eq 0 ] || complain "$*" "failed"
    cmp plain out || complain "$*" "another result"
    [ ! -e "$STARPU_TIC_DIR" ]
}

# The same, and goes on from a commit point.
goes_on() {
    ends "$@"
    grep -q "main() goes on from commit point" err || complain "$*" "did not go on"
    [ "$(stat_of recovered)" = true ]
}

@test "commit points: killed at each step of a line, and at random ones" {
    export STARPU_TIC_EVERY=60
    plain "$commits" 400 7
    for failpoint in point-offered:3 checkpoint-cut:3 checkpoint-saved:3 line-written:3 line-renamed:3 \
        line-retired:1 point-end:3 segment-format:4; do
        crash "$failpoint" "$commits" 400 7
        goes_on "$commits" 400 7
    done
    seed=${TIC_TEST_SEED:-$RANDOM}
    echo "TIC_TEST_SEED=$seed"
    RANDOM=$seed
    for _ in $(is_soak && seq 4 || echo 1); do
        crash "task-end:$((200 + RANDOM % 800))" "$commits" 400 7
        ends "$commits" 400 7
    done
}

@test "commit points: restarts that are killed, on other numbers of workers" {
    export STARPU_TIC_EVERY=60
    plain "$commits" 400 8
    crash line-renamed:3 "$commits" 400 8
    STARPU_NCPU=1 crash task-end:5 "$commits" 400 8 # before its first commit point
    STARPU_NCPU=4 crash restore-begin:2 "$commits" 400 8
    STARPU_NCPU=3 crash point-resumed "$commits" 400 8
    STARPU_NCPU=1 crash line-renamed:2 "$commits" 400 8
    STARPU_NCPU=3 crash line-renamed:3 "$commits" 400 8
    STARPU_NCPU=4 goes_on "$commits" 400 8
    [ "$(stat_of tasks_skipped)" -gt 400 ]
}

@test "commit points: all protocols, with memory compared and not" {
    export STARPU_TIC_EVERY=60
    plain "$commits" 400 9
    for protocol in tic sel tic+sel; do
        values=$([ $protocol = tic ] && echo 2 || echo 0)
        ! is_soak || values="0 2"
        for verify in $values; do
            export STARPU_TIC_PROTOCOL=$protocol STARPU_TIC_VERIFY=$verify
            crash line-renamed:4 "$commits" 400 9
            crash line-renamed:2 "$commits" 400 9
            goes_on "$commits" 400 9
        done
    done
}

@test "commit points: main() that writes behind StarPU's back" {
    export STARPU_TIC_EVERY=60
    plain "$commits" 1000 10 behind
    crash line-renamed:3 "$commits" 1000 10 behind
    goes_on "$commits" 1000 10 behind
}

@test "commit points: what keeps lines from being of one is told, and the restart is right" {
    export STARPU_TIC_PERIOD=0.1 STARPU_TIC_EVERY=120
    while read -r wrong words; do
        plain "$commits" 400 11 "$wrong"
        crash task-end:2400 "$commits" 400 11 "$wrong" # of 3,000: it has come to points where a line was due
        [[ $output == *"no recovery line is taken at commit point "*"$words"* ]]
        ends "$commits" 400 11 "$wrong"
        ! grep -q "main() goes on from commit point" err
    done <<'END'
data data 21 "late" (number of registration) was registered after the first commit point
gone 1 of the data
places is not the place of the first commit point
tags tags or declared dependencies
hold acquired data that it has not released
address variable "address" holds an address
free the memory of variable "extra" is not there any more
reduction contributions to a reduction
END
}

@test "commit points: a restart that comes to the first one otherwise is stopped, and nothing is lost" {
    export STARPU_TIC_EVERY=60
    plain "$commits" 400 12
    crash line-renamed:3 "$commits" 400 12
    cp -a "$STARPU_TIC_DIR" before
    while read -r setting words; do
        run env "$setting" "$tool" run -- "$commits" 400 12
        [ "$status" -eq 70 ]
        [[ $output == *"$words"* ]]
        cmp before/p0-line-00000003.h5 "$STARPU_TIC_DIR"/p0-line-00000003.h5
    done <<'END'
C_SIZE=8 bytes and name of a variable
C_MORE=1 submits more before that now
C_NEVER=1 submits more before that now
END
    goes_on "$commits" 400 12
}

@test "commit points: info tells, and a copy is as good" {
    export STARPU_TIC_EVERY=60 STARPU_TIC_COPY=$PWD/copy
    mkdir copy
    plain "$commits" 400 13
    crash line-copied:3 "$commits" 400 13
    "$tool" info "$STARPU_TIC_DIR" >info
    grep -Eq 'commit point [0-9]+ \(commits.c:[0-9]+\); variables: own \(16 bytes\)' info
    rm -r "$STARPU_TIC_DIR"
    goes_on "$commits" 400 13
}

@test "commit points: main() is not held where there is nothing new to save" {
    export STARPU_TIC_PERIOD=0.05 STARPU_TIC_PATIENCE=100
    plain "$commits" 2000000 13 idle
    ends "$commits" 2000000 13 idle # it has 60 seconds
}

@test "starpu_tic_get_status: protected or not, and why" {
    export C_STATUS=1 STARPU_TIC_EVERY=60
    run "$commits" 100 13
    [[ $output == *'status 0: 1 0 lines 1 bytes 1 age 1 period 1000 "tic" ""'* ]]
    STARPU_TIC_PROTOCOL=off run "$commits" 100 13
    [[ $output == *'status -'*': 0 0 lines 0 bytes 0 age 0 period 0 "" "'*'STARPU_TIC_PROTOCOL=off"'* ]]
    OMPI_COMM_WORLD_SIZE=2 run "$commits" 100 13
    [[ $output == *'status -'*'"several MPI ranks need STARPU_TIC_RANKS=try (starpu-tic explain mpi)"'* ]]
}

@test "commit points: lines do not grow with the iterations" {
    export STARPU_TIC_EVERY=500
    crash line-renamed:3 "$commits" 200000 14
    few=$(stat -c %s "$STARPU_TIC_DIR"/p0-line-00000003.h5)
    crash line-renamed:20 "$commits" 200000 14
    many=$(find "$STARPU_TIC_DIR" -name 'p0-line-*' -printf '%s\n' | sort -n | tail -1)
    # A few thousand tasks more, and as many numbers would take 16 bytes each; tables have room beyond their rows.
    [ "$many" -le $((few + 4096)) ]
}

@test "12_commit_point: an iteration late in a long loop begins soon" {
    example=$TIC_BUILD/examples/12_commit_point
    export STARPU_TIC_PERIOD=0.2
    plain "$example" 100000
    crash task-end:300000 "$example" 100000
    goes_on "$example" 100000
    grep -q "goes on with iteration" err
    grep -q "first task after" err
}

# Stopped by SIGTERM in iteration 150, while main() comes to no commit point: stopped_alone WRONG
stopped_alone() {
    mkfifo ready go
    { cat ready && : >go; } 3>&- &
    plain "$commits" 400 14 "$1"
    wait $!
    env --default-signal "$tool" run -- "$commits" 400 14 "$1" >out 2>err 3>&- &
    running=$!
    cat ready
    kill -TERM "$running"
    status=0
    wait "$running" || status=$?
    [ "$status" -eq 75 ] || complain "$commits" "not stopped"
    { cat ready && : >go; } 3>&- &
}

@test "commit points: SIGTERM between them, before the first line: a checkpoint at once" {
    export STARPU_TIC_STOP=term STARPU_TIC_PERIOD=1000 STARPU_TIC_VERIFY=0
    stopped_alone lone
    grep -q "a checkpoint is taken" err
    ends "$commits" 400 14 lone
    [ "$(stat_of recovered)" = true ]
}

@test "commit points: SIGTERM between them, after a line of one: it waits as long as is set" {
    export STARPU_TIC_STOP=term STARPU_TIC_PERIOD=1000 STARPU_TIC_VERIFY=0 STARPU_TIC_EVERY=60 \
        STARPU_TIC_PATIENCE=0.5
    stopped_alone lone-late
    grep -q "no checkpoint could be taken any more. The same command goes on from the last" err
    goes_on "$commits" 400 14 lone-late
}
