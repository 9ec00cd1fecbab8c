#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that Debian's StarPU examples survive SIGKILL: a part of the crash campaign that fits into
# `make check`. tests/crash/campaign without options runs all of it.
load common

# In make check two of three failpoints; matrix.bats has all of them.
@test "every other failpoint, and the lines written early in a recovered run: cholesky_implicit -commute" {
    campaign campaign --points failpoints --shard "$(rounds 1/2 1/3)" $(rounds "" --brief) cholesky_implicit-commute
}

@test "the other failpoints, with tags and without sequential consistency: cholesky_tile_tag" {
    campaign campaign --points failpoints --shard "$(rounds 2/2 2/3)" $(rounds "" --brief) cholesky_tile_tag-medium
}

@test "random kills: small programs" {
    campaign campaign --points random --random "$(rounds 4 1)" vector_scal add_vectors variable-medium \
        incrementer-medium dgemm-check
}

@test "random kills: factorizations" {
    campaign campaign --points random --random "$(rounds 4 2)" cholesky_implicit-long cholesky_tag-long \
        cholesky_tile_tag-medium cholesky_implicit-commute lu_implicit_example_double-long
}

@test "random kills, the program's own check: cholesky_implicit -check, LU with a random matrix" {
    campaign campaign --points random --random "$(rounds 2 1)" cholesky_implicit-check \
        lu_implicit_example_double-check
}
