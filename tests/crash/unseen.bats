#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that programs that access data behind StarPU's back are right after a kill with
# STARPU_TIC_VERIFY, with a kill of each, or a few in make check-soak; tests/crash/unseen without options kills all of them 200 times.
load common

@test "tic: no wrong result" {
    campaign unseen --kills "$(rounds 2 1)" --scale 0.2 --mode history,decide,rescale,phases50,closed,kernelwrite-global
}

@test "tic: no wrong result where undeclared data leaves, or structures of tasks stay" {
    campaign unseen --kills "$(rounds 3 1)" --scale 0.4 --mode kernelwrite-leaves,read-kept
}

@test "tic: main() clears a flag before each wait, and tasks set it again" {
    campaign unseen --kills "$(rounds 2 1)" --scale 0.2 --mode flag,flag-acquire,flag-decide,flag-many
}

@test "tic: callbacks write registered memory; main() asks whether tasks are left" {
    campaign unseen --kills "$(rounds 3 1)" --scale 0.2 --mode callbackwrite,callbackwrite-other,asking,joined,paused
}

@test "tic: callbacks read large data, and wake main(), which does; the restart knows by the line" {
    campaign unseen --kills "$(rounds 3 1)" --scale 0.3 --mode callbackread-large,wokenread
}

@test "tic: tasks without written data read by other pointers than their buffers'" {
    campaign unseen --kills "$(rounds 2 1)" --scale 0.3 --mode readglobal,readglobal-large,readhalo,readrows
}

@test "tic: kernels change their arguments, or the size of their data" {
    campaign unseen --kills "$(rounds 2 1)" --scale 0.3 --mode argresult,argstate,argshared,argcallback,resize
}

@test "tic: main() asks whether a task has finished; callbacks know their worker, and take a lock of main()" {
    campaign unseen --kills "$(rounds 2 1)" --scale 0.3 --mode finished,finishedmany,callbackworker,condition
}

@test "tic: main() waits for tasks one by one; memory of two handles is changed, and one of them goes" {
    campaign unseen --kills "$(rounds 3 1)" --scale 0.3 --mode result-synchronous,overlap,halves
}

@test "tic: data is partitioned in each phase, and main() changes it; readers of planned partitions" {
    campaign unseen --kills "$(rounds 3 1)" --scale 0.5 --mode parted,plannedread,twoplans
}

# Workers that reach a count wait for a line, and main() for the tasks, in a way of its own.
@test "tic: main() polls for callbacks" {
    campaign unseen --kills "$(rounds 2 1)" --every 2 --mode polling
}
