#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that a campaign which tests nothing fails.
load common

@test "campaigns whose runs are all refused, or all unprotected, fail" {
    command -v jq >/dev/null || skip "no jq"
    cd "$BATS_TEST_TMPDIR"
    mkdir build # whose starpu-tic refuses each run, or protects none
    ln -s "$TIC_BUILD/.libs" "$TIC_BUILD/tests" build/
    for instead in 'echo "starpu-tic: no" >&2; exit 78' 'export STARPU_TIC_PROTOCOL=off'; do
        printf '#!/bin/sh\nif [ "$1" = run ] && [ "$STARPU_TIC_PROTOCOL" != off ]; then %s; fi\nexec "%s" "$@"\n' \
            "$instead" "$TIC_BUILD/starpu-tic" >build/starpu-tic
        chmod +x build/starpu-tic
        for campaign in "../fuzz/campaign --seeds 2 --rounds 2 --operations 60" \
            "faults --step 1000 --calls files" "unseen --kills 10 --scale 0.2 --mode history"; do
            # shellcheck disable=SC2086 # words
            run "$BATS_TEST_DIRNAME/${campaign%% *}" --build build ${campaign#* }
            [ "$status" -ne 0 ] && [[ $output = *"proves nothing"* ]] && continue
            echo "$campaign, $instead: $status: $output"
            return 1
        done
    done
}

@test "what is enough" {
    "$BATS_TEST_DIRNAME/proves" 100 10 10 10
    for few in "100 9 10 10" "100 10 9 10" "100 10 10 9" "1 0 0 0" "0 0 0 0"; do
        # shellcheck disable=SC2086 # words
        run "$BATS_TEST_DIRNAME/proves" $few
        [ "$status" -eq 1 ]
    done
}
