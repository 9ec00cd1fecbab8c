#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks programs with several memory nodes of StarPU: OpenCL devices (PoCL makes one of the
# processors), NUMA nodes that hwloc makes up, and a disk to which StarPU moves data.
load common

device=(STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1 STARPU_NCPU=1)
device_only=(STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1 STARPU_NCPU=0)
processors=(STARPU_NCPU=2)
disk=(STARPU_DISK_SWAP=swap STARPU_DISK_SWAP_SIZE=200 STARPU_LIMIT_CPU_MEM=2 STARPU_NCPU=2)
numa=(STARPU_USE_NUMA=1 HWLOC_SYNTHETIC="numa:2 core:1 pu:1" HWLOC_THISSYSTEM=1 STARPU_NCPU=2)

need_device() {
    need_older
    compgen -G '/etc/OpenCL/vendors/pocl*' >/dev/null || skip "no PoCL (pocl-opencl-icd)"
    ldd "$lib/nodes" | grep -q libOpenCL || skip "built without OpenCL"
}

need_numa() {
    need_older
    [ "$(nproc)" -ge 2 ] || skip "one processor"
}

# Runs in a place, kills it when so many tasks have ended: dies PLACE TASKS COMMAND...
dies() {
    local -n where=$1
    STARPU_TIC_FAIL=task-end:$2 run_apart env "${where[@]}" timeout 60 "$tool" run -- "${@:3}"
    [ "$status" -eq 137 ] || complain "${*:3}" "not killed on $1"
}

# Runs in a place to its end, with the expected output: ends PLACE EXPECTED COMMAND...
ends() {
    local -n where=$1
    run_apart env "${where[@]}" timeout 60 "$tool" run -- "${@:3}"
    is_right "$2" lines || complain "${*:3}" "wrong on $1"
    [ "$(stat_of tasks_skipped)" -gt 0 ] || [ "$(stat_of forced_used)" -gt 0 ] ||
        complain "${*:3}" "nothing was skipped on $1"
}

# Killed twice, in two places, and ended in a third.
moves() { # PLACE PLACE PLACE COMMAND...
    local expected
    expected=$("${@:4}")
    rm -rf "$STARPU_TIC_DIR"
    dies "$1" 70 "${@:4}"
    dies "$2" 25 "${@:4}"
    ends "$3" "$expected" "${@:4}"
}

@test "OpenCL: resumed on the device, on processors only, and back" {
    need_device
    export STARPU_TIC_EVERY=20
    for NODES_HOME in 0 2; do
        export NODES_HOME
        moves device processors device "$lib/nodes" 1 200 300
        moves processors device processors "$lib/nodes" 2 200 300
        moves device device_only device "$lib/nodes" 3 200 300
    done
}

@test "OpenCL: StarPU chooses the device; devices only from the beginning" {
    need_device
    export STARPU_TIC_EVERY=20 NODES_PLAIN=1
    moves device device processors "$lib/nodes" 4 200 300
    moves device_only device_only device "$lib/nodes" 5 200 300
}

# The value was on the device when the task ended.
@test "OpenCL, sel: what has ended is not executed again" {
    need_device
    export STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0
    local expected
    expected=$("$lib/nodes" 6 200 300)
    dies device 120 "$lib/nodes" 6 200 300
    ends device "$expected" "$lib/nodes" 6 200 300
    [ $(($(stat_of tasks_submitted) - $(stat_of tasks_executed))) -ge 90 ]
}

@test "NUMA nodes: resumed on them, on one node, and back" {
    need_numa
    export STARPU_TIC_EVERY=20
    for NODES_HOME in 0 2; do
        export NODES_HOME
        moves numa processors numa "$lib/nodes" 1 200 300
        moves numa numa processors "$lib/nodes" 2 200 300
    done
    STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0 moves numa numa numa "$lib/nodes" 3 200 300
}

# Of six data of 432 kB each 2 MiB hold those of two tasks, and not all.
@test "a disk: data without a home is saved, and restored, though StarPU moves it there" {
    need_older
    export STARPU_TIC_EVERY=20
    mkdir swap
    for NODES_HOME in 0 1; do
        export NODES_HOME
        moves disk disk processors "$lib/nodes" 1 120 18000
    done
    NODES_HOME=0 moves processors disk disk "$lib/nodes" 2 120 18000
    [ -n "$(ls swap)" ] # it did
}

# The program runs on; the message names what it is: refuses MESSAGE COMMAND...
refuses() {
    local expected
    expected=$("${@:2}")
    rm -rf "$STARPU_TIC_DIR"
    run_apart env "${numa[@]}" timeout 60 "$tool" run -- "${@:2}"
    [ "$status" -eq 0 ] && [ "$(cat out)" = "$expected" ] || complain "${*:2}" "wrong"
    grep -q "$1.* not protected yet where StarPU has several memory nodes" err ||
        complain "${*:2}" "no message: $1"
}

@test "what is not protected on several nodes is refused by its name" {
    need_numa
    refuses "reductions are" "$lib/nbody"
    refuses "planned partitions are" "$lib/plans" implicit
}
