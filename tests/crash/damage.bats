#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that no damage to a store leads to a wrong result; tests/crash/damage does more of it.
load common

@test "the reader takes no number of a line on trust" {
    [ -x "$TIC_BUILD/tests/fuzz/reader" ] || skip "built without cmocka"
    campaign ../fuzz/reader-campaign --seconds "$(rounds 10 5)"
}

@test "bit flips, truncations and spliced blocks: found, or harmless" {
    [ -x "$TIC_BUILD/tests/lib/damage" ] || skip "built without cmocka"
    campaign damage --flips "$(rounds 300 100)" --truncations "$(rounds 60 20)" --splices "$(rounds 60 20)" \
        --restarts "$(rounds 5 3)"
}
