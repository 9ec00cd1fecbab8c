#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that programs of several MPI processes go on on another number of ranks.
load ranks

@test "a supervised job goes on on as many ranks as a file or a command tells" {
    build_ranks
    local expected
    expect 2 300 8 plain
    cat >once <<'EOF'
#!/bin/sh
parts=1-4
[ "$OMPI_COMM_WORLD_SIZE" = 2 ] || parts=5-8 # behind what was done
[ -e killed ] || export STARPU_TIC_FAIL=job-line-renamed:3@0 MIXED_LINES=$parts
[ "$OMPI_COMM_WORLD_RANK" != 0 ] || echo 3 >count
exec "$@"
EOF
    chmod +x once
    echo 2 >count
    export STARPU_TIC_RANKS=try STARPU_TIC_VERBOSE=1 STARPU_TIC_PERIOD=0.01
    timeout 120 "$tool" run --max-restarts 1 --backoff 0 --ranks-from count -- mpirun --oversubscribe -np {ranks} ./once ./mixed 300 8 plain >out 2>&1 && return 1
    grep -q 'continuing on 3 ranks from job line [0-9]* of 2 ranks' out
    touch killed
    timeout 120 "$tool" run --ranks-from 'expr 1 + 1' -- mpirun --oversubscribe -np {ranks} ./once ./mixed 300 8 plain >out 2>&1
    grep -q 'continuing on 2 ranks from job line [0-9]* of 3 ranks' out
    gives "$expected"
    run "$tool" run --ranks-from count -- mpirun -np 2 true
    [ "$status" -eq 1 ] && [[ $output == *'no word of the command is {ranks}'* ]]
    echo many >count
    run "$tool" run --ranks-from count -- echo {ranks}
    [ "$status" -eq 1 ] && [[ $output == *'the first line is no number of ranks'* ]]
}

@test "a killed job goes on, on another number of ranks, and on another one again" {
    build_ranks
    need_jq
    local expected numbers period=0.01
    expect 2 300 8 plain
    ranks 3 ./mixed 300 8 plain
    gives "$expected"
    for numbers in 2,3,2 2,1,4 $(! is_soak || echo "2,3,1 3,2,2"); do
        rm -rf "$STARPU_TIC_DIR"
        set -- ${numbers//,/ }
        killed_at job-line-renamed:3@0 1-4 "$1" 300 8 plain
        [ "$(any_ranks)" = yes ]
        period=1000 killed_at task-end:10@0 "" "$2" 300 8 plain # without a line of its own
        killed_at line-retired:2@0 5-9 "$2" 300 8 plain
        grep -q "continuing on $2 ranks\? from job line [0-9]* of $1 ranks" out
        [ "$(any_ranks)" = yes ]
        [ -d "$STARPU_TIC_DIR/p0.1" ] && [ ! -e "$STARPU_TIC_DIR/p0" ]
        "$tool" verify "$STARPU_TIC_DIR"
        killed_at line-retired:1@0 11-13 "$2" 300 8 plain # as many
        grep -q 'continuing from recovery line' out
        lines_of "$3" ./mixed 300 8 plain
        is_fine
        gives "$expected"
        [ ! -e "$STARPU_TIC_DIR" ]
    done
}

# tests/unit/mpi/test_labels has lines in which some ranks have.
@test "a job goes on, on another number of ranks, from a line in which no rank has entered an insertion" {
    build_ranks
    need_jq
    local expected period=0.01
    expect 2 300 8 plain
    MIXED_LATE=$STARPU_TIC_DIR/job-line-1 killed_at job-line-renamed:1@0 "" 2 300 8 plain
    [ "$(any_ranks)" = yes ]
    lines_of 3 ./mixed 300 8 plain
    is_fine
    grep -q 'continuing on 3 ranks from job line 1 of 2 ranks' out
    gives "$expected"
}

# What was left out is left out again.
@test "a run on another number of ranks goes on as it is from a line that needs as many" {
    build_ranks
    need_jq
    local expected period=0.01
    export MIXED_TALK=1
    expect 2 300 8 plain
    killed_at job-line-renamed:1@0 1-2 2 300 8 plain
    killed_at task-end:380@0 11-14 3 300 8 plain # two thirds: the newest line is of after the message
    [ "$(any_ranks)" = "there are messages outside of insertions and migration" ]
    lines_of 3 ./mixed 300 8 plain
    is_fine
    grep -q 'continuing from recovery line' out
    gives "$expected"
}

# Until once a line comes early enough; with TIC_SOAK on all numbers.
@test "mpi_cholesky goes on, on another number of ranks" {
    need_mpi
    need_jq
    local numbers continued=0 period=0.01
    cholesky=("$mpi/mpi_cholesky" -size 1920 -nblocks 24 -check)
    for numbers in "2 3" "4 2" "3 1"; do
        is_soak || [ "$continued" -eq 0 ] || break
        rm -rf "$STARPU_TIC_DIR"
        STARPU_TIC_FAIL=task-end:550@0 lines_of "${numbers% *}" "${cholesky[@]}" && return 1
        "$tool" info --json "$STARPU_TIC_DIR" | jq -e '.job_lines[0] | .any_ranks and .handles > 0' || continue # too early
        sums_are_those_of_parts # of so many values that they lie in segments
        lines_of "${numbers#* }" "${cholesky[@]}"
        is_fine
        grep -q "continuing on ${numbers#* } ranks\? from job line [0-9]* of ${numbers% *} ranks" out
        ! grep -q 'Error\[' out
        continued=$((continued + 1))
    done
    [ "$continued" -ge 1 ]
}

@test "what another number of ranks cannot do again is refused by name" {
    build_ranks
    need_jq
    local expected variant why point period=0.01
    for variant in plain tests; do
        why="ranks enter different insertions" point=task-end:50@0 # after all of the waits
        [ "$variant" = plain ] || why="there are messages outside of insertions and migration" point=task-end:220@0
        rm -rf "$STARPU_TIC_DIR"
        export MIXED_PRUNED=1
        killed_at $point 1-4 2 300 8 $variant
        [ "$(any_ranks)" = "$why" ]
        "$tool" info "$STARPU_TIC_DIR" | grep -q "$why"
        status=0
        lines_of 3 ./mixed 300 8 $variant || status=$?
        [ "$status" -eq 78 ]
        # An older line, in which both had entered the same, is refused when main() enters others.
        grep -q "of another number of ranks than 3: the lines are of 2 ranks, and a restart needs as many: $why" out ||
            grep -q 'main() enters other insertions than on another number of ranks' out
        unset MIXED_PRUNED
    done
    rm -rf "$STARPU_TIC_DIR"
    expect 2 300 8 plain
    killed_at task-end:250@0 1-4 2 300 8 plain
    cp -r "$STARPU_TIC_DIR" kept
    MIXED_INPUT=1 lines_of 3 ./mixed 300 8 plain && return 1
    grep -q 'main() puts something else into data than on another number of ranks' out
    MIXED_ORDER=1 lines_of 3 ./mixed 300 8 plain && return 1
    grep -q 'main() enters other insertions than on another number of ranks' out
    lines_of 1 ./mixed 300 8 pruned && return 1
    grep -q 'the arguments are "300 8 plain" there' out
    flip_at "p1/$(awk '$1 == "part" && $2 == 1 { print "ranks-" $4 }' "$(ls -v "$STARPU_TIC_DIR"/job-line-* | tail -n 1)")" 300
    lines_of 3 ./mixed 300 8 plain
    grep -q 'the part of rank 1 is missing, or damaged' out
    gives "$expected"
    mkdir "$STARPU_TIC_DIR" # of one process
    touch "$STARPU_TIC_DIR/p0-line-00000001.h5"
    lines_of 2 ./mixed 300 8 plain && return 1
    grep -q 'holds recovery lines of one process, from which only one goes on' out
}
