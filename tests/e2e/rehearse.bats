#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks what starpu-tic rehearse finds out about programs: those whose restarts are right, those
# whose restarts are not, and those of which nothing can be said.
load common

rehearsed=$TIC_BUILD/tests/lib/rehearsed

# rehearse [OPTION...] -- COMMAND...: out, err and status; it must leave nothing behind. The
# standard input of all runs is the file `given`.
rehearse() {
    mkdir -p temporary
    [ -e given ] || : >given
    TMPDIR=$PWD/temporary run_apart timeout "$hangs" "$tool" rehearse --seed 7 "$@" <given
    [ -z "$(ls -A temporary)" ]
    [ ! -e "$STARPU_TIC_DIR" ]
    [ ! -e "$STARPU_TIC_STATS" ]
}

# The same with so many kills on the default numbers of workers; in make check it kills twice, on two
# workers, which has fewer runs: rehearse_briefly KILLS [OPTION...] -- COMMAND...
rehearse_briefly() {
    if is_soak; then
        rehearse --kills "$@"
    else
        rehearse --kills 2 --cpus 2 "${@:2}"
    fi
}

answers() { # status, begin of the first line
    [ "$status" -eq "$1" ] && [[ $(head -n 1 out) == "$2"* ]] && return
    echo "status $status, not $1; out, err:"
    cat out err
    return 1
}

@test "a safe program: kills hit, and restarts skip tasks" {
    P_QUIET=1 rehearse --kills 8 --json -- "$program"
    [ "$status" -eq 0 ] || complain rehearse "wrong"
    [ "$(jq -r '.verdict, .kills, .seed, .tasks, .output_lines, .data' out | tr '\n' ' ')" = \
        "safe 8 7 200 4 4 " ]
    jq -e '.kills_happened >= 6 and .kills_in_restarts >= 1' out
    jq -e '.restarts_recovered >= 3 and .tasks_skipped > 200' out
}

@test "the answer in words, and a line of progress for each kill" {
    P_QUIET=1 rehearse --kills 3 -- "$program"
    answers 0 "Safe: program gave the same result after each of 3 kills."
    grep -q -- '--seed 7 chooses the same kills' out
    grep -q '^  Compared .*lines of output: 4; data .*: 4$' out
    [ "$(grep -c '^rehearse: kill [1-3] of 3' err)" -eq 3 ]
}

@test "all protocols" {
    for protocol in sel tic+sel; do
        P_QUIET=1 rehearse_briefly 3 --protocol $protocol --json -- "$program"
        [ "$status" -eq 0 ] || complain $protocol "wrong"
        [ "$(jq -r .protocol out)" = $protocol ]
    done
}

@test "Debian's examples" {
    need_examples
    rehearse_briefly 4 -- "$examples/vector_scal"
    answers 0 "Safe: "
    rehearse_briefly 4 --filter '/^[0-9]/d' -- "$examples/cholesky_implicit" -size 320 -nblocks 5
    answers 0 "Safe: "
}

@test "what was not compared is said" {
    rehearse_briefly 3 -- "$rehearsed" open
    answers 0 "Safe: "
    grep -q 'no data was compared' out
    rehearse_briefly 3 -- "$rehearsed" silent
    answers 3 "Cannot say: There is nothing to compare but the exit status"
}

@test "results that depend on the number of workers by rounding are no error" {
    need_examples
    rehearse --kills 3 -- "$examples/cg" -n 256 -nblocks 4 -maxiter 10
    answers 0 "Safe: "
}

@test "main() decides by the standard input: each run gets it" {
    echo 10 20 30 >given
    rehearse_briefly 4 --json -- "$rehearsed" input
    [ "$status" -eq 0 ] || complain input "wrong"
    [ "$(jq -r '.tasks, .data' out | tr '\n' ' ')" = "60 1 " ]
}

@test "the number of workers decides how many tasks there are" {
    rehearse --kills 2 -- "$rehearsed" workers
    answers 1 "Not safe: "
    grep -q 'On 2 workers the program submits 42 tasks, on 1 workers 41\.' out
    rehearse --kills 2 --cpus 2 -- "$rehearsed" workers
    [ "$status" -ne 1 ]
}

@test "runs on as many workers are compared first: random numbers, processes and addresses are not workers" {
    for by in random process address; do # a coin would often fall alike
        rehearse --kills 2 -- "$rehearsed" $by
        answers 1 "Not safe: under protection, even without a kill: Of two runs on "
        ! grep -q 'submits .* tasks, on ' out
        grep -q 'not from random numbers' <(tr '\n' ' ' <out | tr -s ' ')
    done
    rehearse_briefly 2 -- "$rehearsed" time # it is recorded
    answers 0 "Safe: "
}

@test "memory that is not initialised is read" {
    rehearse_briefly 2 -- "$rehearsed" fresh
    answers 1 "Not safe: "
    grep -q '^  Expected  *result ' out
    grep -q '^  Found  *result ' out
    grep -Fq 'So does the program alone, without protection' <(tr '\n' ' ' <out | tr -s ' ')
    grep -q 'never written' out
}

# Each is put back before a run.
@test "files that tasks, main() and callbacks write: lines come twice after a kill" {
    for by in append append-main dump; do
        file=steps who="main()"
        [ $by != append ] || who="task advance"
        [ $by != dump ] || file=calls.json who="task advance" # or its callback
        rm -f calls.json
        printf '7\n' >$file
        rehearse --kills 2 --cpus 2 -- "$rehearsed" $by
        answers 1 "Not safe: after kill "
        grep -Fq "The file $file, written by $who, is another one: " out
        grep -Fqx "  Written     $file, by $who; compared" out
    done
    [ "$(head -n 1 steps)" = 7 ]
    [ "$(grep -c '^step 0$' steps)" -eq 1 ] # of the last run, without protection
}

@test "a file that main() writes once is compared; one that varies is not, unless it is left out" {
    printf 'before\n' >steps
    rehearse --kills 2 --cpus 2 --json -- "$rehearsed" report
    [ "$status" -eq 0 ] || complain report "wrong"
    jq -e '.files == [{"name": "steps", "writers": "main()", "compared": true}]' out
    [ "$(wc -l <steps)" -eq 2 ]
    rehearse --kills 2 --cpus 2 -- "$rehearsed" stamp
    answers 3 "Cannot say: All restarts were right, but the file steps (main()) was not compared: "
    grep -Fqx "  For example --ignore 'steps'" out
    rehearse --kills 2 --cpus 2 --ignore 'st*' -- "$rehearsed" stamp
    answers 0 "Safe: "
}

# Runs 1 and 2 are plain and alike, 3 is closed, 4 and 5 are protected; 6 and on are plain.
@test "a program that varies by itself, though its first runs are alike" {
    rehearse --kills 2 --ignore runs -- "$rehearsed" varies
    answers 3 "Cannot say: The program varies by itself: two runs without protection print another line 1"
    ! grep -Eq 'valgrind|never written' out
    [ "$(wc -c <runs)" -eq 7 ]
}

@test "a program that reads the terminal is stopped, and the rehearsal tells" {
    cat >terminal.py <<'END'
import pty, sys
sys.exit(pty.spawn(sys.argv[1:]) >> 8)
END
    run_apart timeout "$hangs" /usr/bin/python3 terminal.py "$tool" rehearse -k 1 -- "$rehearsed" terminal
    [ "$status" -eq 3 ] || complain terminal "wrong status"
    grep -q 'Cannot say: The program reads from the terminal' out
}

@test "a restart is refused: the message is told" {
    export STARPU_TIC_INPUTS=check
    rehearse_briefly 6 -- "$lib/patterns" pid-data
    [ "$status" -eq 3 ] # its output tells
    rehearse --kills 12 --filter d -- "$lib/patterns" pid-data
    answers 1 "Not restartable: after kill "
    grep -q '^  Message  *the input of this run differs' out
    grep -Eq '^    STARPU_NCPU=2 .* STARPU_TIC_FAIL=.* starpu-tic run -- .*/patterns pid-data$' out
}

@test "main() reads large data by its plain pointer: the place is named, and runs follow the advice" {
    rehearse_briefly 6 -- "$rehearsed" history
    answers 0 "Safe: "
    grep -Eq '^  main\(\) reads data 0 \(.* bytes\) by its pointer, .* at rehearsed.c:[0-9]+ ' out
    grep -q '^  What to do  call starpu_data_acquire' out
    grep -Fq "$STARPU_TIC_DIR.advice" <(tr '\n' ' ' <out | tr -s ' ')
    grep -Fxq 'log 0' "$STARPU_TIC_DIR.advice"
    rehearse_briefly 2 --json -- "$rehearsed" history
    [ "$(jq -r '.touched | length' out)" -ge 1 ]
    [ "$(jq -r .advice_file out)" = "$STARPU_TIC_DIR.advice" ]
    P_QUIET=1 rehearse --kills 1 --cpus 2 --json -- "$program"
    [ "$(jq -r '.touched | length' out)" -eq 0 ]
    [ "$(jq -r .advice_file out)" = "" ]
}

@test "tasks that write no data: a restart is right, and skips nothing" {
    rehearse --kills "$(is_soak && echo 6 || echo 3)" --cpus 2 -- "$lib/unseen" reads-only 0.2
    answers 0 "Safe: "
    grep -q '^  Note  *no restart skipped a task' out
}

@test "tasks write memory that nobody registered" {
    rehearse --kills 12 --cpus 2 -- "$lib/unseen" result-arg 0.2
    answers 1 "Not restartable: after kill "
    grep -Fq 'STARPU_TIC_POINTERS=trust' out
    export STARPU_TIC_POINTERS=trust
    rehearse --kills 12 --cpus 2 -- "$lib/unseen" result-arg 0.2
    answers 1 "Not safe: after kill "
    grep -q '^  Expected  *result-arg ' out
    grep -Fq 'kernels must write registered data only' <(tr '\n' ' ' <out | tr -s ' ')
}

@test "a program that prints a clock: nothing can be said, but with a filter" {
    rehearse_briefly 2 -- "$rehearsed" clock
    answers 3 "Cannot say: "
    grep -qF -- "--filter '/elapsed/d'" out
    rehearse_briefly 4 --filter '/elapsed/d' -- "$rehearsed" clock
    answers 0 "Safe: "
}

@test "tasks that print: a restart need not print again" {
    rehearse_briefly 4 -- "$rehearsed" talk
    answers 0 "Safe: "
    grep -q '^  Note  *tasks print\.' out
}

# Other buffers than stdout of C are not known: the rehearsal does what a kill does.
@test "tasks that print into a buffer of the program's own: their lines are lost" {
    rehearse_briefly 4 -- "$rehearsed" murmur
    answers 1 "Not safe: after kill "
    grep -Fq 'SIGKILL takes along what the program has printed' <(tr '\n' ' ' <out | tr -s ' ')
}

@test "a program that always fails fails in restarts, too" {
    rehearse_briefly 4 -- "$rehearsed" fail
    answers 0 "Safe: "
    grep -q 'ends with status 3' out
}

@test "protection ends: the message is told" {
    rehearse_briefly 2 -- "$lib/patterns" child-pointer
    answers 1 "Not protected: "
    grep -q '^  Message .*with_pointer' out
}

@test "nothing can be said of what is not there, does not use StarPU, or crashes by itself" {
    for command in ./no-such-program "sh -c true" "sh -c kill\${IFS}-TERM\${IFS}\$\$"; do
        rehearse -- $command
        answers 3 "Cannot say: "
    done
    grep -q 'signal 15' out
}

@test "settings of a run do not disturb" {
    P_QUIET=1 STARPU_TIC_FAIL=task-end:5 STARPU_TIC_EVERY=10 STARPU_TIC_KEEP=1 STARPU_TIC_COPY=$PWD/copy \
        rehearse_briefly 3 -- "$program"
    answers 0 "Safe: "
    [ ! -e copy ]
}

@test "--keep keeps the files of all runs" {
    mkdir temporary
    P_QUIET=1 TMPDIR=$PWD/temporary run_apart "$tool" rehearse --kills 2 --cpus 2 --keep -- "$program" </dev/null
    [ "$status" -eq 0 ] || complain keep "wrong"
    folder=$(sed -n 's/^  Files  *//p' out)
    [ -s "$folder/plain1.out" ]
    cmp "$folder/plain1.out" "$folder/kill2-run2.out"
}

@test "it ends with all it has started when it is told to" {
    mkdir temporary
    mkfifo ready go
    TMPDIR=$PWD/temporary P_HOLD=1 "$tool" rehearse -- "$program" </dev/null >out 2>err 3>&- &
    cat ready # until the program is there
    kill -TERM $!
    wait $! || status=$?
    [ "$status" -eq 143 ]
    [ -z "$(ls -A temporary)" ]
}

@test "wrong use: status 2; help: status 0" {
    for arguments in "" "--" "--kills 0 $program" "--cpus 1,x $program" "--protocol off $program" \
        "--period 0 $program" "--nonsense $program"; do
        run_apart "$tool" rehearse $arguments </dev/null
        [ "$status" -eq 2 ]
        [ ! -s out ]
        grep -q '^Usage: starpu-tic rehearse\|^`starpu-tic rehearse --help` tells more' err
    done
    rehearse --filter 's/(/' -- "$program"
    answers 3 "Cannot say: sed -E does not take the filter"
    run_apart "$tool" rehearse --help
    [ "$status" -eq 0 ]
    [ ! -s err ]
    grep -q '^Usage: starpu-tic rehearse' out
}
