#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that losses of power leave a store that opens at a committed line; tests/crash/powerloss
# tries more of them.
load common

@test "power is lost: the last committed line, or a later one" {
    [ -x "$TIC_BUILD/tests/lib/powerloss" ] || skip "built without cmocka"
    campaign powerloss --cuts 50
}
