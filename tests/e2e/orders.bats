#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks the orders that StarPU promises (tests/lib/orders.c): what holds back what, and what comes
# before what, is the same protected, and killed and resumed. A test that is skipped tells what is
# still wrong.
load common

setup_file() {
    export STARPU_TIC_EVERY=1
}

protected() { # scenario: from the start
    rm -rf "$STARPU_TIC_DIR"
    run_apart timeout "$hangs" "$tool" run -- "$lib/orders" "$1"
}

# Where a scenario of so many tasks is killed: spread over a run, or over a run and, of each second scenario,
# its restart, which has at most two thirds and three of them left: kill_points TASKS SCENARIO-NUMBER
kill_points() {
    local third=$(($1 / 3)) late
    if is_soak; then
        echo "task-end:$((third + 1)) task-begin:$(($1 * 2 / 3 + 1)) task-end:$1"
    elif [ $(($2 % 2)) -eq 0 ]; then
        echo "task-end:$((third + 1))"
    else
        late=$(($1 - third - 2))
        echo "task-end:$((third + 1)) task-end:$((late > 0 ? late : 1))"
    fi
}

# Protected without a message, and killed and resumed on other numbers of workers, a scenario prints
# what it prints unprotected: keeps_order SCENARIO [EXPECTED]
keeps_order() {
    local expected=${2-$(timeout "$hangs" "$lib/orders" "$1")} skipped=0 tasks
    protected "$1"
    is_right "$expected" "" && says_nothing || complain "$1" "wrong without a kill"
    tasks=$(stat_of tasks_executed)
    scenarios=$((${scenarios-0} + 1))
    resumes_through "$(kill_points "$tasks" $scenarios)" "$expected" "$lib/orders" "$1"
    [ "$skipped" -gt 0 ] || # few tasks, and lines that came late
        TIC_SOAK=1 resumes_through "$(TIC_SOAK=1 kill_points "$tasks")" "$expected" "$lib/orders" "$1"
    # Where kernels wait for each other no worker waits for a line: it may not be there in time.
    [ "$skipped" -gt 0 ] || resumes line-renamed:1 2 "$expected" "$lib/orders" "$1"
    [ "$skipped" -gt 0 ] || complain "$1" "nothing was ever skipped"
}

# Kills a scenario at each third point, with TIC_SOAK at each, and resumes it on so many workers: resume_order SCENARIO WORKERS POINT...
resume_order() {
    local expected point
    expected=$("$lib/orders" "$1")
    for point in $(some_of 3 "${@:3}"); do
        resumes "$point" "$2" "$expected" "$lib/orders" "$1"
    done
}

keep_order() { # scenarios...
    local scenario
    for scenario in "$@"; do
        keeps_order "$scenario"
    done
}

# The program was told once that it is not protected, and printed what it should.
is_unprotected_and_right() { # expected output
    [ "$status" -eq 0 ] && [ "$(<out)" = "$1" ] && [ "$(stat_of protected)" = false ] &&
        [ "$(grep -c 'protection ends here' err)" -eq 1 ]
}

# The end of protection, too, may be killed and started again, before or after it.
ends_protection() { # scenario, expected output
    local point points=(task-begin:4 task-end:9)
    scenarios=$((${scenarios-0} + 1))
    is_soak || points=("${points[scenarios % 2]}") # one in turns
    protected "$1"
    is_unprotected_and_right "$2" &&
        [ "$(grep -vc "${may_be_said:-^$}" err)" -eq 1 ] ||
        complain "$1" "wrong without a kill"
    for point in "${points[@]}"; do
        STARPU_TIC_FAIL=$point protected "$1"
        [ "$status" -eq 137 ] || is_unprotected_and_right "$2" ||
            complain "$1" "wrong before $point"
        STARPU_NCPU=3 run_apart timeout "$hangs" "$tool" run -- "$lib/orders" "$1"
        is_unprotected_and_right "$2" || complain "$1" "wrong after $point"
    done
}

end_protection() { # scenarios...
    local scenario
    for scenario in "$@"; do
        ends_protection "$scenario" "$(timeout "$hangs" "$lib/orders" "$scenario")"
    done
}

# The statistics of programs that never shut StarPU down are not written.
exit_as_usual() { # scenarios...
    local scenario
    for scenario in "$@"; do
        protected "$scenario"
        [ "$status" -eq 0 ] && [ "$(<out)" = bye ] && ! grep -v 'declares no data' err ||
            complain "$scenario" "wrong without a kill"
        STARPU_TIC_FAIL=task-end:4 protected "$scenario" # the tasks before it, at least
        [ "$status" -eq 137 ] || complain "$scenario" "not killed"
        STARPU_NCPU=3 run_apart timeout "$hangs" "$tool" run -- "$lib/orders" "$scenario"
        [ "$status" -eq 0 ] && [ "$(<out)" = bye ] || complain "$scenario" "wrong after a kill"
    done
}

@test "who reads first; values that main() moves; the same data twice in a task" {
    keep_order read-first fetch fetch-left same-data kept-reader
}

@test "data that loses sequential consistency" {
    keep_order free-homeless free-meanwhile
}

@test "main() goes by a starpu_data_acquire_try that failed" {
    keep_order try-in-vain try-until
    STARPU_TIC_PROTOCOL=sel keep_order try-in-vain
}

@test "one memory by two handles" {
    keep_order alias-changed alias-replaced
}

# Its last readers are executed again: until they have begun main() has still to give it back.
@test "memory is registered again when its data has left" {
    local expected scenario point
    for scenario in alias-left alias-left-told; do
        expected=$("$lib/orders" $scenario)
        for point in task-end:120 task-end:160 task-end:200 task-end:230; do
            is_soak || [ "$scenario $point" = "alias-left task-end:160" ] || [ $point = task-end:230 ] || continue
            resumes $point 2 "$expected" "$lib/orders" $scenario
            ! grep 'held other content' err || complain "$scenario" "other input, after $point"
        done
    done
}

@test "parts are read while a task that reads the whole, and comes before, waits" {
    resume_order planned-shared 2 line-renamed:{2,3,4,5,7,9}
}

@test "a part is read when what was partitioned comes back" {
    resume_order parts-reading 2 line-renamed:{3,4,6,7,9,10}
}

# A line is taken while its readers are still to begin; one of three is.
@test "memory is registered again while its data is to leave, or is that of other data" {
    local scenario
    for scenario in alias-leaving alias-waits planned-leaving; do
        resume_order $scenario 2 line-renamed:{9,10,11,12,13,14}
    done
}

@test "callbacks of tasks that run nowhere; main() waits for callbacks" {
    keep_order callback-nowhere callback-nowhere-ready callback-awaited callback-awaited-between \
        callback-tags callback-bare nowhere-reads
}

# Until it has run, its data has an older value in a restart: no line may take that for the newer one.
@test "no line is taken while a restart shows tasks older values" {
    local expected line
    expected=$("$lib/orders" changed-since)
    for line in $(some_of 3 1 2 3 4 5 6 7 8); do
        rm -rf "$STARPU_TIC_DIR"
        crash "line-renamed:$line" "$lib/orders" changed-since
        run_apart timeout "$hangs" "$tool" run -- "$lib/orders" changed-since
        is_right "$expected" yes && ! grep 'behind' err || complain changed-since "wrong after line $line"
    done
}

# Or it goes on before the callback, which had not returned by the cut.
@test "who waits for a task waits for its callback" {
    export STARPU_TIC_EVERY=1
    resume_order callback-waited 3 line-renamed:{3,5,8,12,18,24,30,36}
}

# No line has the value, the event log has.
@test "the callback of a task that runs nowhere reads data that comes from the event log" {
    local expected
    expected=$("$lib/orders" nowhere-reads)
    STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0 STARPU_TIC_EVERY=100 crash task-end:3 "$lib/orders" nowhere-reads
    STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0 run_apart timeout "$hangs" "$tool" run -- "$lib/orders" nowhere-reads
    is_right "$expected" yes || complain nowhere-reads "wrong"
}

@test "callbacks that come after what main() has submitted meanwhile" {
    keep_order late-callback late-callback-read late-paused
}

@test "callbacks that look at their tasks; a structure with a callback, submitted again" {
    keep_order look-current look-own look-again
}

@test "callbacks want a mutex that main() holds; codelets without a name; StarPU is started twice" {
    keep_order look-mutex look-nameless look-nested
}

@test "main() looks at data that comes from the event log" {
    for protocol in sel tic+sel; do
        export STARPU_TIC_PROTOCOL=$protocol
        keep_order look-memory look-invalid
    done
}

@test "data that only kernels' children write" {
    # Also after a restart that was killed: what StarPU writes of a codelet that only kernels' children
    # use is no memory of tasks.
    keep_order children-only children-called children-only-read children-only-homeless \
        children-registered-again children-callback parts-children parts-children-planned
}

@test "tasks that end when others have" {
    keep_order end-others-first
}

@test "main() waits while tasks wait for what it holds, a tag, or a pause" {
    keep_order held-commute held-unregister-tag held-unregister-paused held-read-twice \
        held-read-paused
}

@test "reductions: when contributions are folded" {
    keep_order fold-before-callback fold-after-callback fold-while-held fold-while-access \
        fold-invalidated
}

@test "reductions whose initialization declares that it reads" {
    "$lib/orders" fold-reading-init >/dev/null 2>&1 || skip "StarPU 1.4 does not accept it"
    keep_order fold-reading-init
}

@test "reductions of a whole and of its parts" {
    keep_order parts-gathered
    expected=$("$lib/orders" parts-added)
    keeps_order parts-explicit "$expected"
    keeps_order parts-implicit "$expected"
}

@test "what ends protection: submissions that a restart could not order" {
    end_protection late-access late-children-held late-children-tag children-prologue children-pointer children-returning \
        children-by-tags children-bare
}

@test "what ends protection: reductions, and threads that use data" {
    end_protection fold-last fold-late-end fold-unordered-tasks fold-unordered-data thread-registers \
        thread-user-data thread-waits local-pointer
}

@test "starpu-tic check, too, counts what the task contributes that would end protection" {
    local expected
    expected=$("$lib/orders" fold-last)
    run_apart "$tool" check -- "$lib/orders" fold-last
    [ "$(head -n 1 out)" = "$expected" ] || complain fold-last "wrong"
}

@test "a kernel and a callback call exit" {
    exit_as_usual exit-kernel exit-bare exit-callback
}

@test "tasks that end when others have that come later" {
    keep_order end-others-later
}

@test "main() releases what a callback's access holds" {
    keep_order held-commute-callback
}

@test "prologues that come after what main() has submitted meanwhile" {
    STARPU_TIC_POINTERS=trust keep_order late-prologue # else a message tells of prologues
}

@test "main() looks at data after it has waited for all tasks" {
    keep_order look
}

@test "main() reads larger data: after its last write, and while it declares to write it" {
    says_nothing() { :; } # a message tells what is not logged
    keep_order look-final look-writing
}

@test "StarPU bounds how many tasks are submitted, and main() had come further" {
    expected=$("$lib/orders" look-current)
    STARPU_TIC_EVERY=3 crash line-renamed:2 "$lib/orders" look-current
    STARPU_LIMIT_MAX_SUBMITTED_TASKS=4 STARPU_LIMIT_MIN_SUBMITTED_TASKS=2 \
        run_apart timeout "$hangs" "$tool" run -- "$lib/orders" look-current
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain look-current "wrong, or stands still"
}

@test "tasks read what nobody has initialised, and it is unregistered" {
    keep_order look-halo
    # A line may be cut after it has left, and before main() comes to its next operation: by chance.
    expected=$("$lib/orders" look-halo)
    for i in $(some_of 3 {1..6}); do
        rm -rf "$STARPU_TIC_DIR"
        crash line-renamed:1 "$lib/orders" look-halo
        run_apart timeout "$hangs" "$tool" run -- "$lib/orders" look-halo
        is_right "$expected" "" || complain look-halo "wrong, or refused"
    done
}

@test "data lies in memory that cannot be written" {
    keep_order look-constants
}

@test "callbacks read the times of their tasks" {
    keep_order look-profiled
}

@test "data holds addresses, which are others in each run" {
    keep_order look-address look-address-replaced
    STARPU_TIC_VERBOSE=0 keep_order look-address-written # else it is told that tasks write some
    ! grep -q "behind StarPU's back" err # what differs is ours
    crash task-end:6 "$lib/orders" look-address-moved
    run_apart timeout "$hangs" "$tool" run -- "$lib/orders" look-address-moved
    [ "$status" -eq 78 ] && grep -q "it holds addresses, which are others in each run" err ||
        complain look-address-moved "not refused"
}

@test "a task had put an address into data by the recovery line, before main() comes to that task" {
    local expected scenario=look-address-moved-first try
    expected=$("$lib/orders" $scenario)
    for try in $(some_of 3 1 2 3); do
        rm -rf "$STARPU_TIC_DIR"
        crash task-end:12 "$lib/orders" $scenario
        run_apart timeout "$hangs" "$tool" run -- "$lib/orders" $scenario
        is_right "$expected" lines ||
            { [ "$status" -eq 78 ] && grep -q "it holds addresses, which are others in each run" err; } ||
            complain $scenario "neither right nor refused"
    done
}

@test "main() unpacks what it has acquired for writing, or protection ends" {
    keep_order unpack
    end_protection unpack-only
}

@test "main() is told that memory is full, as tasks had filled it that are skipped" {
    STARPU_LIMIT_CPU_NUMA_MEM=10 keep_order memory-full
    [ "$(STARPU_LIMIT_CPU_NUMA_MEM=10 "$lib/orders" memory-full)" != "$("$lib/orders" memory-full)" ]
}

@test "what ends protection: main() looks at a performance model" {
    end_protection load-model
}

@test "parts of data without a home node" {
    keep_order parts-homeless
}

@test "tasks read what main() put there, before tasks write other parts of it" {
    keep_order parts-read-early parts-cleaned children-reader
}

# Killed when the data has left, and resumed so that the reader waits for the callback:
# reads_before_callback SCENARIO
reads_before_callback() {
    local expected
    expected=$("$lib/orders" "$1")
    STARPU_TIC_FAIL=task-end:6 protected "$1"
    [ "$status" -eq 137 ] || complain "$1" "not killed"
    ORDERS_LATE=1 STARPU_NCPU=1 run_apart timeout "$hangs" "$tool" run -- "$lib/orders" "$1"
    is_right "$expected" "" && [ "$(stat_of recovered)" = true ] || complain "$1" wrong
}

@test "a task reads what main() put there, after a callback looked at what came of it" {
    keep_order parts-read-called planned-read-called whole-read-called lost-read-called
    reads_before_callback parts-read-called
    reads_before_callback planned-read-called
    reads_before_callback whole-read-called
    reads_before_callback lost-read-called
}

# Killed when a line is there of a moment after the partition, and resumed with other input:
# resume_with_input SCENARIO
resume_with_input() {
    STARPU_TIC_EVERY=7 STARPU_TIC_VERIFY=100 STARPU_TIC_FAIL=line-renamed:1 protected "$1"
    [ "$status" -eq 137 ] || complain "$1" "not killed"
    ORDERS_INPUT=5 run_apart timeout "$hangs" "$tool" run -- "$lib/orders" "$1"
}

@test "data whose parts are used first holds other input in a restart" {
    local expected
    keep_order parts-input parts-input-read
    expected=$("$lib/orders" parts-input)
    resume_with_input parts-input
    is_right "$expected" "" && [ "$(stat_of recovered)" = true ] || complain parts-input wrong
    grep -q "held other content when a task first read it" err
    resume_with_input parts-input-read
    [ "$status" -eq 78 ] && grep -q "the input of this run differs" err ||
        complain parts-input-read "not refused"
}

@test "a task reads a part that nobody writes, and that holds other input in a restart" {
    local expected
    keep_order parts-input-kept
    expected=$("$lib/orders" parts-input-kept)
    resume_with_input parts-input-kept
    is_right "$expected" "" && [ "$(stat_of recovered)" = true ] || complain parts-input-kept wrong
}

@test "data has another size in a restart" {
    keep_order parts-resized
    resume_with_input parts-resized
    [ "$status" -eq 70 ] && grep -q "handle [0-9]* has another size now" err ||
        complain parts-resized "not refused"
}

@test "main() gets data back, or changes it, after tasks without output have read it" {
    keep_order reader-unregister reader-acquire reader-writer reader-through reader-again \
        reader-held
}

@test "data without a home leaves when somebody has read it" {
    export STARPU_TIC_EVERY=20
    resume_order leaving-read 4 task-end:{110,170,230} line-renamed:{3,7}
}

@test "main() gets access when a callback has given it back, which goes on" {
    export STARPU_TIC_EVERY=10
    resume_order given-back 3 line-renamed:{5,11,17,23,29}
}

@test "planned parts are switched where a restart executes again who looks at them" {
    export STARPU_TIC_EVERY=1
    resume_order planned-spin 3 line-renamed:{9,13} task-begin:{60,150}
    resume_order planned-beside 3 line-renamed:{9,13} task-begin:{60,150}
}

# What a task behind it has made of the data is in the line.
@test "somebody reads data, which a task behind changes, while main() comes back from a wait" {
    local scenario expected at
    export STARPU_TIC_EVERY=1
    for scenario in beside beside-packed; do
        expected=$("$lib/orders" $scenario)
        for at in $(some_of 3 20 44 68 76 120 148); do
            resumes line-renamed:$at 3 "$expected" "$lib/orders" $scenario
        done
    done
}

@test "main() computes, or gives data away, while a prologue reads that, which its task changes" {
    resume_order computing 3 line-renamed:{4,6,8,10,12}
    resume_order computing-leaving 3 line-renamed:{4,6,8,10,12}
}

@test "a callback reads data, and then lets a task go that changes it" {
    export STARPU_TIC_EVERY=1 STARPU_NCPU=3
    resume_order let-go 4 line-renamed:{8,20,32,44,56}
}

@test "the prologue of a task that main() waits for in its submission" {
    export STARPU_NCPU=1 STARPU_SCHED=eager
    resume_order prologue-synchronous 1 line-renamed:{1,2,3,6,7}
}

@test "callbacks and prologues look at their own tasks, and at what kernels return in arguments" {
    resume_order callback-own 2 line-renamed:{1,3,5} task-end:{7,20,41}
}

@test "arguments are set between the submission of their task and its kernel, which adds to them" {
    resume_order arguments-set 2 line-renamed:{1,2,3,5} task-end:{7,20,41}
}

@test "callbacks run inside of the call of main(), or of another callback, that lets their tasks go" {
    resume_order let-go-inside 2 task-begin:{6,14,25,37} line-renamed:{3,9,20}
}

@test "callbacks run inside of the call of a prologue, or of an access, and accesses in a release" {
    resume_order let-go-inside-others 2 task-begin:{6,11,19,33} line-renamed:{5,7,12}
}

@test "lines are taken inside of calls of main(), which has waited since its last operation" {
    export STARPU_TIC_EVERY=0 STARPU_TIC_PERIOD=1000 STARPU_TIC_VERIFY=0
    resume_order line-inside 2 line-renamed:{1,2} task-begin:{8,14}
}

@test "data leaves whose first value a callback's access waits for" {
    local expected
    expected=$("$lib/orders" fold-unused)
    protected fold-unused
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain fold-unused "wrong"
}

# StarPU waits for a tag by its wait for several: a restart that ends there would expect the second.
@test "main() waits for a task that writes nothing, and that includes its callback" {
    export STARPU_TIC_EVERY=0 STARPU_TIC_PERIOD=1000 STARPU_TIC_VERIFY=0
    resume_order line-read 2 line-renamed:{2,3,6}
}

# StarPU would call it before it lets the tasks go that come after it.
@test "an access is granted at the cut before the tasks begin that come after it" {
    export STARPU_TIC_EVERY=0 STARPU_TIC_PERIOD=1000 STARPU_TIC_VERIFY=0
    resume_order line-grant 1 line-renamed:{2,3,6}
}

@test "main() is inside of a submission, and the callback has looked at what a task wrote later" {
    export STARPU_TIC_EVERY=1 STARPU_TIC_VERIFY=100
    resume_order line-last 2 line-renamed:{4,5,6,7,8,9}
}

@test "a callback has looked and not returned when another one looks at what came of it" {
    export STARPU_TIC_EVERY=1 STARPU_TIC_VERIFY=100
    resume_order looked-nowhere 2 line-renamed:{4,5,6,7,8,9}
}

@test "a callback looks at data that main() unregisters" {
    export STARPU_TIC_EVERY=1 STARPU_TIC_VERIFY=100
    resume_order looked-leaving 2 line-renamed:{4,7,12,20,26}
}

@test "a callback submits a task without a kernel, whose callback submits inside of it" {
    export STARPU_TIC_EVERY=0 STARPU_TIC_PERIOD=1000 STARPU_TIC_VERIFY=0
    resume_order nested-empty 2 line-renamed:{2,3,5,6}
}

@test "main() waits until StarPU counts no task, and a callback had not returned" {
    export STARPU_TIC_EVERY=0 STARPU_TIC_PERIOD=1000 STARPU_TIC_VERIFY=0
    resume_order line-counted 2 line-renamed:{2,3,5,6,8,9}
}

@test "a callback looks at data that main() has divided" {
    export STARPU_TIC_EVERY=1
    resume_order parts-looked-split 2 line-renamed:{3,7,12,20,26}
    resume_order parts-looked-planned 2 line-renamed:{3,7,12,20,26}
}

@test "StarPU waits within a wait of main(): one wait" {
    export STARPU_TIC_VERIFY=0
    local skipped=0 line mode
    for mode in line-tag line-contexts; do
        resumes line-renamed:9 2 "$("$lib/orders" $mode)" "$lib/orders" $mode
        crash line-renamed:9 "$lib/orders" $mode
        for line in "$STARPU_TIC_DIR"/p0-line-*.h5; do
            h5dump -y -d /history "$line"
        done | awk '/^ *[0-9]+,?$/ && ++numbers % 6 == 1 { print $1 % 65536 }' | sort -u >waits
        [ "$(tr '\n' ' ' <waits)" = "0 1 " ] || complain $mode "waits since an operation: $(<waits)"
    done
}

# Lines of a restart have no value of it, either.
@test "main() goes on writing what it held at the cut, and a restart is killed there, too" {
    local expected
    expected=$("$lib/orders" held-write)
    crash task-end:30 "$lib/orders" held-write
    STARPU_TIC_FAIL=line-renamed:3 run_apart timeout "$hangs" "$tool" run -- "$lib/orders" held-write
    [ "$(wc -l <err)" -eq 1 ] || complain held-write "more said than where it continues from"
    run_apart timeout "$hangs" "$tool" run -- "$lib/orders" held-write
    is_right "$expected" yes || complain held-write "wrong"
}

@test "main() waits for all tasks, and that includes callbacks of accesses behind them" {
    export STARPU_TIC_EVERY=0 STARPU_TIC_PERIOD=1000 STARPU_TIC_VERIFY=0
    resume_order line-behind 2 line-renamed:{2,3,5}
}

@test "tasks read data that others write, and that leaves then (starpu_data_unregister_submit)" {
    resume_order read-leaving 2 task-begin:{8,15,27} line-renamed:{4,9,14}
}

@test "protection ends by a kernel that returns something in large arguments" {
    end_protection arguments-large
}

@test "main() writes packed data after tasks without output have read it" {
    local expected at
    expected=$("$lib/orders" reader-packed)
    for at in $(some_of 3 task-end:5 task-end:9 task-end:14); do
        resumes $at 3 "$expected" "$lib/orders" reader-packed
    done
}

# The line that the replay continues from has no value of it.
@test "main() changes data without a home, which a replay saves" {
    local expected point
    keep_order homeless-changed
    expected=$("$lib/orders" homeless-changed)
    for point in 1 2; do
        rm -rf "$STARPU_TIC_DIR"
        crash "task-end:8" "$lib/orders" homeless-changed
        crash "line-renamed:$point" "$lib/orders" homeless-changed
        run_apart "$tool" run -- "$lib/orders" homeless-changed
        is_right "$expected" yes || complain homeless-changed "wrong after line $point of the replay"
    done
}

# A line that is cut between main()'s change and its next call finds the change by the other handle.
@test "what ends protection: one memory by two handles, changed while one is registered" {
    local may_be_said="changed behind StarPU's back"
    end_protection alias-half
}

@test "a second thread reads what has open reductions" {
    end_protection thread-reads
}

@test "a restart is faster with a kernel that submits than main() is" {
    local expected scenario=late-children-chain
    expected=$("$lib/orders" $scenario)
    STARPU_TIC_VERIFY=0 STARPU_NCPU=1 STARPU_TIC_FAIL=task-begin:3 protected $scenario
    [ "$status" -eq 137 ] || complain $scenario "not killed"
    STARPU_TIC_VERIFY=0 ORDERS_SLOW=1 run_apart timeout "$hangs" "$tool" run -- "$lib/orders" $scenario
    [ "$(stat_of recovered)" = true ] || complain $scenario "not resumed"
    is_unprotected_and_right "$expected" || complain $scenario "wrong after a kill"
}

@test "what a callback submits by which it ends protection in a restart keeps its order" {
    local expected scenario=late-callback-alike
    export STARPU_TIC_POINTERS=trust # main() and the callback wait by variables
    expected=$("$lib/orders" $scenario)
    STARPU_TIC_VERIFY=0 ORDERS_FIRST=1 STARPU_TIC_FAIL=line-renamed:2 protected $scenario
    [ "$status" -eq 137 ] || complain $scenario "not killed"
    ORDERS_SLOW=1 run_apart timeout "$hangs" "$tool" run -- "$lib/orders" $scenario
    [ "$(stat_of recovered)" = true ] || complain $scenario "not resumed"
    is_unprotected_and_right "$expected" || complain $scenario "wrong after a kill"
}

@test "children of kernels that began after the cut keep their order" {
    local expected scenario=late-children-in-turn
    export STARPU_TIC_POINTERS=trust # its kernels wait for each other by variables
    expected=$("$lib/orders" $scenario)
    STARPU_NCPU=2 ORDERS_FIRST=1 STARPU_TIC_FAIL=line-renamed:1 protected $scenario
    [ "$status" -eq 137 ] || complain $scenario "not killed"
    STARPU_NCPU=2 ORDERS_SLOW=1 run_apart timeout "$hangs" "$tool" run -- "$lib/orders" $scenario
    [ "$(stat_of recovered)" = true ] || complain $scenario "not resumed"
    is_right "$expected" "" || complain $scenario "wrong after a kill"
}

@test "main() gets memory back in a restart when tasks that read it there have ended" {
    local expected scenario=late-reader-in-place
    export STARPU_TIC_POINTERS=trust STARPU_NCPU=2 # main() and the reader wait by variables
    expected=$("$lib/orders" $scenario)
    STARPU_TIC_FAIL=task-begin:8 protected $scenario
    [ "$status" -eq 137 ] || complain $scenario "not killed"
    ORDERS_SLOW=1 run_apart timeout "$hangs" "$tool" run -- "$lib/orders" $scenario
    is_right "$expected" recovered || complain $scenario "wrong after a kill"
}

# Of some lines the cut falls there.
@test "main() had seen what a task without output did that had not ended at the cut" {
    local expected scenario line turn=0 skipped=0
    export STARPU_TIC_POINTERS=trust STARPU_NCPU=3 # main() and the kernel wait by variables
    for scenario in late-goes-on late-goes-on-homeless late-goes-on-known late-goes-on-child; do
        expected=$(timeout "$hangs" "$lib/orders" $scenario)
        for line in $(is_soak && echo 5 7 || echo $((turn++ % 2 * 2 + 5))); do
            resumes line-renamed:$line 3 "$expected" "$lib/orders" $scenario
        done
    done
    [ "$skipped" -gt 0 ] || complain late-goes-on "nothing was ever skipped"
}

@test "memory that the program uses for something else is left alone if the user says so" {
    local expected scenario=look-given-back
    expected=$("$lib/orders" $scenario)
    STARPU_TIC_FAIL=task-end:15 protected $scenario
    [ "$status" -eq 137 ] || complain $scenario "not killed"
    grep -q 'starpu-tic explain behind' err || complain $scenario "not told"
    cp -r "$STARPU_TIC_DIR" kept
    run_apart timeout "$hangs" "$tool" run -- "$lib/orders" $scenario
    [ "$(<out)" != "$expected" ] || complain $scenario "the addresses do not matter"
    grep -q 'starpu-tic explain unused' err || complain $scenario "not told again"
    rm -rf "$STARPU_TIC_DIR"
    mv kept "$STARPU_TIC_DIR"
    STARPU_TIC_UNUSED=leave run_apart timeout "$hangs" "$tool" run -- "$lib/orders" $scenario
    is_right "$expected" lines || complain $scenario "wrong after a kill"
}

# Where addresses were put right it is another value than the one that the line has.
@test "memory that the program uses for something else is that after a restart that has written there" {
    local expected scenario=look-given-back-few
    expected=$("$lib/orders" $scenario)
    STARPU_TIC_FAIL=task-end:8 protected $scenario
    STARPU_TIC_FAIL=task-end:4 run_apart timeout "$hangs" "$tool" run -- "$lib/orders" $scenario
    [ "$status" -eq 137 ] || complain $scenario "not killed again"
    grep -q 'starpu-tic explain unused' err || complain $scenario "not told"
    STARPU_TIC_UNUSED=leave run_apart timeout "$hangs" "$tool" run -- "$lib/orders" $scenario
    is_right "$expected" lines || complain $scenario "wrong after two kills"
}

@test "data that a task had used by the recovery line is used, before main() comes to that task" {
    local skipped=0 point points="line-renamed:3 line-renamed:6 task-end:16"
    for point in $(some_of 3 $points); do
        resume_order look-first-write 2 "$point"
        ! grep 'starpu-tic explain unused' err || complain "$point" "told that no task has used it"
    done
    export STARPU_TIC_UNUSED=leave
    resume_order look-first-write 2 $points
    resume_order look-first-read 2 $points
    expected=$("$lib/orders" look-first-read)
    for point in $(some_of 3 $points); do
        resumes_through "line-renamed:4 $point" "$expected" "$lib/orders" look-first-read
        ! grep "behind StarPU's back" err || complain "$point" "what was left is no change"
    done
    [ "$skipped" -gt 0 ]
}

@test "a main() that waits where it did not wait is stopped, and does not hang" {
    STARPU_NCPU=1 STARPU_TIC_FAIL=task-begin:3 protected late-callback-chain
    [ "$status" -eq 137 ]
    ORDERS_SLOW=1 STARPU_TIC_PATIENCE=0.2 run_apart timeout "$hangs" \
        "$tool" run -- "$lib/orders" late-callback-chain
    [ "$status" -eq 70 ]
    grep -q "main() waits for tasks where it did not wait" err
}

@test "callbacks come after their tasks, however far main() was" {
    local expected scenario
    for scenario in late-nowhere late-bare; do
        expected=$("$lib/orders" $scenario)
        rm -rf "$STARPU_TIC_DIR"
        STARPU_NCPU=1 STARPU_TIC_FAIL=task-begin:3 protected "$scenario"
        [ "$status" -eq 137 ] || complain "$scenario" "not killed"
        run_apart timeout "$hangs" "$tool" run -- "$lib/orders" "$scenario"
        is_right "$expected" "" || complain $scenario "wrong after a kill"
    done
}

# Which thread of a team submits is a race: main() is one of them there.
@test "a team of threads submits, and another one of it in the restart" {
    local expected protocol turn number=0
    expected=$("$lib/team")
    for protocol in tic sel tic+sel; do
        export STARPU_TIC_PROTOCOL=$protocol STARPU_TIC_EVERY=7
        for turn in $(is_soak && echo 1 2 || echo $((number++ % 2 + 1))); do
            rm -rf "$STARPU_TIC_DIR"
            TEAM=$turn crash task-end:70 "$lib/team"
            TEAM=0 run_apart timeout "$hangs" "$tool" run -- "$lib/team"
            is_right "$expected" lines || complain team "wrong or stopped, turn $turn"
        done
    done
}

# StarPU asks for the task of a callback that runs apart from it, and keeps what it is told.
@test "a callback gives back what main() has unregistered" {
    local expected point skipped=0
    export STARPU_TIC_EVERY=2
    expected=$("$lib/orders" held-leaving)
    for point in $(some_of 3 12 15 17 23 31 40 44 52); do
        resumes task-begin:$point 1 "$expected" "$lib/orders" held-leaving
    done
    [ "$skipped" -gt 0 ]
}

# A restart must not run it before StarPU is through with the task.
@test "a callback submits its own task again" {
    local expected point skipped=0
    export STARPU_TIC_EVERY=5
    expected=$("$lib/orders" callback-again)
    for point in $(some_of 3 line-renamed:5 task-begin:40 task-begin:88 task-end:100 task-end:120); do
        resumes $point 3 "$expected" "$lib/orders" callback-again
    done
    [ "$skipped" -gt 0 ]
}

@test "a callback that ends protection where it did not stops the restart" {
    STARPU_TIC_FAIL=task-begin:7 protected callback-other
    [ "$status" -eq 137 ]
    ORDERS_OTHER=1 run_apart timeout "$hangs" "$tool" run -- "$lib/orders" callback-other
    [ "$status" -eq 70 ]
    grep -q "hypervisor tags are not supported, but the recorded run came further" err
    run_apart timeout "$hangs" "$tool" run -- "$lib/orders" callback-other
    is_right "$("$lib/orders" callback-other)" lines
}
