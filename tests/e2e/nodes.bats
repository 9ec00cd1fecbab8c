#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks programs with several memory nodes of StarPU: OpenCL devices (PoCL makes one of the
# processors), NUMA nodes that hwloc makes up, and a disk to which StarPU moves data.
load common

opencl=(STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1 OCL_ICD_VENDORS=/etc/OpenCL/vendors)
device=("${opencl[@]}" STARPU_NCPU=1)
device_only=("${opencl[@]}" STARPU_NCPU=0)
processors=(STARPU_NCPU=2)
# With a card, or with what stands in for CUDA's runtime library.
cuda=(STARPU_NCUDA=1 STARPU_NCPU=1)
cuda_only=(STARPU_NCUDA=1 STARPU_NCPU=0)
cuda_pipeline=(STARPU_NCUDA=1 STARPU_NCPU=1 STARPU_CUDA_PIPELINE=4 STARPU_NWORKER_PER_CUDA=2)
disk=(STARPU_DISK_SWAP=swap STARPU_DISK_SWAP_SIZE=200 STARPU_LIMIT_CPU_MEM=2 STARPU_NCPU=2)
numa=(STARPU_USE_NUMA=1 HWLOC_SYNTHETIC="numa:2 core:1 pu:1" HWLOC_THISSYSTEM=1 STARPU_NCPU=2)

need_device() {
    compgen -G '/etc/OpenCL/vendors/pocl*' >/dev/null || skip "no PoCL (pocl-opencl-icd)"
    ldd "$lib/nodes" | grep -q libOpenCL || skip "built without OpenCL"
}

is_newer() {
    grep -q 'PACKAGE_STARPU_VERSION "1.4"' "$TIC_BUILD/config.h"
}

need_cuda() {
    [ -d "$lib/cuda/.libs" ] || skip "StarPU has no CUDA, or there is no nvcc"
    [ -e /dev/nvidia0 ] || export LD_LIBRARY_PATH=$lib/cuda/.libs:$LD_LIBRARY_PATH
}

need_numa() {
    [ "$(nproc)" -ge 2 ] || skip "one processor"
}

# Runs in a place, and is killed at a failpoint, or ends before: dies PLACE FAILPOINT EXPECTED COMMAND...
dies() {
    local -n where=$1
    STARPU_TIC_FAIL=$2 run_apart env "${where[@]}" timeout "$hangs" "$tool" run -- "${@:4}"
    [ "$status" -eq 137 ] || is_right "$3" "" || complain "${*:4}" "wrong on $1 before $2"
}

# Runs in a place to its end, with the expected output. Counts in `continued` whether it had skipped
# something: ends PLACE EXPECTED COMMAND...
ends() {
    local -n where=$1
    local held
    held=$(find "$STARPU_TIC_DIR" -name '*-line-*.h5' 2>/dev/null) || true # the run before may have ended
    run_apart env "${where[@]}" timeout "$hangs" "$tool" run -- "${@:3}"
    is_right "$2" "$held" || complain "${*:3}" "wrong on $1"
    [ $(($(stat_of tasks_skipped) + $(stat_of forced_used))) -eq 0 ] || continued=$((continued + 1))
}

# Killed twice in two places, soon after a recovery line and later, and ended in a third.
moves() { # PLACE PLACE PLACE COMMAND...
    local expected
    expected=$("${@:4}")
    rm -rf "$STARPU_TIC_DIR"
    dies "$1" line-renamed:2 "$expected" "${@:4}"
    dies "$2" task-end:40 "$expected" "${@:4}"
    ends "$3" "$expected" "${@:4}"
}

# With data at each home, or, in make check, at this one: moves_from_homes HOME PLACE PLACE PLACE COMMAND...
moves_from_homes() {
    local NODES_HOME
    for NODES_HOME in $(is_soak && echo 0 2 || echo "$1"); do
        export NODES_HOME
        moves "${@:2}"
    done
}

@test "OpenCL: resumed on the device, on processors only, and back" {
    need_device
    local continued=0
    export STARPU_TIC_EVERY=10
    moves_from_homes 0 device processors device "$lib/nodes" 1 300 1000
    moves_from_homes 2 processors device processors "$lib/nodes" 2 300 1000
    moves_from_homes 0 device device_only device "$lib/nodes" 3 300 1000
    [ "$continued" -gt 0 ]
}

@test "CUDA: resumed on the device, on processors only, and back; kernels that nvcc has compiled" {
    need_cuda
    local continued=0
    export STARPU_TIC_EVERY=10
    moves_from_homes 0 cuda processors cuda "$lib/nodes" 1 300 1000
    moves_from_homes 2 processors cuda processors "$lib/nodes" 2 300 1000
    moves_from_homes 0 cuda_pipeline cuda_only cuda "$lib/nodes" 3 300 1000
    NODES_HOME=2 NODES_PINNED=1 NODES_PLAIN=1 moves cuda cuda cuda_only "$lib/nodes" 4 300 1000
    [ "$continued" -gt 0 ]
}

@test "OpenCL: StarPU chooses the device; devices only from the beginning" {
    need_device
    local continued=0
    export STARPU_TIC_EVERY=10 NODES_PLAIN=1
    moves device device processors "$lib/nodes" 4 300 1000
    moves device_only device_only device "$lib/nodes" 5 300 1000
    NODES_EACH=1 moves device device_only device "$lib/nodes" 8 300 1000
    [ "$continued" -gt 0 ]
}

# The value was on the device when the task ended.
@test "OpenCL, sel: what has ended is not executed again" {
    need_device
    export STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0
    local expected continued=0
    expected=$("$lib/nodes" 6 300 1000)
    dies device task-end:120 "$expected" "$lib/nodes" 6 300 1000
    ends device "$expected" "$lib/nodes" 6 300 1000
    [ $(($(stat_of tasks_submitted) - $(stat_of tasks_executed))) -ge 90 ]
}

# Runs the program on the device, which seems to be of CUDA: as_cuda VARIABLE=VALUE...
as_cuda() {
    run_apart env "${device[@]}" "$@" LD_PRELOAD="$library:$TIC_BUILD/.libs/kinds.so:$calm" \
        timeout "$hangs" "$lib/nodes" 7 300 1000
}

# Killed and resumed with these variables, which may name another kind; err is what the restart said.
resumes_as_cuda() {
    rm -rf "$STARPU_TIC_DIR"
    as_cuda "$@" STARPU_TIC_FAIL=task-end:120
    [ "$status" -eq 137 ] || complain nodes "not killed"
    as_cuda "$@"
    is_right "$("$lib/nodes" 7 300 1000)" lines || complain nodes "wrong"
    [ "$(stat_of tasks_skipped)" -gt 0 ]
}

@test "CUDA devices are protected by default, and HIP devices with a line that says they are untried" {
    need_device
    export STARPU_TIC_EVERY=10
    resumes_as_cuda
    ! grep 'nothing was tried' err
    is_newer || return 0
    resumes_as_cuda KINDS=hip
    [ "$(grep -c 'StarPU uses HIP devices, with which nothing was tried on a real one' err)" -eq 1 ]
}

@test "OpenCL: main memory gets values when a line is due, each at most once, and not before" {
    need_device
    export STARPU_TIC_EVERY=50 NODES_MAIN=0
    run_apart env "${device_only[@]}" "$tool" run -- "$lib/nodes" 7 600 1000
    [ "$status" -eq 0 ]
    [ "$(stat_of checkpoints)" -ge 2 ]
    [ "$(stat_of windows)" -ge "$(stat_of checkpoints)" ]
    [ "$(stat_of values_fetched)" -gt 0 ]
    [ "$(stat_of values_fetched)" -le $(($(stat_of windows) * 6)) ] # data
    [ "$(stat_of bytes_fetched)" -ge $(($(stat_of values_fetched) * 8000)) ]
    export STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0
    run_apart env "${device_only[@]}" "$tool" run -- "$lib/nodes" 7 600 1000
    [ "$status" -eq 0 ]
    [ "$(stat_of windows)" -eq 0 ]
}

@test "OpenCL: killed at each step of a window" {
    need_device
    local continued=0 expected
    export STARPU_TIC_EVERY=20
    expected=$("$lib/nodes" 8 300 1000)
    for step in opened:3 fetched:9 filled:3 closed:3; do
        rm -rf "$STARPU_TIC_DIR"
        dies device "window-$step" "$expected" "$lib/nodes" 8 300 1000
        [ "$status" -eq 137 ]
        ends device_only "$expected" "$lib/nodes" 8 300 1000
    done
    [ "$continued" -eq 4 ]
}

@test "devices with which nothing was tried: FPGAs only where STARPU_TIC_DEVICES=all says so, others never" {
    need_device
    local expected
    expected=$("$lib/nodes" 7 300 1000)
    export STARPU_TIC_EVERY=10
    as_cuda KINDS=mpi STARPU_TIC_DEVICES=all
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain nodes "wrong without protection"
    grep -q 'not protected: StarPU uses a kind of device (MIC, slaves by MPI)' err
    is_newer || return 0
    as_cuda KINDS=fpga
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain nodes "wrong without protection"
    grep -q 'not protected: StarPU uses an FPGA.*STARPU_TIC_DEVICES=all' err
    resumes_as_cuda KINDS=fpga STARPU_TIC_DEVICES=all
    [ "$(grep -c 'nothing was tried on a real one' err)" -eq 1 ]
}

# Values that main() gets back are in one, or copied: images CHECK VARIABLE=VALUE...
images() {
    rm -rf "$STARPU_TIC_DIR"
    run_apart env "${numa[@]}" STARPU_TIC_IMAGE=1000 STARPU_TIC_EVERY=5 NODES_DATA=2 "${@:2}" \
        timeout "$hangs" "$lib/nodes" 1 30 1000000
    [ "$status" -eq 0 ] && [ "$(stat_of values_in_images)" "$1" 0 ] ||
        complain "$*" "$(stat_of values_in_images) values in images"
}

@test "no process images, for which a driver would copy what is pinned, where there is a CUDA device" {
    need_numa
    images -ge LD_PRELOAD="$library:$calm"
    [ "$(stat_of values_in_images)" -gt 0 ] || skip "no process images in this job"
    images -eq LD_PRELOAD="$library:$TIC_BUILD/.libs/kinds.so:$calm"
}

# System calls of base/image.c aside, which the test above is about.
@test "nothing of ours starts another process" {
    nm -D --undefined-only "$library" "$TIC_BUILD"/.libs/tic-store.so >imported
    ! grep -Ew '_*(v?fork|_Fork|clone3?|popen|system|posix_spawnp?|daemon|forkpty|execv[a-z]*)(@.*)?$' imported
}

# Each of twelve thousand tasks writes data of its own, or what one of the first has written:
# crowd VARIABLE=VALUE... Workers spin: where they have no task they look whether the device has ended one.
crowd() {
    run_apart env "${device_only[@]}" LD_PRELOAD= NODES_APART=1 NODES_MAIN=0 NODES_DATA=10000 NODES_HOME=2 "$@" \
        timeout "$hangs" "$lib/nodes" 9 12000 1
}

# The values of ten thousand tasks are under way to main memory at once: is_protected VARIABLE=VALUE...
is_protected() {
    crowd LD_PRELOAD="$library:$TIC_BUILD/.libs/underway.so" UNDERWAY=10000 "$@"
    grep -q '^10000 values under way' err && ! grep '^starpu-tic: ' err
}

# Killed when they were, and resumed, so many at least not executed again:
# crowd_dies SKIPPED FAILPOINT VARIABLE=VALUE
crowd_dies() {
    rm -rf "$STARPU_TIC_DIR"
    is_protected "$3" STARPU_TIC_FAIL="$2"
    [ "$status" -eq 137 ]
    [ "$(du -sm "$STARPU_TIC_DIR" | cut -f1)" -lt 100 ] # no block of the log for each slot
    crowd "$3" LD_PRELOAD="$library"
    cmp out expected && [ "$status" -eq 0 ] || complain "$3" "wrong"
    [ $(($(stat_of tasks_skipped) + $(stat_of forced_used))) -ge "$1" ] || complain "$3" "began anew"
}

@test "OpenCL: ten thousand independent tasks that have not ended are protected" {
    need_device
    export STARPU_TIC_VERIFY=0
    crowd
    [ "$status" -eq 0 ]
    mv out expected
    crowd_dies 0 task-end:8000 STARPU_TIC_PERIOD=0.05 # cuts are raised while slots are added
    crowd_dies 4000 line-renamed:1 STARPU_TIC_EVERY=4000
    crowd_dies 7000 task-end:8000 STARPU_TIC_PROTOCOL=sel
    rm -rf "$STARPU_TIC_DIR"
    is_protected STARPU_TIC_EVERY=4000
    cmp out expected && [ "$status" -eq 0 ] || complain nodes "wrong, not killed"
    [ "$(stat_of checkpoints)" -gt 1 ]
}

# Nodes seem to be CUDA devices, and this has been pinned, at most and at the end: pins MODE "PINNED REFUSED" VARIABLE=VALUE...
pins() {
    local expected
    expected=$("$lib/pinned" "$1")
    rm -rf "$STARPU_TIC_DIR"
    run_apart timeout "$hangs" env "${numa[@]}" PINS="$PWD/pins" "${@:3}" \
        LD_PRELOAD="$library:$TIC_BUILD/.libs/kinds.so:$TIC_BUILD/.libs/pins.so:$calm" "$lib/pinned" "$1"
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain "$1" "wrong"
    read -r pinned refused most left <pins
    [ "$pinned $refused $left" = "$2 0" ] || complain "$1" "$pinned pinned, $refused refused, $left bytes left"
}

@test "memory of data is pinned while it is registered, once, and as a whole" {
    need_numa
    local pinned refused most left
    pins alone "2 0"
    [ "$most" -ge 4194304 ] && [ "$most" -lt 4200000 ]
    pins tiles "1 0"
    pins gaps "1 0"
    pins across "2 0"
    pins small "0 0"
    pins small "1 0" STARPU_TIC_PIN=1000
    pins alone "0 0" STARPU_TIC_PIN=0
}

@test "pinned memory is unpinned before the program can give it back" {
    need_numa
    local mode pinned refused most left
    for mode in submit mapped given left; do
        pins "$mode" "1 0"
    done
    pins beside "3 0"
}

@test "what the program pins is its own" {
    need_numa
    local pinned refused most left
    pins own "1 1"
    pins own "1 1" STARPU_TIC_VERBOSE=2
    [ "$(grep -c 'memory of data is not pinned' err)" -eq 1 ]
    pins then "2 0"
}

# StarPU would lose count, and what follows main()'s next access would never begin.
@test "NUMA nodes: no two threads end accesses on the same data at the same time" {
    need_numa
    local all twice
    STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0 run_apart timeout "$hangs" env "${numa[@]}" \
        ENDS="$PWD/ends" LD_PRELOAD="$library:$TIC_BUILD/.libs/ends.so:$calm" "$lib/nodes" 8 300 1000
    [ "$status" -eq 0 ] && [ "$(<out)" = "$("$lib/nodes" 8 300 1000)" ] || complain nodes "wrong"
    read -r all twice <ends
    [ "$all" -ge 50 ]
    [ "$twice" -eq 0 ]
}

@test "NUMA nodes: resumed on them, on one node, and back" {
    need_numa
    local continued=0
    export STARPU_TIC_EVERY=10
    moves_from_homes 0 numa processors numa "$lib/nodes" 1 300 1000
    moves_from_homes 2 numa numa processors "$lib/nodes" 2 300 1000
    NODES_HOME=2 STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0 moves numa numa numa "$lib/nodes" 3 300 1000
    [ "$continued" -gt 0 ]
}

# What a program does beside tasks that StarPU orders by their data: all_moves PLACE PLACE PLACE
all_moves() {
    local NODES_MORE continued=0
    export STARPU_TIC_EVERY=10
    for NODES_MORE in ${parts-ci ri ati pi di}; do
        export NODES_MORE
        moves_from_homes 1 "$@" "$lib/nodes" 1 300 700
    done
    [ "$continued" -gt 0 ]
}

@test "OpenCL: commuting writes, reductions, accesses with a callback, tasks of callbacks, tags, invalidation" {
    need_device
    all_moves device processors device
}

@test "NUMA nodes: the same, and bodies that attract each other" {
    need_numa
    local continued=0 parts="ri di"
    ! is_soak || unset parts
    all_moves numa processors numa
    STARPU_TIC_EVERY=10 moves numa numa processors "$lib/nbody" 5 8
}

@test "OpenCL: callbacks wait in a restart on a device alone" {
    need_device
    local continued=0 line
    export STARPU_TIC_EVERY=10 NODES_MORE=t
    for line in 2 4 6; do
        rm -rf "$STARPU_TIC_DIR"
        expected=$("$lib/nodes" 1 300 700)
        dies device line-renamed:$line "$expected" "$lib/nodes" 1 300 700
        ends device_only "$expected" "$lib/nodes" 1 300 700
    done
    [ "$continued" -gt 0 ]
}

# A device writes it meanwhile.
@test "OpenCL: data is partitioned that a callback has still to give back" {
    need_device
    local expected
    export NODES_MORE=p NODES_HOME=2
    expected=$("$lib/nodes" 3 300 700)
    run_apart env "${device[@]}" timeout "$hangs" "$tool" run -- "$lib/nodes" 3 300 700
    is_right "$expected" ""
}

# One of Debian's examples, killed after two lines in a place, and ended in another; what it leaves in
# its data is the same: leaves PLACE PLACE EXAMPLE ARGUMENTS...
leaves() {
    local -n first=$1 then=$2
    rm -f expected
    TIC_ORACLE=$PWD/expected LD_PRELOAD=$oracle "$examples/$3" "${@:4}" >out 2>err
    export TIC_ORACLE=$PWD/hashes
    for _ in 1 2 3 4 5; do # it may end before a second line is there
        rm -rf "$STARPU_TIC_DIR" hashes
        run_apart env "${first[@]}" LD_PRELOAD="$oracle" STARPU_TIC_FAIL=line-renamed:2 timeout "$hangs" \
            "$tool" run -- "$examples/$3" "${@:4}"
        [ "$status" -eq 0 ] || break
    done
    [ "$status" -eq 137 ] || complain "$3" "not killed"
    rm -f hashes
    run_apart env "${then[@]}" LD_PRELOAD="$oracle" timeout "$hangs" "$tool" run -- "$examples/$3" "${@:4}"
    is_right "$(<out)" lines && cmp hashes expected && [ "$(stat_of tasks_skipped)" -gt 0 ] ||
        complain "$3" "wrong"
}

@test "Debian's Cholesky, heat, cg and dot_product: killed on a device or NUMA nodes, and resumed on others" {
    need_device
    need_numa
    need_examples
    export STARPU_TIC_EVERY=5
    local where
    for where in device numa; do
        leaves $where processors cholesky_implicit -size 192 -nblocks 12 -commute
        ! is_soak && [ $where = numa ] || leaves $where $where cholesky_tag -size 192 -nblocks 12
        # On NUMA nodes StarPU's heat itself is wrong once in some hundred runs, without the library, too.
        [ $where = numa ] || STARPU_TIC_POINTERS=trust leaves $where $where heat -nthick 16 -ntheta 16 -nblocks 4
        leaves processors $where cg -n 64 -nblocks 4 -maxiter 20 -no-reduction
        leaves $where $where minmax_reduction
    done
    local continued=0
    rm -rf "$STARPU_TIC_DIR"
    dies numa line-renamed:2 "" "$examples/dot_product" # which checks its result
    ends processors "" "$examples/dot_product"
    [ "$continued" -eq 1 ]
}

@test "NUMA nodes: what main() holds for reading stays while a restart goes on" {
    need_numa
    local continued=0 expected line
    export STARPU_TIC_EVERY=1
    expected=$("$lib/orders" held-look)
    for line in 4 $(is_soak && echo 7) 11 $(is_soak && echo 14) 18; do
        rm -rf "$STARPU_TIC_DIR"
        dies numa line-renamed:$line "$expected" "$lib/orders" held-look
        ends numa "$expected" "$lib/orders" held-look
    done
    [ "$continued" -gt 0 ]
}

# Of six data of 432 kB each 2 MiB hold those of two tasks, and not all.
@test "a disk: data without a home is saved, and restored, though StarPU moves it there" {
    local continued=0
    export STARPU_TIC_EVERY=10
    mkdir swap
    for NODES_HOME in 0 1; do
        export NODES_HOME
        moves disk disk processors "$lib/nodes" 1 120 18000
    done
    NODES_HOME=0 moves processors disk disk "$lib/nodes" 2 120 18000
    [ "$continued" -gt 0 ]
    [ -n "$(ls swap)" ] # it did
}

# The program runs on; the message names what it is: refuses MESSAGE COMMAND...
refuses() {
    local expected
    expected=$("${@:2}")
    rm -rf "$STARPU_TIC_DIR"
    run_apart env "${numa[@]}" timeout "$hangs" "$tool" run -- "${@:2}"
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain "${*:2}" "wrong"
    grep -q "protection ends here: .*$1.*where StarPU has several memory nodes" err ||
        complain "${*:2}" "no message: $1"
}

@test "what is not protected on several nodes is refused by its name" {
    need_numa
    refuses "planned partitions are" "$lib/plans" implicit
    NODES_MORE=rb refuses "writes that commute" "$lib/nodes" 2 300 100 # by a task that contributes
    NODES_MORE=cd refuses "writes that commute" "$lib/nodes" 1 300 100
    refuses "data without a home node that is written without" "$lib/orders" free-homeless
    NODES_MORE=rd refuses "reductions (STARPU_REDUX) beside tags" "$lib/nodes" 1 300 100
}
