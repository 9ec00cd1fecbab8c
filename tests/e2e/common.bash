# SPDX-License-Identifier: LGPL-2.1-or-later
# What all end-to-end tests share. TIC_BUILD: the build directory (absolute).
: "${TIC_BUILD:?set it to the build directory}"
tool=$TIC_BUILD/starpu-tic
library=$TIC_BUILD/.libs/libstarputic.so
lib=$TIC_BUILD/tests/lib
program=$lib/program
oracle=$TIC_BUILD/.libs/oracle.so
fixed_time=$TIC_BUILD/.libs/fixed_time.so
calm=$TIC_BUILD/.libs/idle.so # workers without a task sleep, but in make check-soak
[ -z "${TIC_SOAK-}" ] || calm=
hangs=600 # seconds: what takes longer hangs. Beside a load, runs that are right take a minute
# shellcheck source=tests/lib/blas.bash
. "$BATS_TEST_DIRNAME/../lib/blas.bash"
# shellcheck source=tests/lib/machine.bash
. "$BATS_TEST_DIRNAME/../lib/machine.bash"
# Asked once for each file of tests. Starting a command costs a tenth of a run of a program: what tests do again
# and again is done by the shell itself.
export examples=${examples-$(dpkg -L starpu-examples 2>/dev/null | grep '/cholesky_implicit$' | xargs -r dirname)}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    unset DISPLAY
    export LD_PRELOAD=$calm
    use_reference_blas
    export STARPU_NCPU=2 STARPU_NCUDA=0 STARPU_NOPENCL=0 STARPU_SILENT=1 STARPU_BUS_CALIBRATE=0
    # StarPU opens OpenCL's libraries even where no device is wanted, and hwloc those of OpenCL, X11 and XML.
    export OCL_ICD_VENDORS=/nonexistent HWLOC_PLUGINS_PATH=/nonexistent
    export STARPU_HOME=$BATS_FILE_TMPDIR STARPU_TIC_PERIOD=1000 STARPU_TIC_DIR=$PWD/store
    export STARPU_TIC_STATS=$PWD/stats.json
    export STARPU_TIC_SYNC=${sync-never} # a kill of the process loses no file
}

need_examples() {
    [ -d "$examples" ] || skip "no starpu-examples"
}

# Runs a command until a failpoint kills it: crash FAILPOINT COMMAND... On several workers a line may come
# of two or three counts of STARPU_TIC_EVERY, as those that do not wait go on; on one it comes of each.
crash() {
    local failpoint=$1
    shift
    STARPU_TIC_FAIL=$failpoint run "$tool" run -- "$@"
    [ "$status" -eq 137 ] && return
    echo "not killed at $failpoint: $*: status $status; its output:"
    echo "$output"
    return 1
}

# The value of a field of the statistics, which are a field a line.
stat_of() {
    local stats
    stats=$(<"$STARPU_TIC_STATS") && [[ $stats =~ $'\n'"  \"$1\": "\"?([^\",$'\n']*) ]] && echo "${BASH_REMATCH[1]}"
}

is_stat() { # field, value
    [[ $(<"$STARPU_TIC_STATS") == *$'\n'"  \"$1\": $2"[,$'\n']* ]]
}

# Debian's Python with the module of bindings/python.
python() {
    PYTHONPATH=$BATS_TEST_DIRNAME/../../bindings/python PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$@"
}

read_value() { # of a handle
    python -m starpu_tic value "$STARPU_TIC_DIR" "$@"
}

need_jq() {
    command -v jq >/dev/null || skip "no jq"
}

need_h5py() {
    /usr/bin/python3 -c 'import h5py' 2>/dev/null || skip "no python3-h5py"
}

# Makes a byte of a file of the store another one.
flip_at() { # file, byte
    printf '\xa5' | dd of="$STARPU_TIC_DIR/$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# bats' run merges both outputs; this one keeps them apart in the files out and err. What a good run
# says of itself is in the file said.
run_apart() {
    status=0
    "$@" >out 2>err || status=$?
    local line messages
    mapfile -t messages <err
    for line in "${messages[@]}"; do
        if [[ $line == 'starpu-tic: protected: '* ]]; then
            echo "$line" >&3
        else
            printf '%s\n' "$line"
        fi
    done >err 3>said
}

complain() { # the command, then what is wrong
    echo "$1: $2; status $status; out, err:"
    cat out err
    return 1
}

# What h5py reads of the four vectors of $program is what their versions say: check_vectors ELEMENTS
check_vectors() {
    local handle version expected
    for handle in 0 1 2 3; do
        read_value $handle >value
        read -r _ version <value
        [ "$version" -ge 10 ]
        # Task i works on vector i % 4: every third one takes 3/2 of it, the others add 1.
        expected=$(awk -v h=$handle -v n="$version" \
            'BEGIN { x = 1 + h; for (k = 0; k < n; k++) x = (4 * k + h) % 3 == 0 ? x * 2 - x / 2 : x + 1
                     printf "%.6e", x }')
        tail -1 value | tr ' ' '\n' >elements
        [ "$(wc -l <elements)" -eq "$1" ]
        [ "$(awk '{ printf "%.6e\n", $1 }' elements | sort -u)" = "$expected" ]
    done
}

# There was no message but for what sel says at each start.
says_nothing() {
    [ "$(grep -cv 'results of single tasks are logged' err)" -eq 0 ]
}

has_lines() { # the store
    compgen -G "$STARPU_TIC_DIR/*-line-*.h5" >/dev/null
}

# The last run printed what it should, protected, and continued from the lines that were there.
is_right() { # expected output, recovery lines before it
    [ "$status" -eq 0 ] && [ "$(<out)" = "$1" ] && is_stat protected true || return 1
    [ -z "$2" ] || is_stat recovered true
}

# Kills a program at a point and resumes it; where it is not killed it must be right. Adds what the
# resumed run skipped to the variable skipped: resumes POINT WORKERS EXPECTED-OUTPUT COMMAND...
resumes() {
    local point=$1 workers=$2 expected=$3 held # run sets `lines`
    shift 3
    rm -rf "$STARPU_TIC_DIR"
    STARPU_TIC_FAIL=$point run_apart timeout "$hangs" "$tool" run -- "$@"
    if [ "$status" -ne 137 ]; then
        is_right "$expected" "" || complain "$*" "wrong before $point"
        return
    fi
    held=
    ! has_lines || held=yes
    STARPU_NCPU=$workers run_apart timeout "$hangs" "$tool" run -- "$@"
    is_right "$expected" "$held" || complain "$*" "wrong after $point"
    skipped=$((skipped + $(stat_of tasks_skipped)))
}

# Whether a test has all of its rounds (make check-soak), or those that make check has time for.
is_soak() {
    [ -n "${TIC_SOAK-}" ]
}

# Each second, third ... of these, from the first on; with TIC_SOAK all: some_of STEP ITEM...
some_of() {
    local step=$1 number=0 item
    shift
    for item in "$@"; do
        is_soak || [ $((number++ % step)) -eq 0 ] || continue
        echo "$item"
    done
}

# Kills a program at points, each in the restart of the run before, and resumes it, on 1, 2 and 3 workers
# in turns; what ends before its point must be right. With TIC_SOAK each point has a first run and a
# restart of its own. Adds to `skipped`: resumes_through "POINT..." EXPECTED COMMAND...
resumes_through() {
    local points=$1 expected=$2 point held workers=0 processors=$STARPU_NCPU
    shift 2
    if is_soak; then
        for point in $points; do
            resumes "$point" $((workers++ % 3 + 1)) "$expected" "$@"
        done
        return
    fi
    rm -rf "$STARPU_TIC_DIR"
    for point in $points ""; do
        [ -n "$point" ] || [ "$status" -eq 137 ] || return 0 # it has ended
        held=
        ! has_lines || held=yes
        STARPU_NCPU=$processors STARPU_TIC_FAIL=$point run_apart timeout "$hangs" "$tool" run -- "$@"
        processors=$((workers++ % 3 + 1))
        [ "$status" -ne 137 ] || [ -z "$point" ] || continue
        is_right "$expected" "$held" || complain "$*" "wrong, killed at $points, until ${point:-the end}"
        skipped=$((skipped + $(stat_of tasks_skipped)))
    done
}

# resumes_always EXPECTED COMMAND...: the same under each protocol, from several points and on several
# numbers of workers, of which sel has the first two and tic+sel the others; each has something to skip.
# In make check each has a kill in a first run, and tic one in a restart.
resumes_always() {
    local expected=$1 protocol skipped early="line-renamed:2 task-end:150" late="copy-on-write:3 task-begin:250"
    shift
    is_soak || early=line-renamed:2 late=task-begin:250
    for protocol in tic sel tic+sel; do
        export STARPU_TIC_PROTOCOL=$protocol
        [ $protocol = tic ] || export STARPU_TIC_VERIFY=0
        skipped=0
        case $protocol in
        tic) resumes_through "$early $late" "$expected" "$@" ;;
        sel) resumes_through "$early" "$expected" "$@" ;;
        *) resumes_through "$late" "$expected" "$@" ;;
        esac
        [ "$skipped" -gt 0 ] || complain "$*" "nothing was skipped under $protocol"
    done
}

# Kills a program at several points, of each second program one fewer, and resumes it on other numbers of
# workers: survives COMMAND...
survives() {
    local reference skipped=0 between=line-renamed:5
    programs=$((${programs-0} + 1))
    is_soak || [ $((programs % 2)) -eq 1 ] || between=
    reference=$("$@") || { status=$?; complain "$*" "fails unprotected"; }
    resumes_through "line-renamed:1 $between task-end:230" "$reference" "$@"
    [ "$skipped" -gt 0 ] || complain "$*" "nothing was ever skipped"
}

survive_modes() { # program, modes...
    local program=$1
    shift
    export STARPU_TIC_EVERY=11
    for mode in "$@"; do
        survives "$lib/$program" "$mode"
    done
}
