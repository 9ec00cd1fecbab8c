#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that many callbacks, and many registrations of one memory (tests/lib/crowds.c), need little
# stack, and a time that grows with their number, not with its square.
load common

# Kills the program after its second recovery line, and resumes it: resumes_crowd SHAPE TASKS
resumes_crowd() {
    local expected
    expected=$("$lib/crowds" "$1" "$2" 2>/dev/null)
    STARPU_TIC_EVERY=$(($2 * 2 / 5)) crash line-renamed:2 "$lib/crowds" "$1" "$2"
    run_apart timeout "$hangs" "$tool" run -- "$lib/crowds" "$1" "$2"
    is_right "$expected" yes || complain "$1" "wrong after a kill"
    [ "$(stat_of tasks_skipped)" -ge $(($2 * 2 / 5)) ] || complain "$1" "hardly anything was skipped"
}

# Each callback submits the next task. Nested, 8000 of them would need some 4 MiB.
@test "the stack of a restart does not grow with a chain of callbacks" {
    ulimit -s 1024
    resumes_crowd chain 20000
}

# Each callback once went to another thread, and main() waited for it; those that waited for main()
# were in a list that was searched for each of them.
@test "main() neither waits for nor searches each of many callbacks" {
    local skipped
    export TIC_WAITS=$PWD/waits
    LD_PRELOAD+=:$TIC_BUILD/.libs/probes.so
    resumes_crowd crowd 100000
    skipped=$(stat_of tasks_skipped)
    [ "$(<waits)" -lt $((skipped / 2)) ] || complain crowd "as if each were waited for: $(<waits) times"
}

# Each that left once asked StarPU about all that stayed.
@test "main() asks little about memory that is registered many times" {
    STARPU_NCPU=1 run_apart timeout "$hangs" env LD_PRELOAD="$library:$TIC_BUILD/.libs/tries.so" \
        "$lib/crowds" same 400
    [ "$status" -eq 0 ] && [ "$(stat_of protected)" = true ]
    [ "$(sed -n 's/^tries: //p' err)" -lt 4000 ] || complain same "asked for each pair"
}

# After most waits only what tasks declare to write is looked at: comparing all takes too long.
@test "main() reads one of many small data after each wait" {
    local expected point
    expected=$("$lib/crowds" looks 20000)
    for point in line-renamed:1 line-renamed:2; do
        rm -rf "$STARPU_TIC_DIR"
        STARPU_TIC_EVERY=40 crash $point "$lib/crowds" looks 20000
        run_apart timeout "$hangs" "$tool" run -- "$lib/crowds" looks 20000
        is_right "$expected" yes || complain looks "wrong after $point"
        [ "$(stat_of tasks_skipped)" -ge 40 ]
    done
    rm -rf "$STARPU_TIC_DIR"
    run_apart timeout "$hangs" "$tool" run -- "$lib/crowds" looks 20000
    grep -q "only what tasks declare to write is logged" err || complain looks "everything is compared"
}

# All is compared once it is known that not everybody declares what he writes: else main() reads, in
# a restart, what is older than what it read.
# Lines are taken when main() waits and no task runs, which a slow machine may not come to before the
# kill; or it has no time to compare all before that is known, and says so: then the run is tried again.
@test "main() reads one of many small data that a task wrote without declaring it" {
    local expected try recovered=false
    expected=$("$lib/crowds" behind 5000)
    for ((try = 0; try < 10; try++)); do
        rm -rf "$STARPU_TIC_DIR" probes
        STARPU_TIC_VERIFY=100 STARPU_TIC_EVERY=20 crash task-end:290 "$lib/crowds" behind 5000
        ! grep -q "only what tasks declare to write is logged" <<<"$output" || continue
        LD_PRELOAD=$TIC_BUILD/.libs/probes.so TIC_PROBES=$PWD/probes \
            run_apart timeout "$hangs" "$tool" run -- "$lib/crowds" behind 5000
        is_right "$expected" "" || complain behind "wrong after a kill"
        recovered=$(stat_of recovered)
        [ "$recovered" = false ] || break
    done
    [ "$recovered" = true ]
    # each wait looks at all data, but asks the system for each page of them, not for each of them
    [ "$(<probes)" -lt $((280 * 5000 / 20)) ] || complain behind "asked $(<probes) times"
}
