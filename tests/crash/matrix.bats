#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that a program killed at every failpoint in the middle of its run is resumed right: a part of
# the crash matrix that fits into `make check`. tests/crash/matrix without options runs all of it.
load common

@test "every failpoint, amid the run, under tic+sel: dgemm -check" {
    campaign matrix --protocols tic+sel --passes middle dgemm-check
}
