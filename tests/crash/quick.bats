#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that Debian's StarPU examples survive SIGKILL: a part of the crash campaign that fits into
# `make check`. tests/crash/campaign without options runs all of it.

campaign() {
    command -v jq >/dev/null || skip "no jq"
    dpkg -L starpu-examples >/dev/null 2>&1 || skip "no starpu-examples"
    unset LD_PRELOAD
    run "$BATS_TEST_DIRNAME/campaign" --tool "$TIC_BUILD/starpu-tic" \
        --oracle "$TIC_BUILD/.libs/oracle.so" --time "$TIC_BUILD/.libs/fixed_time.so" "$@"
    echo "$output" | grep -v '^ok'
    [ "$status" -eq 0 ]
}

@test "every failpoint, and the lines written early in a recovered run: cholesky_commute" {
    campaign --points failpoints cholesky_commute
}

@test "every failpoint, with tags and without sequential consistency: cholesky_tile_tag" {
    campaign --points failpoints cholesky_tile_tag
}

@test "random kills: small programs" {
    campaign --points random --random 4 vector_scal add_vectors variable incrementer dgemm
}

@test "random kills: factorizations" {
    campaign --points random --random 4 cholesky_implicit cholesky_tag cholesky_tile_tag \
        cholesky_commute lu_implicit
}

@test "random kills, the program's own check: cholesky_implicit -check, LU with a random matrix" {
    campaign --points random --random 2 cholesky_check lu_check
}
