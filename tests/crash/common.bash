# SPDX-License-Identifier: LGPL-2.1-or-later
# What the parts of the crash campaigns share that `make check` runs. TIC_BUILD: the build directory.
# shellcheck source=tests/lib/machine.bash
. "$BATS_TEST_DIRNAME/../lib/machine.bash"
[ -n "${TIC_SOAK-}" ] || export TIC_IDLE_LIB=$TIC_BUILD/.libs/idle.so

# How many rounds: of make check-soak, or of make check.
rounds() { # SOAK CHECK
    [ -n "${TIC_SOAK-}" ] && echo "$1" || echo "$2"
}

# Runs a campaign, and prints only what is not ok.
campaign() { # campaign or corpus, its options
    command -v jq >/dev/null || skip "no jq"
    dpkg -L starpu-examples >/dev/null 2>&1 || skip "no starpu-examples"
    run "$BATS_TEST_DIRNAME/$1" --build "$TIC_BUILD" "${@:2}"
    echo "$output" | grep -v '^ok'
    [ "$status" -eq 0 ]
}
