#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that programs that access data behind StarPU's back are right after a kill with
# STARPU_TIC_VERIFY; tests/crash/unseen without options kills all of them 200 times.
load common

@test "tic: no wrong result" {
    campaign unseen --kills 2 --scale 0.2 --mode history,decide,rescale,phases50,closed,kernelwrite-global
}

@test "tic: no wrong result where undeclared data leaves, or structures of tasks stay" {
    campaign unseen --kills 8 --scale 0.4 --mode kernelwrite-leaves,read-kept
}

@test "tic: main() clears a flag before each wait, and tasks set it again" {
    campaign unseen --kills 4 --scale 0.2 --mode flag,flag-acquire,flag-decide,flag-many
}

@test "tic: callbacks write registered memory; main() asks whether tasks are left" {
    campaign unseen --kills 8 --scale 0.2 --mode callbackwrite,callbackwrite-other,asking
}

# Workers that reach a count wait for a line, and main() for the tasks, in a way of its own.
@test "tic: main() polls for callbacks" {
    campaign unseen --kills 2 --every 2 --mode polling
}
