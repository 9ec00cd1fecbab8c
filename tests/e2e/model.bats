#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks StarPU's programming model part by part: programs that use one part each, killed and
# resumed, continue and print what they print without protection.
load common

@test "kernels submit tasks: a tree" {
    export STARPU_TIC_EVERY=11
    survives "$lib/knary" commute 4 5
    survives "$lib/knary" tree 4 5
}

# What was executed again lies in the windows between the last line and the kill: TASKS in all, run
# i executes KILL_i and starts with START_i done.
# TIC_TREE_KILLS=20 is a longer one; make check-soak has a tree of more than 10^5 tasks.
@test "a large tree of tasks, killed again and again, executes only the lost windows again" {
    local tree=("$lib/knary" commute 5 8)
    kills=${TIC_TREE_KILLS:-6} total=37449 start=0 executed=0 lost=0
    ! is_soak || tree=("$lib/knary" commute 6 7) total=137257
    export STARPU_TIC_EVERY=$((total / 68))
    reference=$("${tree[@]}")
    echo "seed ${TIC_TEST_SEED:=20261121}"
    RANDOM=$((TIC_TEST_SEED % 32768))
    for ((i = 1; i <= kills; i++)); do
        at=$((total / 55 + RANDOM % (total * 3 / 5 / kills)))
        STARPU_NCPU=$((1 + i % 4)) STARPU_TIC_FAIL=task-end:$at run_apart "$tool" run -- "${tree[@]}"
        [ "$status" -eq 137 ] || complain "kill $i" "not killed"
        done=$("$tool" info --json "$STARPU_TIC_DIR" | jq '.lines[0].tasks_done')
        [ "$done" -ge "$start" ] || complain "kill $i" "$done tasks done after $start"
        # at the kill up to 4 other tasks may have ended
        [ "$done" -le $((start + at + 4)) ] || complain "kill $i" "$done done of $((start + at))"
        executed=$((executed + at)) lost=$((lost + start + at - done)) start=$done
    done
    run_apart "$tool" run -- "${tree[@]}"
    [ "$status" -eq 0 ]
    [ "$(<out)" = "$reference" ]
    [ "$(stat_of recovered_tasks)" -eq "$start" ]
    executed=$((executed + $(stat_of tasks_executed)))
    echo "$executed tasks executed, $total without faults, $lost in lost windows"
    [ "$executed" -eq $((total + lost)) ]
    [ "$(stat_of tasks_executed)" -eq $((total - start)) ]
}

@test "reductions" {
    export STARPU_TIC_EVERY=11
    survives "$lib/nbody" 5 8
}

@test "callbacks, kernels and threads submit tasks; tasks with effects elsewhere" {
    survive_modes dynamic callback callback-race codelet-child effects no-handle-spawner thread
}

@test "planned partitions" {
    survive_modes plans explicit implicit readonly nested nested-implicit acquire mode
    [ "$("$lib/plans" explicit)" = "$("$lib/plans" implicit)" ]
    [ "$("$lib/plans" nested)" = "$("$lib/plans" nested-implicit)" ]
}

@test "other ways for main() to access data" {
    survive_modes modes try acquire-cb acquire-cb-write wont-use
}

@test "other kinds of data and buffers" {
    survive_modes modes coo csr invalidate custom custom-waits custom-heap scratch many-buffers kept-reader
}

@test "other kinds of tasks, contexts" {
    survive_modes modes bundle prologue end-dep contexts
}

@test "two sessions of StarPU in one process" {
    # libpapi 7.1, which StarPU 1.4 of Debian 13 starts, fails the second time
    "$lib/modes" second-init || skip "a second session fails without us"
    survive_modes modes second-init left-over
}

# The first line after the second start is of data that had died with the first.
@test "data without a home that is still registered when StarPU shuts down" {
    local expected
    "$lib/modes" second-init || skip "a second session fails without us"
    expected=$("$lib/modes" left-over)
    # No theft either, which is chance, makes anybody save it.
    STARPU_TIC_EVERY=50 STARPU_TIC_FORCED=0 run_apart "$tool" run -- "$lib/modes" left-over
    is_right "$expected" || complain left-over "wrong without a kill"
    [ "$(stat_of bytes_written)" -lt 40000000 ] || complain left-over "saved all the same"
}

# TIC_ONCE_WRONG_ROUNDS=3 is a longer one.
@test "random programs that were wrong once" {
    source=$(cd "$BATS_TEST_DIRNAME/../fuzz" && pwd)
    mapfile -t programs < <(grep -v '^#' "$source/once-wrong.list")
    for number in $(some_of 2 "${!programs[@]}"); do
        echo "${programs[number]}"
    done >programs
    "$source/campaign" --build "$TIC_BUILD" --list programs \
        --rounds "${TIC_ONCE_WRONG_ROUNDS:-1}"
}

# A restart would submit what the first child has submitted before the second child.
@test "an order that a restart could not keep ends protection, and no restart is wrong" {
    local expected point
    expected=$("$lib/dynamic" grandchildren)
    export STARPU_TIC_EVERY=3
    run_apart "$tool" run -- "$lib/dynamic" grandchildren
    [ "$status" -eq 0 ]
    [ "$(<out)" = "$expected" ]
    [ "$(grep -c 'protection ends here: step: a task submits it on data that other tasks use' err)" -eq 1 ]
    for point in 4 7 11 16 25; do
        rm -rf "$STARPU_TIC_DIR"
        run env STARPU_TIC_FAIL="task-end:$point" "$tool" run -- "$lib/dynamic" grandchildren
        [ "$status" -eq 137 ] || [ "$status" -eq 0 ]
        run_apart "$tool" run -- "$lib/dynamic" grandchildren
        [ "$status" -eq 0 ]
        [ "$(<out)" = "$expected" ]
    done
}
