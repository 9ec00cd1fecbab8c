#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that a store does not grow with time, and what is done against that.
load common

segments() {
    find "$STARPU_TIC_DIR" -name 'p0-segment-*' | wc -l
}

@test "data of ever new sizes: segments go, values are moved, kills do no harm" {
    export STARPU_TIC_EVERY=3 STARPU_TIC_LOG=0
    expected=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$lib/sizes" 300)
    run_apart "$tool" run -- "$lib/sizes" 300
    is_right "$expected" ""
    [ "$(stat_of segments_removed)" -gt 50 ]
    skipped=0
    for point in segment-removed:1 segment-removed:2 segment-removed:40 task-end:900; do
        resumes "$point" 3 "$expected" "$lib/sizes" 300
    done
    [ "$skipped" -gt 1000 ]
    crash task-end:900 "$lib/sizes" 300
    [ "$(segments)" -lt 80 ]
    run "$tool" verify "$STARPU_TIC_DIR"
    [ "$status" -eq 0 ]
}

@test "a segment with few values is emptied: killed while they are moved, and right after" {
    export STARPU_TIC_EVERY=3
    expected=$(STARPU_TIC_PROTOCOL=off "$tool" run -- "$lib/sizes" 60)
    STARPU_NCPU=1 run_apart "$tool" run -- "$lib/sizes" 60
    is_right "$expected" ""
    moved=$(stat_of values_moved)
    [ "$moved" -ge 1 ]
    skipped=0
    for point in value-moved:1 value-moved:"$moved"; do
        STARPU_NCPU=1 resumes "$point" 3 "$expected" "$lib/sizes" 60
    done
    [ "$skipped" -gt 0 ]
}
