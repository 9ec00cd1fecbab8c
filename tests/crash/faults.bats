#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that programs end as they do without protection when calls on the store, or allocations,
# fail. tests/crash/faults without options tries every call.
load common

@test "one call in two hundred fails, alone or with all that follow: right or refused" {
    campaign faults --step 199
}
