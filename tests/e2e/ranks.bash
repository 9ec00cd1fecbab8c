# SPDX-License-Identifier: LGPL-2.1-or-later
# What the tests of programs of several MPI processes share.
load common

# StarPU measures the machine when it starts first; ranks that do so at once stop each other.
setup_file() {
    STARPU_HOME=$BATS_FILE_TMPDIR STARPU_NCPU=1 "$TIC_BUILD/examples/01_vector" >/dev/null
    command -v mpicc >/dev/null && pkg-config --exists starpumpi-1.3 || return 0
    compile_ranks mixed
}

compile_ranks() { # NAME: lib/NAME_ranks.c
    mpicc -O1 -std=gnu11 "$BATS_TEST_DIRNAME/../lib/$1_ranks.c" -o "$BATS_FILE_TMPDIR/$1" \
        $(pkg-config --cflags --libs starpumpi-1.3)
}

need_mpi() {
    command -v mpirun >/dev/null || skip "no mpirun"
    need_examples
    mpi=$examples/../mpi
    [ -x "$mpi/mpi_cholesky" ] || skip "StarPU's examples have none for MPI"
    export STARPU_NCPU=1 STARPU_WORKERS_NOBIND=1 STARPU_MPI_NOBIND=1 OMPI_MCA_mpi_yield_when_idle=1
    export OMPI_MCA_hwloc_base_binding_policy=none OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_odls_base_sigkill_timeout=0 # else mpirun sleeps a second when a rank has died
    cholesky=("$mpi/mpi_cholesky" -size 960 -nblocks 12 -check)
}

# Output of all ranks, without times, in any order.
ranks() { # NUMBER COMMAND...
    local status=0
    timeout 120 mpirun --oversubscribe -np "$@" >out 2>&1 || status=$?
    [ "$status" -eq 0 ] || cat out # where that fails the test
    return "$status"
}

lines_of() {
    export STARPU_TIC_RANKS=try STARPU_TIC_VERBOSE=2 STARPU_TIC_PERIOD=${period-0.02}
    ranks "$1" "$tool" run -- "${@:2}"
}

is_fine() {
    ! grep -E 'error|protection ends|not protected' out && ! grep -q 'internal' out
}

# ---- ./mixed, a program whose result depends on the order of all that it does ---------------------

build_ranks() {
    need_mpi
    [ -e "$BATS_FILE_TMPDIR/mixed" ] || skip "no mpicc, or no StarPU-MPI to compile with"
    cp "$BATS_FILE_TMPDIR/mixed" .
}

# The hashes that it prints.
results() {
    grep -E '^(rank|tile) ' out | sort
}

# Sets `expected` to the results of a run without protection, of which the tests of a file share one. $reference
# is for executions().
expect() { # NUMBER ARGUMENTS...
    reference="$BATS_FILE_TMPDIR/${MIXED_BLIND+blind }${MIXED_TALK+talk }$*"
    if [ ! -e "$reference" ]; then
        count_as "$reference" ranks "$1" ./mixed "${@:2}"
        results >"$reference"
    fi
    expected=$(<"$reference")
}

gives() { # EXPECTED
    [ "$(results)" = "$1" ] && return
    echo "other results than $1:"
    cat out
    return 1
}

# How often the ranks execute the kernel, in all runs with this NAME.
executions() { # NAME
    cat "$1"-[01] | wc -c
}

count_as() { # NAME COMMAND...
    MIXED_RANKS_COUNT=$1 "${@:2}"
}

# Runs it until a failpoint kills a rank. PARTS: main() waits for lines there (lib/mixed_ranks.c).
killed_at() { # FAILPOINT PARTS NUMBER ARGUMENTS...
    local status=0
    STARPU_TIC_FAIL=$1 MIXED_LINES=$2 lines_of "$3" ./mixed "${@:4}" || status=$?
    [ "$status" -eq 137 ] || { echo "not killed at $1" && return 1; }
}

# The same, and the restart gives what is `expected`.
goes_on_after() { # FAILPOINT PARTS NUMBER ARGUMENTS...
    killed_at "$@"
    lines_of "$3" ./mixed "${@:4}"
    grep "continuing $3 ranks from job line" out
    is_fine
    gives "$expected"
}

# ---- what commands tell ---------------------------------------------------------------------------

# Why the newest line needs as many ranks, or yes.
any_ranks() {
    "$tool" info --json "$STARPU_TIC_DIR" | jq -r '.job_lines[0] | if .any_ranks then "yes" else .why_as_many end'
}

# What commands tell of the newest job line is what they tell of the folder of each rank in sum.
sums_are_those_of_parts() {
    local D=$STARPU_TIC_DIR part
    "$tool" info --json "$D" >job.json
    for part in $(jq -r '.job_lines[0].parts[]' job.json); do
        "$tool" info --json "$D/${part%/*}" | jq ".lines[] | select(.file == \"${part#*/}\")"
    done >parts.json
    [ "$(jq -c '.job_lines[0] | [.tasks_done, .tasks_submitted, .handles, .bytes]' job.json)" = \
        "$(jq -sc '[(map(.tasks_done) | add), (map(.tasks_submitted) | add), (map(.handles) | add), (map(.bytes) | add)]' parts.json)" ]
    [ "$(jq '.job_lines[0].handles' job.json)" -gt 0 ]
}
