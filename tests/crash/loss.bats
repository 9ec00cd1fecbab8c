#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that a crash costs no more than it must; tests/crash/loss tries more moments.
load common

@test "sel: no task that has ended is executed again" {
    campaign loss --protocol sel --kills 4 --only cholesky
}

@test "tic: no task of the line before is executed again" {
    campaign loss --protocol tic --kills 3
}
