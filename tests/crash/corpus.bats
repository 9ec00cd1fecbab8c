#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that programs of all kinds, protected or not, are never wrong after SIGKILL: a part of the
# campaign over the whole corpus that fits into `make check`.
load common

@test "a few kills of every kind of program" {
    campaign corpus --quick --most "$(rounds 3 1)" --random "$(rounds 3 1)"
}
