#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that a checkpoint can be read with h5py and FORMAT.md alone, by the example that does so.
load common

reader() {
    /usr/bin/python3 "$BATS_TEST_DIRNAME/../../examples/02_read_checkpoint.py" "$STARPU_TIC_DIR" "$@"
}

need_h5py() {
    /usr/bin/python3 -c 'import h5py' 2>/dev/null || skip "no python3-h5py"
}

@test "the elements of every vector are what its version says" {
    need_h5py
    # In the order of submission, so that no vector is left out.
    export STARPU_NCPU=1 STARPU_TIC_SCHED=eager STARPU_TIC_EVERY=50 P_TASKS=2000
    crash line-renamed:2 "$program"
    for handle in 0 1 2 3; do
        read -r _ version < <(reader $handle)
        [ "$version" -ge 10 ]
        # Task i works on vector i % 4: every third one takes 3/2 of it, the others add 1.
        expected=$(awk -v h=$handle -v n="$version" \
            'BEGIN { x = 1 + h; for (k = 0; k < n; k++) x = (4 * k + h) % 3 == 0 ? x * 2 - x / 2 : x + 1
                     printf "%.6e", x }')
        reader $handle | tail -1 | tr ' ' '\n' >elements
        [ "$(wc -l <elements)" -eq 1000 ]
        [ "$(awk '{ printf "%.6e\n", $1 }' elements | sort -u)" = "$expected" ]
    done
    run reader 4
    [ "$status" -ne 0 ]
    [[ $output == "handle 4 has no value"* ]]
}

@test "where values are many, they are in blocks" {
    need_h5py
    STARPU_TIC_EVERY=30 crash task-end:900 "$lib/sizes" 300
    [ "$(reader 190 uint64 | tail -1)" = "$(seq -s ' ' 190 2237)" ]
    [ "$(reader 190 uint64 | head -1)" = "version 1" ]
}
