# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the crash campaigns share: their options, TAP, the list of programs, one run of a program,
# the oracles that judge it, and one crash test. A campaign sources this file, reads its options,
# sets counts to those that say which tests there are, calls campaign_begin, then list_each with a
# function that runs the tests of one program, and campaign_end.
crash_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/lib/blas.bash
. "$crash_folder/../lib/blas.bash"
limit=120 # seconds; a run that takes longer hangs

# ---- options ------------------------------------------------------------------------------------
tool=${TIC_TOOL:-starpu-tic}
hash_library=${TIC_ORACLE_LIB:-} time_library=${TIC_TIME_LIB:-} kill_library=${TIC_KILLER_LIB:-}
seed=${TIC_TEST_SEED:-20261121} randoms=20
default_list=$crash_folder/corpus.list list=$default_list
wanted=tic # protocol

# An option that all campaigns have, and its value.
common_option() {
    local value=${2?the option "$1" needs a value}
    case $1 in
    --build)
        tool=$value/starpu-tic hash_library=$value/.libs/oracle.so
        time_library=$value/.libs/fixed_time.so kill_library=$value/.libs/killer.so ;;
    --tool) tool=$value ;;
    --oracle) hash_library=$value ;;
    --time) time_library=$value ;;
    --killer) kill_library=$value ;;
    --seed) seed=$value ;;
    --random) randoms=$value ;;
    --list) list=$value ;;
    --protocol) wanted=$value ;;
    *) echo "$0: unknown option $1" >&2; exit 2 ;;
    esac
}

usage() { # the comment at the top of the campaign
    sed -n '3,/^set/s/^# \{0,1\}//p' "$0"
    exit 0
}

# ---- a campaign, in TAP -------------------------------------------------------------------------
declare -A stats
tests=0 failures=0 tried=0 all_kills=0 all_resumed=0 all_recovered=0 all_skipped=0 all_refused=0

campaign_begin() {
    local name
    command -v jq >/dev/null || { echo "1..0 # SKIP no jq"; exit 0; }
    examples=$(dpkg -L starpu-examples 2>/dev/null | grep '/cholesky_implicit$' | xargs -r dirname)
    [ -d "$examples" ] || { echo "1..0 # SKIP no starpu-examples"; exit 0; }
    tool=$(command -v "$tool") || { echo "$0: no starpu-tic; see --build" >&2; exit 2; }
    for name in tool hash_library time_library kill_library; do
        [ -f "${!name}" ] || { echo "$0: no $name; see --build" >&2; exit 2; }
        declare -g "$name=$(realpath "${!name}")"
    done
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    unset DISPLAY LD_PRELOAD
    use_reference_blas
    export OCL_ICD_VENDORS=/nonexistent HWLOC_PLUGINS_PATH=/nonexistent STARPU_NCUDA=0 STARPU_NOPENCL=0 STARPU_SILENT=1 STARPU_BUS_CALIBRATE=0
    export STARPU_HOME=$work/home STARPU_TIC_PERIOD=1000 STARPU_TIC_VERBOSE=0
    export STARPU_TIC_DIR=$work/store STARPU_TIC_STATS=$work/stats
    export OMPI_MCA_ess_singleton_isolated=1 # one MPI process without MPI's daemon
    mkdir "$STARPU_HOME"
    echo "# seed $seed"
}

campaign_end() {
    echo "1..$tests"
    echo "# $all_kills kills, $all_resumed resumed right ($all_recovered of them recovered)," \
        "$all_refused refused, $failures tests failed"
    "$crash_folder/proves" $tried $all_kills $all_recovered $all_skipped && [ $failures = 0 ]
}

report() { # status, name, details
    tests=$((tests + 1))
    if [ "$1" = 0 ]; then
        echo "ok $tests - $2"
    else
        failures=$((failures + 1))
        echo "not ok $tests - $2"
        printf '%s\n' "$3" | sed 's/^/# /'
    fi
}

random_below() { # 1..$1
    echo $(((RANDOM * 32768 + RANDOM) % $1 + 1))
}

# ---- the list of programs -----------------------------------------------------------------------
# Calls a function for each row of the list, with its columns in global variables. Every program
# has random numbers of its own, so that it meets the same ones alone and with others.
list_each() { # function
    local line
    while read -r -u 3 line; do
        case $line in '' | '#'*) continue ;; esac
        line=${line// | /|} line=${line//| /|}
        IFS='|' read -r program kind oracle filter with command note <<<"${line% |}"
        RANDOM=$(((seed + $(cksum <<<"$program" | cut -d' ' -f1)) % 32768))
        [ -x "$examples/${command%% *}" ] || [ "$oracle" = none ] || continue
        kills=0 resumed=0 recovered=0 skipped=0 refused=0
        "$1"
        all_kills=$((all_kills + kills)) all_resumed=$((all_resumed + resumed))
        all_recovered=$((all_recovered + recovered)) all_skipped=$((all_skipped + skipped)) all_refused=$((all_refused + refused))
    done 3<"$list"
}

is_among() { # names of programs
    local name
    for name in "$@"; do
        [ "$name" != "$program" ] || return 0
    done
    return 1
}

has() { # word of the column `with`
    [[ ",$with," == *",$1,"* ]]
}

# ---- one run ------------------------------------------------------------------------------------
# A run's environment, as words for env(1): $1 workers, $2 where to kill it or "". The place is a
# failpoint, or task:N for the end of the Nth task, whether protected or not.
environment() {
    local workers=$1 preload=
    ! has same-workers || workers=2
    words=("STARPU_NCPU=$workers" "STARPU_TIC_PROTOCOL=$protocol")
    [ "$protocol" = sel ] || words+=("STARPU_TIC_EVERY=$every") # sel asks for lines when it must
    [[ $protocol != *sel ]] || words+=(STARPU_TIC_VERIFY=0) # else no results are logged
    ! has counters || words+=(STARPU_TIC_POINTERS=trust)
    case $2 in
    task:*)
        preload=:$kill_library
        words+=("TIC_KILL_TASK=${2#task:}" "TIC_KILL_COUNT=$work/count") ;;
    ?*) words+=("STARPU_TIC_FAIL=$2") ;;
    esac
    [[ $oracle != *hashes* ]] || preload=$preload:$hash_library words+=("TIC_ORACLE=$work/hashes")
    ! has time || preload=$preload:$time_library
    preload=$preload${TIC_IDLE_LIB:+:$TIC_IDLE_LIB}
    # What a killed run printed counts, so nothing of it may wait in a buffer.
    [[ $oracle != *union* ]] || words+=(GFORTRAN_UNBUFFERED_ALL=1 stdbuf -oL)
    words=("LD_PRELOAD=${preload#:}" "${words[@]}")
}

# Runs the program; arguments as above. Its output goes to $work/out, filtered to $work/lines.
start() {
    local words status since=$SECONDS
    environment "$@"
    printf '%q ' env "${words[@]}" "$tool" run -- >>"$work/commands"
    echo "$examples/$command" >>"$work/commands"
    rm -f "$work/stats"
    : >"$work/hashes"
    (
        cd "$work/run" || exit
        # shellcheck disable=SC2086 # the command's words
        timeout -k 5 $limit env "${words[@]}" "$tool" run -- "$examples"/$command \
            >"$work/out" 2>&1 </dev/null
        exit # so that it is this shell, with no standard error, that reports a kill
    ) 2>/dev/null
    status=$?
    [ $((SECONDS - since)) -lt $limit ] || status=124
    sed -E -e '/starpu-tic: /d' -e "$filter" "$work/out" >"$work/lines"
    return $status
}

# Where all runs of a test start: nothing of an earlier one is left.
fresh() {
    rm -rf "$STARPU_TIC_DIR" "$work/run" "$work/killed" "$work/commands" "$work/count"
    mkdir "$work/run"
    : >"$work/killed"
}

how_to_repeat() {
    echo "repeat: $(basename "$0") --protocol $wanted --seed $seed $counts $program; or by hand:"
    echo 'W=$(mktemp -d); mkdir $W/home $W/run; cd $W/run'
    export -p | sed -n 's/^declare -x \(\(STARPU_\|OMPI_\|LD_LIBRARY_PATH\)[^=]*=\)/export \1/p' |
        sed "s|$work|\$W|"
    sed "s|$work|\$W|g" "$work/commands"
}

# ---- oracles ------------------------------------------------------------------------------------
same() { # what, file, file
    local difference
    difference=$(diff -a "$2" "$3") && return
    echo "$1: the reference (<) and this run (>) differ"
    head -n 10 <<<"$difference"
    return 1
}

same_lines() { # what, command that orders lines, file, file
    same "$1" <($2 "$3") <($2 "$4")
}

# Whether the last run produced what the reference did, by one oracle of the list.
right_by() {
    case $1 in
    check | exit) ;; # the exit status says it
    hashes) same "hashes of data" "$work/reference-hashes" "$work/hashes" ;;
    output) same output "$work/reference-lines" "$work/lines" ;;
    sorted-output) same_lines "sorted output" sort "$work/reference-lines" "$work/lines" ;;
    union)
        cat "$work/lines" >>"$work/killed"
        same_lines "output of all runs" "sort -u" "$work/reference-lines" "$work/killed" ;;
    *) echo "$list: $program: unknown oracle $1"; return 1 ;;
    esac
}

right() {
    local name
    for name in ${oracle//+/ }; do
        right_by "$name" || return 1
    done
}

# jq -e takes no input at all for true, unless it is asked for an input.
good_line() {
    "$tool" info --json "$STARPU_TIC_DIR" 2>/dev/null |
        jq -en 'input | [.lines[] | select(.good)] | length > 0' >/dev/null 2>&1
}

# Reads the statistics of the last run; there are none if it was not protected from its start.
read_statistics() {
    local name value
    stats=([protected]=false [recovered]=false [tasks_submitted]=0 [tasks_executed]=0
        [tasks_skipped]=0 [tasks_executed_again]=0 [recovered_tasks]=0 [values_written]=0
        [checkpoints]=0 [forced_used]=0)
    [ -f "$work/stats" ] || return 0
    while read -r name value; do # a field a line
        [[ $name != '"'*'":' ]] || stats[${name//[\":]/}]=${value//[\",]/}
    done <"$work/stats"
}

statistics_add_up() {
    local done=$((stats[tasks_executed] + stats[tasks_skipped] + stats[forced_used]))
    [ $((done + unsubmitted)) = "${stats[tasks_submitted]}" ] &&
        [ "${stats[tasks_skipped]}" = "${stats[recovered_tasks]}" ]
}

# Tasks that write nothing are not recovered, but executed again: a line may hold none that is done.
line_was_used() {
    [ "${stats[recovered]}" = true ]
}

# What the statistics of a protected run must show. $1: a recovery line was there, yes or no.
# In the run without faults StarPU refused `unsubmitted` tasks, and `written` values were saved.
statistics_prove() {
    local fault=
    if [ "${stats[protected]}" != true ]; then
        fault="ran unprotected: $(why_unprotected)"
    elif ! statistics_add_up; then
        fault="statistics do not add up"
    elif [ "$1" = yes ] && ! line_was_used; then
        fault="a recovery line was there, but was not used"
    fi
    [ -n "$fault" ] || return 0
    echo "$fault"
    cat "$work/stats"
    return 1
}

describe() { # exit status
    echo "ended with $1$([ "$1" != 124 ] || echo ", a hang: more than $limit seconds"):"
    tail -n 5 "$work/out"
}

store_is_gone() {
    [ ! -e "$STARPU_TIC_DIR" ] || { echo "recovery lines are left after success"; return 1; }
}

# ---- a test: its result and, if it fails, how to repeat it --------------------------------------
run_test() { # name, function and its arguments, which prints what is wrong
    local name=$1 status
    shift
    fresh
    remark=
    "$@" >"$work/details" 2>&1
    status=$?
    [ $status = 0 ] || how_to_repeat >>"$work/details"
    report $status "$program: $name${remark:+ # $remark}" "$(cat "$work/details")"
    return $status
}

# ---- runs without faults ------------------------------------------------------------------------
keep_reference() {
    cp "$work/hashes" "$work/reference-hashes"
    cp "$work/lines" "$work/reference-lines"
}

# The program by itself: its exit status and result are the reference.
plain_run() {
    protocol=off every=0
    start 2 ""
    expected=$?
    protocol=$wanted
    keep_reference
    case $expected in
    0) ;;
    124 | 137) describe $expected; return 1 ;;
    *) [ "$kind" = skip ] || { describe $expected; return 1; } ;;
    esac
}

# Protected, without faults: same exit status, same result, and all that it prints is the same.
# $1: after how many tasks a checkpoint is due, 0 for none.
protected_run() {
    local status
    every=$1
    start 2 ""
    status=$?
    [ $status = "$expected" ] || { describe $status; return 1; }
    [ "$every" != 0 ] || ! has protected || keep_reference
    right && right_by sorted-output || return 1
    [ $status != 0 ] || store_is_gone || return 1
    read_statistics
    tasks=${stats[tasks_executed]} unsubmitted=$((stats[tasks_submitted] - stats[tasks_executed]))
    written=${stats[values_written]} checkpoints=${stats[checkpoints]}
    [ -n "$why" ] || why=$(why_unprotected)
    [ "$every" = 0 ] || [ -n "$why" ] || [ "$protocol" = sel ] || [ "$checkpoints" -gt 0 ] ||
        { echo "no checkpoint"; cat "$work/stats"; return 1; }
}

why_unprotected() {
    sed -nE -e 's/.*starpu-tic: this run is not protected: //p' \
        -e 's/.*starpu-tic: protection ends here: (.*)\. The program runs on unprot.*/\1/p' \
        "$work/out" | head -n 1
}

# The runs that all crash tests of a program need. Sets expected, tasks (how many are executed under
# protection), unsubmitted, written, checkpoints, why (empty: protected to the end) and every.
fault_free_tests() {
    why=
    run_test "plain" plain_run && run_test "protected" protected_run 0 || return 1
    [ "$tasks" = 0 ] || run_test "protected, with checkpoints" protected_run $(((tasks + 7) / 8))
}

# ---- crash tests --------------------------------------------------------------------------------
# One crash test: pairs of a number of workers and a place where that run is killed. The last run
# has no place, or does not reach it; its result must be right.
crash_test() { # name or "", workers, place, workers, place..., workers
    local name=${1:+$1: }$2 places=("${@:2}") i
    for ((i = 1; i + 1 < ${#places[@]}; i += 2)); do
        name+=" workers to ${places[i]}, ${places[i + 1]}"
    done
    run_test "$name workers to the end" crash "${places[@]}"
}

crash() {
    local status line=no killed=no
    tried=$((tried + $# / 2))
    while [ $# -gt 0 ]; do
        start "$1" "${2-}"
        status=$?
        [ $status = 137 ] || break
        note_kill || return 1
        shift 2 || break
    done
    [ $status != 137 ] || { echo "the last run was killed, but not by us"; return 1; }
    [ -z "${2-}" ] || remark="$2 was not reached"
    check_end $status $line || return 1
    [ $killed = no ] || [ "$remark" = refused ] || count_resumed
}

# Sets killed and line of the crash test: whether a good recovery line is there.
note_kill() {
    killed=yes kills=$((kills + 1))
    cat "$work/lines" >>"$work/killed"
    if good_line; then
        line=yes
    elif [ "$line" = yes ]; then
        echo "the recovery line that was there is lost"
        return 1
    fi
}

count_resumed() {
    resumed=$((resumed + 1))
    [ "${stats[recovered]}" = true ] || return 0
    recovered=$((recovered + 1)) skipped=$((skipped + stats[tasks_skipped]))
}

# A program that is not protected to its end may be refused as well, with a message and its store
# kept: never a wrong result.
is_refusal() { # exit status
    [[ $1 == 7[08] ]] && grep -q 'starpu-tic: ' "$work/out" && [ -d "$STARPU_TIC_DIR" ]
}

check_end() { # exit status, whether a recovery line was there
    if [ -n "$why" ] && is_refusal "$1"; then
        remark=refused refused=$((refused + 1))
        return 0
    fi
    [ "$1" = "$expected" ] || { describe "$1"; return 1; }
    right || return 1
    [ "$1" != 0 ] || store_is_gone || return 1
    read_statistics
    [ -n "$why" ] || statistics_prove "$2"
}

# A kill at a random task; what happens to the next run takes turns with the number of the test.
random_test() { # number
    local n
    n=$(random_below "$tasks")
    case $(($1 % 4)) in
    0) crash_test random 2 "task-end:$n" 1 ;;
    1) crash_test random 2 "task-end:$n" 4 "replay-skip:$(random_below "$n")" 2 ;;
    2) crash_test random 2 "task-end:$n" 2 "task-end:$(random_below "$tasks")" 4 ;;
    3) crash_test random 2 "task-begin:$n" 1 "restore-end:$(random_below 5)" 4 ;;
    esac
}

random_tests() {
    local i
    for ((i = 0; i < randoms; i++)); do
        random_test $i
    done
}
