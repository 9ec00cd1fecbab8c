#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks values that are compressed: what a restart makes of them, what they take, who reads them.
load common

# Tiles of 100 kB, most of which no task writes while they are saved.
prepare() { # where a run is killed
    need_examples
    export STARPU_TIC_COMPRESS=6 STARPU_TIC_EVERY=40 TIC_ORACLE=$PWD/hashes
    command=("$examples/cholesky_implicit" -size 1920 -nblocks 12)
    [ -e plain ] || {
        LD_PRELOAD=$oracle:$calm "${command[@]}"
        mv hashes plain
    }
    crash "$1" "${command[@]}"
}

resume() {
    LD_PRELOAD=$oracle:$calm "$tool" run -- "${command[@]}"
    cmp hashes plain
    [ "$(stat_of recovered)" = true ]
    [ "$(stat_of tasks_skipped)" -gt 20 ]
}

@test "a factorization that is killed, and continues on another number of workers" {
    local spared=0 # a disk that is busy may let single runs write nothing compressed
    for point in line-renamed:3 row-write:90 task-end:150 checkpoint-saved:4; do
        prepare "$point"
        run "$tool" verify "$STARPU_TIC_DIR"
        [ "$status" -eq 0 ]
        STARPU_NCPU=3 resume
        spared=$((spared + $(stat_of bytes_spared)))
    done
    [ "$spared" -gt 100000 ]
}

@test "a run without compression goes on with what is compressed, and the other way round" {
    prepare line-renamed:3
    STARPU_TIC_COMPRESS=0 crash line-renamed:2 "${command[@]}"
    run "$tool" verify "$STARPU_TIC_DIR"
    [ "$status" -eq 0 ]
    crash line-renamed:2 "${command[@]}"
    STARPU_TIC_COMPRESS=0 resume
    [ "$(stat_of bytes_spared)" -eq 0 ]
}

@test "info tells what values take in the files" {
    prepare line-renamed:4
    run "$tool" info --json "$STARPU_TIC_DIR"
    jq -en 'input | .lines[0] | .stored_bytes > 0 and .bytes > 1.5 * .stored_bytes' <<<"$output"
    run "$tool" info "$STARPU_TIC_DIR"
    [[ $output =~ "bytes stored ("[1-9]"."[0-9]+" : 1)" ]]
}

@test "a copy holds the same, compressed" {
    STARPU_TIC_COPY=$PWD/copy prepare line-copied:3
    run "$tool" verify copy
    [ "$status" -eq 0 ]
    run "$tool" info --json copy
    jq -en 'input | .lines[0] | .stored_bytes > 0 and .bytes > 1.5 * .stored_bytes' <<<"$output"
    rm -r "$STARPU_TIC_DIR"
    STARPU_TIC_COPY=$PWD/copy resume
}

@test "a byte of a compressed value that is another: verify tells, and the start is refused" {
    need_h5py
    prepare line-renamed:4
    for segment in "$STARPU_TIC_DIR"/p0-segment-*.h5; do
        /usr/bin/python3 - "$segment" <<'END'
import sys, h5py
with h5py.File(sys.argv[1], "r") as file:
    sets = [set for name, set in file.items() if name.startswith("payload") and set.chunks]
    places = [(info.byte_offset, info.size) for set in sets
              for info in map(set.id.get_chunk_info, range(set.id.get_num_chunks()))
              if info.filter_mask == 0 and info.size < set.nbytes // len(set)]
base = 0 if not places else h5py.File(sys.argv[1], "r").userblock_size
with open(sys.argv[1], "r+b") as file:
    for offset, size in places:
        for at in (offset, offset + base):  # versions of HDF5 differ in what they count from
            file.seek(at)
            if file.read(1) == b"\x78":
                file.seek(at + size // 2)
                byte = file.read(1)
                file.seek(at + size // 2)
                file.write(bytes([byte[0] ^ 0x55]))
END
    done
    run "$tool" verify "$STARPU_TIC_DIR"
    [ "$status" -ne 0 ]
    [[ $output == *"does not have its checksum"* ]]
    run "$tool" run -- "${command[@]}"
    [ "$status" -eq 78 ]
}

@test "Python reads values of a store that compresses" {
    need_h5py
    export STARPU_TIC_COMPRESS=1 STARPU_TIC_EVERY=40 P_LENGTH=4000 STARPU_NCPU=1
    STARPU_TIC_SCHED=eager crash line-renamed:2 "$program"
    check_vectors 4000
}
