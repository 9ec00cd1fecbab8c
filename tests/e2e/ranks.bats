#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks programs of several MPI processes (StarPU-MPI): they are refused by one message, or take
# lines together and go on from these (STARPU_TIC_RANKS=try).
load ranks

@test "several ranks are not protected, by one message of each" {
    need_mpi
    ranks 2 "$tool" run -- "${cholesky[@]}"
    [ "$(grep -c 'starpu-tic:' out)" -eq 2 ]
    [ "$(grep -c 'this run is not protected: several MPI ranks need STARPU_TIC_RANKS=try (starpu-tic explain mpi)' out)" -eq 2 ]
    [ ! -e "$STARPU_TIC_DIR" ]
    "$tool" explain mpi | grep -q 'mpirun .*STARPU_TIC_RANKS=try'
    run "$tool" check "${cholesky[@]}"
    [[ $output == *"Several MPI ranks need STARPU_TIC_RANKS=try"*"It can be protected."* ]]
}

@test "one process is protected as without MPI, whatever STARPU_TIC_RANKS says" {
    need_mpi
    lines_of 1 "${cholesky[@]}"
    is_fine
    grep -q ': checkpoint 1: ' out
    ! grep -q 'job line' out
}

@test "all ranks take lines together, and none has an orphan" {
    need_mpi
    local count
    for count in 2 3; do
        lines_of "$count" "${cholesky[@]}"
        is_fine
        grep -q "job line 1: $count ranks, [0-9]* messages in transit, 0 orphans" out
        ! grep 'messages in transit' out | grep -v ', 0 orphans'
        [ ! -e "$STARPU_TIC_DIR" ]
    done
}

@test "communications that main() waits for, and migration" {
    need_mpi
    lines_of 2 "$mpi/nf_basic_ring"
    is_fine
    lines_of 2 "$mpi/stencil5"
    is_fine
}

# StarPU-MPI's barrier has to wait for a send that we give it by another thread.
@test "a barrier finds the sends that were held" {
    build_ranks
    local period=0.005
    compile_ranks barrier
    lines_of 2 "$BATS_FILE_TMPDIR/barrier"
    is_fine
    grep '^held in' out
}

@test "a checkpoint that waits for main() to ask for a message says so" {
    build_ranks
    compile_ranks unasked
    STARPU_TIC_PATIENCE=0.01 lines_of 2 "$BATS_FILE_TMPDIR/unasked" "$PWD/out" 'has not asked yet'
    is_fine
    [ "$(grep -c 'rank 1: .*for a message that rank 0 has sent' out)" -eq 1 ]
    grep -q 'rank 1 has 7' out
}

@test "communicators that the program makes" {
    need_mpi
    local program
    for program in comm mix_comm; do
        STARPU_TIC_FAIL=line-renamed:1 lines_of 4 "$mpi/$program" || true
        lines_of 4 "$mpi/$program"
        is_fine
        [ ! -e "$STARPU_TIC_DIR" ]
    done
}

@test "a communicator that has no name ends protection" {
    build_ranks
    local expected
    expect 2 300 8
    lines_of 2 ./mixed 300 8 shared
    [ "$(results)" = "$expected" ]
    grep -q 'a communicator that is not made by MPI_Comm_dup, MPI_Comm_split or MPI_Comm_create' out
}

# StarPU-MPI sends such data without pack_data, which aborts in these programs.
@test "data with an MPI datatype of its own ends protection" {
    need_mpi
    local program
    for program in user_datatype user_datatype_early; do
        lines_of 2 "$mpi/$program"
        [ "$(grep -c 'protection ends here: starpu_mpi_datatype_register: data that has an MPI datatype' out)" -eq 2 ]
    done
}

@test "each rank tells of tasks that declare no data" {
    build_ranks
    MIXED_BLIND=1 lines_of 2 ./mixed 8 7 # no message comes into memory of main()
    is_fine
    [ "$(grep -c 'task "blind" declares no data, and a restart executes it again' out)" -eq 2 ]
}

# A restart executes it again before messages are back, and it reads what main() has received into.
@test "a task that declares no data ends protection where messages come into memory of main()" {
    build_ranks
    local expected
    export MIXED_BLIND=1
    expect 2 1000 8
    STARPU_TIC_FAIL=task-end:200@0 lines_of 2 ./mixed 1000 8 || lines_of 2 ./mixed 1000 8 # killed while protected
    gives "$expected"
    [ "$(grep -c 'protection ends here: blind: it declares no data, and messages come into memory of main()' out)" -eq 2 ]
    STARPU_TIC_POINTERS=trust lines_of 2 ./mixed 1000 8
    is_fine
}

# As on one process: main() had waited for the message, and could look, too.
@test "a restart has what messages had brought by a wait for tasks that read it undeclared" {
    build_ranks
    local expected
    export MIXED_BLIND=scratch
    expect 2 300 8
    export STARPU_TIC_LOOKS=64k
    goes_on_after task-end:90@0 3-12 2 300 8
    unset STARPU_TIC_LOOKS
    lines_of 2 ./mixed 300 8 # larger data: a message
    grep 'main() goes on after it has waited for tasks, and may read large data' out
}

@test "callbacks of messages look at what has come, in a restart, too" {
    build_ranks
    local expected
    export MIXED_HEARS=1
    ranks 2 ./mixed 300 8
    expected=$(results)
    export STARPU_TIC_LOOKS=64k
    goes_on_after task-end:90@0 3-12 2 300 8
}

# Nothing is compared on several ranks, but the program has promised nothing (STARPU_TIC_VERIFY=0).
@test "each rank tells of variables that tasks write and nobody has registered" {
    build_ranks
    export MIXED_COUNTS=1
    lines_of 2 ./mixed 400 8 plain
    is_fine
    [ "$(grep -c 'tasks write memory that is not registered data: "mixed" of mixed' out)" -eq 2 ]
    STARPU_TIC_VERIFY=0 lines_of 2 ./mixed 400 8 plain
    ! grep 'not registered' out
}

@test "a job line names the part of each rank" {
    need_mpi
    local rank file size hash
    STARPU_TIC_FAIL=job-line-renamed:1@0 lines_of 2 "${cholesky[@]}" && return 1
    [ -e "$STARPU_TIC_DIR/meeting" ]
    newest=$(ls -v "$STARPU_TIC_DIR"/job-line-* | tail -n 1)
    grep -qx 'ranks 2' "$newest"
    [ "$(tail -n 1 "$newest")" = end ]
    while read -r _ rank _ file size hash _; do
        [ "$(stat -c %s "$STARPU_TIC_DIR/p$rank/$file")" -eq "$size" ]
        [ "$(xxhsum -H3 "$STARPU_TIC_DIR/p$rank/$file" | tr -d '\\' | awk '{print $1}' | sed 's/^XXH3_//')" = "$hash" ] ||
            ! command -v xxhsum
    done < <(grep '^part ' "$newest")
}

# Goes on from what a kill has left, and removes the file of a line that is gone.
goes_on() { # ARGUMENTS...
    mkdir -p "$STARPU_TIC_DIR/p1"
    touch "$STARPU_TIC_DIR/p1/late-p1-line-00000000.h5"
    lines_of 2 ./mixed "$@"
    is_fine
    [ ! -e "$STARPU_TIC_DIR/p1/late-p1-line-00000000.h5" ]
    grep -q 'continuing from recovery line' out
    gives "$expected"
}

# Each variant is killed at one of the points, and in the restart again; with TIC_SOAK at all of them.
@test "a killed job goes on, on as many ranks" {
    build_ranks
    local expected variant point number=0 points=(task-end:60 line-renamed:3 checkpoint-cut:4 line-written:2)
    for variant in "" pruned callbacks groups tests sums; do
        expect 2 300 8 $variant
        for point in "${points[@]}"; do
            is_soak || [ "$point" = "${points[number % 4]}" ] || continue
            rm -rf "$STARPU_TIC_DIR"
            killed_at "$point" 1-5 2 300 8 $variant
            killed_at task-end:20 "" 2 300 8 $variant
            grep -q 'continuing from recovery line' out
            goes_on 300 8 $variant
        done
        number=$((number + 1))
    done
}

# It is named after the program and its arguments, as that of one process.
@test "a job without STARPU_TIC_DIR has one directory, too" {
    build_ranks
    local expected
    expect 2 1000 8
    unset STARPU_TIC_DIR
    period=0.005 killed_at job-line-renamed:1@0 "" 2 1000 8
    [ "$(ls -d ./*.tic | wc -l)" -eq 1 ]
    lines_of 2 ./mixed 1000 8
    is_fine
    grep -q 'continuing 2 ranks from job line' out
    gives "$expected"
    [ "$(ls -d ./*.tic | wc -l)" -eq 0 ]
}

# A line of all ranks counts, or not, wherever one of them dies.
@test "a job that is killed at each step of the agreement, on rank 0 and on another, goes on" {
    build_ranks
    local expected point period=0.005
    expect 2 300 8
    for point in {rank-ready,rank-cut,rank-part,job-line-heard}:2@{0,1} job-line-{written,renamed}:2@0; do
        rm -rf "$STARPU_TIC_DIR"
        killed_at "$point" 1-3 2 300 8
        [ -e "$STARPU_TIC_DIR/job-line-0" ] || [[ $point != job-line-written* ]]
        lines_of 2 ./mixed 300 8
        is_fine
        grep -q 'continuing from recovery line' out
        gives "$expected"
        [ ! -e "$STARPU_TIC_DIR" ]
    done
}

# The job in the hands of `starpu-tic run --max-restarts`, which protects children of mpirun as any others.
supervise() { # NUMBER COMMAND...
    export STARPU_TIC_RANKS=try STARPU_TIC_VERBOSE=1 STARPU_TIC_PERIOD=0.005
    status=0
    timeout 120 "$tool" run --max-restarts 3 --backoff 0.1 -- mpirun --oversubscribe -np "$@" >out 2>&1 || status=$?
}

@test "a job that is supervised is started again when a rank dies" {
    build_ranks
    local expected
    expect 2 300 8
    cat >once <<'EOF'
#!/bin/sh
[ -e "killed$OMPI_COMM_WORLD_RANK" ] || export STARPU_TIC_FAIL=rank-part:5@1 MIXED_LINES=1-5
touch "killed$OMPI_COMM_WORLD_RANK"
exec "$@"
EOF
    chmod +x once
    supervise 2 ./once ./mixed 300 8
    [ "$status" -eq 0 ]
    grep -q 'mpirun died of signal 9 (Killed) after .* s: restart 1 of 3 in 0.1 s, the newest recovery line is [0-9]*, with [0-9]* tasks done' out
    grep -q '1 restarts in all' out
    [ "$(grep -c 'protected: a checkpoint of 2 ranks every' out)" -eq 1 ]
    [ "$(grep -c 'continuing 2 ranks from job line' out)" -eq 1 ] && ! grep -q 'recovery line.*/p[01]' out
    gives "$expected"
    [ ! -e "$STARPU_TIC_DIR" ]
    rm killed*
    lines_of 2 ./once ./mixed 300 8 pruned && return 1
    supervise 3 ./mixed 300 8 pruned
    [ "$status" -eq 78 ]
    ! grep -q 'restart 1' out
}

@test "a report of a job has a lane for each rank, and the lines of all across" {
    build_ranks
    need_jq
    local trace=$PWD/trace D=$STARPU_TIC_DIR period=0.005
    STARPU_TIC_TRACE=$trace killed_at job-line-renamed:3@0 1-4 2 300 8
    [ -e "$trace.p0" ] && [ -e "$trace.p1" ] && [ ! -e "$trace" ]
    unset LD_PRELOAD
    "$tool" report --json "$D" --trace "$trace" >job.json
    jq -e --arg D "$D" '[.ranks[].directory] == [$D + "/p0", $D + "/p1"] and (.job_lines | length) > 0' job.json
    jq -e 'all(.ranks[]; (.executed | length) > 0 and (.checkpoints | length) > 0 and any(.stalls[]; .[2] == -2))' job.json
    "$tool" report "$D" -o untraced.html
    grep -q 'Recovery lines in the directory' untraced.html
    STARPU_TIC_TRACE=$trace lines_of 2 ./mixed 300 8
    [ ! -e "$D" ]
    "$tool" report "$trace" -o page.html # without a directory
    grep -q '<h1>mixed on 2 ranks' page.html
    grep -q '>rank 1</div>' page.html
    [ "$(grep -c 'class="death"' page.html)" -eq 1 ]
    grep -q 'class="across"' page.html
    grep -q '"ok">finished<' page.html
}

@test "quickstart demo mpi: a rank is killed, and the job goes on" {
    need_mpi
    need_jq
    mkdir -p bin
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$tool" >bin/starpu-tic
    chmod +x bin/starpu-tic
    run timeout 300 bash -c '. "$1" && set_up() { :; } && prefix=$PWD && demo_ranks' - "$BATS_TEST_DIRNAME/../../quickstart"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *'Rank 1 killed'*'Second run: the same on '[23]' ranks'*'starpu-tic: continuing '*' from job line '*'Its own check passed'* ]]
}

# The signal comes to the supervisor, or to any rank. Before a second line, main() goes no further.
@test "a job that is stopped takes a last line of all ranks" {
    build_ranks
    local expected job
    expect 2 300 8
    unset OMPI_MCA_odls_base_sigkill_timeout
    export STARPU_TIC_RANKS=try STARPU_TIC_VERBOSE=1 STARPU_TIC_STOP=term
    MIXED_LINES=8-9 "$tool" run --max-restarts 3 -- mpirun --oversubscribe -np 2 ./mixed 300 8 >out 2>&1 &
    job=$!
    until [ -e "$STARPU_TIC_DIR/meeting" ] || ! kill -0 "$job"; do sleep 0.05; done
    kill -TERM "$job"
    status=0
    wait "$job" || status=$?
    [ "$status" -eq 75 ]
    grep -q 'stopped by signal 15 (Terminated): a checkpoint is taken' out
    [ -e "$STARPU_TIC_DIR/job-line-1" ]
    ranks 2 "$tool" run -- ./mixed 300 8
    gives "$expected"
    for rank in 0 1; do
        rm -rf "$STARPU_TIC_DIR"
        MIXED_LINES=8-9 STARPU_TIC_FAIL=task-end:30@$rank,term run timeout 120 mpirun --oversubscribe -np 2 "$tool" run -- ./mixed 300 8
        [ "$status" -eq 75 ]
        [ "$rank" -eq 0 ] || [[ $output == *"starpu-tic: rank 1: stopped by signal 15"* ]]
        [ -e "$STARPU_TIC_DIR/job-line-1" ]
    done
}

@test "lines of ranks: a part that is damaged, another number of ranks, another program" {
    build_ranks
    local expected newest file
    expect 2 300 8
    killed_at line-renamed:4 1-5 2 300 8
    cp -r "$STARPU_TIC_DIR" kept
    STARPU_TIC_DIR=$STARPU_TIC_DIR/p0 run "$tool" run -- ./mixed 300 8
    [ "$status" -eq 78 ]
    rm -rf "$STARPU_TIC_DIR" && cp -r kept "$STARPU_TIC_DIR"
    newest=$(ls -v "$STARPU_TIC_DIR"/job-line-* | tail -n 1)
    file=$(awk '$1 == "part" && $2 == 1 { print $4 }' "$newest")
    flip_at "p1/$file" 4000
    lines_of 2 ./mixed 300 8
    grep -q 'the part of rank 1 is missing, or damaged' out
    [ "$(grep -c 'continuing from recovery line' out)" -eq 2 ]
    gives "$expected"
    rm -rf "$STARPU_TIC_DIR" && cp -r kept "$STARPU_TIC_DIR"
    truncate -s 100 "$STARPU_TIC_DIR"/job-line-*
    lines_of 2 ./mixed 300 8
    ! grep -q 'continuing from recovery line' out
    gives "$expected"
}

@test "list, info, status, verify and prune know lines of all ranks" {
    build_ranks
    need_jq
    local expected newest older sum period=0.005 D=$STARPU_TIC_DIR
    expect 2 300 8
    killed_at line-renamed:3@1 1-4 2 300 8
    unset LD_PRELOAD
    newest=$(ls -v "$D"/job-line-* | tail -n 1)
    newest=${newest##*-}
    older=$(ls -v "$D"/job-line-* | tail -n 2 | head -n 1) # the one between may have been dropped
    older=${older##*-}
    "$tool" list --json "$D" >list.json
    sums_are_those_of_parts
    sum=$(jq '.job_lines[0].tasks_done' list.json)
    [ "$(jq -c '.job_lines[0] | [.number, .ranks, .good, (.parts | length)]' list.json)" = "[$newest,2,true,2]" ]
    [ "$("$tool" info "$D" | awk 'NR == 2 { print $1, $4 }')" = "$newest 2" ]
    for _ in {1..50}; do # a rank may still be at its end when mpirun is
        run "$tool" status "$D"
        [ "$status" -ne 3 ] || break
    done
    [ "$status" -eq 3 ] && [[ $output == *"line $newest: "*" $sum tasks done"* ]]
    "$tool" verify "$D"
    run "$tool" log "$D"
    [ "$status" -eq 1 ] && [[ $output == *"several ranks. Name the folder of one, such as p0"* ]]
    cp -r "$D" kept
    "$tool" prune "$D"
    [ "$(echo "$D"/job-line-*)" = "$D/job-line-$newest" ]
    [ "$(ls "$D"/p[01]/p0-line-* | wc -l)" -eq 2 ]
    lines_of 2 ./mixed 300 8
    grep -q "continuing 2 ranks from job line $newest in" out
    gives "$expected"
    mv kept "$D"
    flip_at "p1/$(awk '$1 == "part" && $2 == 1 { print $4 }' "$D/job-line-$newest")" 4000
    run "$tool" verify "$D"
    [ "$status" -eq 1 ] && [[ $output == *"damaged: the part of rank 1 is missing, or damaged"*"a restart continues from job line $older"* ]]
    ! "$tool" info "$D"
}

@test "what is not there yet for ranks refuses the start" {
    need_mpi
    STARPU_TIC_EVERY=10 lines_of 2 "${cholesky[@]}" && return 1
    grep -q 'STARPU_TIC_EVERY is not there yet' out
}

# One line, at the start. Without results all is executed again that had ended by the kill.
@test "sel: what had ended on any rank since the line is not executed again" {
    build_ranks
    local expected variant protocol all period=1000
    export STARPU_TIC_PROTOCOL STARPU_TIC_VERIFY=0
    for variant in "" pruned groups clock tests sums; do
        expect 2 300 8 $variant
        all=$(executions "$reference")
        for protocol in sel tic+sel tic; do
            [ -z "$variant" ] || [ "$protocol" = sel ] || continue
            STARPU_TIC_PROTOCOL=$protocol
            rm -f count-*
            STARPU_TIC_FAIL=task-end:80@1 count_as "$PWD/count" lines_of 2 ./mixed 300 8 $variant && return 1
            count_as "$PWD/count" lines_of 2 ./mixed 300 8 $variant
            is_fine
            gives "$expected"
            if [ "$protocol" = tic ]; then
                ! grep -q 'the results of' out && [ "$(executions count)" -gt $((all + 10)) ]
            else # a task a rank had begun
                [ "$(grep -c 'and the results of [0-9]* more in the event log' out)" -eq 2 ]
                [ "$(executions count)" -le $((all + 2)) ]
            fi
        done
    done
}

# Each task writes a tile that is sent, and one that never is: what it wrote there is overwritten, and its space
# used again. Each kill costs a task a rank had begun.
@test "sel: what a task wrote beside what was sent need not be there any more" {
    build_ranks
    local expected all point kills=0 period=1000
    export STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0
    count_as plain ranks 2 ./mixed 1200 8 pairs
    expected=$(results)
    all=$(executions plain)
    for point in task-end:400@1 task-end:100@0; do
        STARPU_TIC_FAIL=$point count_as count lines_of 2 ./mixed 1200 8 pairs && return 1
        kills=$((kills + 1))
    done
    count_as count lines_of 2 ./mixed 1200 8 pairs
    is_fine
    gives "$expected"
    [ "$(executions count)" -le $((all + 2 * kills)) ]
}

@test "sel: no rank uses results where one does what comes in no order" {
    build_ranks
    local expected period=1000
    export STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0
    expect 2 300 8 callbacks
    STARPU_TIC_FAIL=task-end:150@1 lines_of 2 ./mixed 300 8 callbacks && return 1
    grep -q 'the event log lacks results (.*: its order is not the same in each run)' out
    [ -z "$(ls "$STARPU_TIC_DIR" | grep results)" ]
    lines_of 2 ./mixed 300 8 callbacks
    [ "$(grep -c '^starpu-tic: results in the event logs are not used: not all of what they come of is known' out)" -eq 1 ]
    ! grep -q 'the results of' out
    gives "$expected"
    # It comes only after the kill, and others may have used their results.
    expect 2 300 8 commutes
    STARPU_TIC_FAIL=task-end:40@1 lines_of 2 ./mixed 300 8 commutes && return 1
    lines_of 2 ./mixed 300 8 commutes && return 1
    grep -q 'commute: what ranks took from their event logs may not fit. Start again: no rank uses them then' out
    grep -q 'Exit code: *79' out
    lines_of 2 ./mixed 300 8 commutes
    gives "$expected"
}

@test "sel: all ranks use results, or none" {
    build_ranks
    local expected newest period=0.005
    export STARPU_TIC_PROTOCOL=tic+sel STARPU_TIC_VERIFY=0
    expect 2 300 8
    killed_at line-renamed:3 1-4 2 300 8
    cp -r "$STARPU_TIC_DIR" kept
    cat >differs <<'EOF'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || export STARPU_TIC_PROTOCOL=tic
exec "$@"
EOF
    chmod +x differs
    lines_of 2 ./differs ./mixed 300 8 && return 1
    grep -q 'not all ranks use what their event logs have.* Start again' out
    grep -q 'Exit code: *79' out
    lines_of 2 ./mixed 300 8
    ! grep -q 'the results of' out
    gives "$expected"
    cp -r kept "$STARPU_TIC_DIR" # rank 1 has swept its log since the line before
    newest=$(ls -v "$STARPU_TIC_DIR"/job-line-* | tail -n 1)
    flip_at "p1/$(awk '$1 == "part" && $2 == 1 { print $4 }' "$newest")" 4000
    lines_of 2 ./mixed 300 8
    grep -q 'the part of rank 1 is missing, or damaged' out
    grep -q 'continuing 2 ranks from job line' out
    ! grep -q 'the results of' out
    gives "$expected"
    period=1000 killed_at task-end:60@1 "" 2 300 8
    flip_at p1/p0-log-00000001.h5 $((8300 + 65536))
    lines_of 2 ./mixed 300 8 || lines_of 2 ./mixed 300 8 # the other rank may have looked before
    grep -q 'continuing 2 ranks from job line' out
    ! grep -q 'the results of' out
    gives "$expected"
}

# A rank that stands still for longer than rank 0 waits for its cut costs a line.
@test "a rank that is stopped before it cuts costs a line, and nothing else" {
    build_ranks
    local expected job period=0.005
    expect 2 300 8
    MIXED_LINES=1-4 STARPU_TIC_FAIL=rank-ready:2@1,stop lines_of 2 "$PWD/mixed" 300 8 &
    job=$!
    until grep -q 'is dropped: rank 1: it does not answer in time' out || ! kill -0 "$job"; do sleep 0.1; done
    pkill -CONT -f "^$PWD/mixed"
    wait "$job" # and for nobody else, such as bats' own timer
    is_fine
    sed '1,/does not answer in time/d' out | grep -q 'messages in transit, 0 orphans'
    gives "$expected"
}
