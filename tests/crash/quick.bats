#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that Debian's StarPU examples survive SIGKILL: a part of the crash campaign that fits into
# `make check`. tests/crash/campaign without options runs all of it.
load common

@test "every other failpoint, and the lines written early in a recovered run: cholesky_implicit -commute" {
    campaign campaign --points failpoints --shard 1/2 $(rounds "" --brief) cholesky_implicit-commute
}

@test "the other failpoints, with tags and without sequential consistency: cholesky_tile_tag" {
    campaign campaign --points failpoints --shard 2/2 $(rounds "" --brief) cholesky_tile_tag-medium
}

@test "random kills: small programs" {
    campaign campaign --points random --random "$(rounds 4 2)" vector_scal add_vectors variable-medium \
        incrementer-medium dgemm-check
}

@test "random kills: factorizations" {
    campaign campaign --points random --random "$(rounds 4 2)" cholesky_implicit-long cholesky_tag-long \
        cholesky_tile_tag-medium cholesky_implicit-commute lu_implicit_example_double-long
}

@test "random kills, the program's own check: cholesky_implicit -check, LU with a random matrix" {
    campaign campaign --points random --random 2 cholesky_implicit-check \
        lu_implicit_example_double-check
}
