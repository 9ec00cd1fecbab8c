#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks the subcommands that look after a directory: list, diff, extract, prune, stats; and the
# completion of bash.
load common

setup_file() {
    command -v jq >/dev/null || skip "no jq"
}

# A store with lines 3 and 4, the newest first.
make_store() {
    P_QUIET=1 STARPU_TIC_EVERY=20 crash line-retired:2 "$program"
    "$tool" info --json "$STARPU_TIC_DIR" >info.json
    [ "$(jq -c '[.lines[].good]' info.json)" = "[true,true]" ]
}

@test "list tells what info tells" {
    make_store
    "$tool" list --json "$STARPU_TIC_DIR" >list.json
    [ "$(jq -c '[.lines[] | [.number, .tasks_done, .handles, .bytes, .created]]' list.json)" = \
        "$(jq -c '[.lines[] | [.number, .tasks_done, .handles, .bytes, .created]]' info.json)" ]
    [ "$("$tool" list "$STARPU_TIC_DIR" | wc -l)" -eq 3 ]
    echo garbage >"$STARPU_TIC_DIR/p0-line-00000009.h5"
    run "$tool" list "$STARPU_TIC_DIR"
    [ "$status" -eq 0 ]
    [[ $output == *p0-line-00000009.h5:* ]]
    [ "$("$tool" list --json "$STARPU_TIC_DIR" | jq '.lines[0].readable')" = false ]
    run "$tool" list nowhere
    [ "$status" -eq 1 ]
}

@test "diff tells the tasks and data between two lines, in both directions" {
    make_store
    new=$(jq '.lines[0].number' info.json) old=$(jq '.lines[1].number' info.json)
    more=$(jq '.lines[0].tasks_done - .lines[1].tasks_done' info.json)
    run "$tool" diff --json "$STARPU_TIC_DIR"
    [ "$status" -eq 1 ]
    echo "$output" >diff.json
    [ "$(jq '.before.number, .after.number' diff.json | xargs)" = "$old $new" ]
    [ "$(jq .tasks diff.json)" -eq "$more" ]
    [ "$(jq '[.task_ranges[] | .[1] - .[0] + 1] | add' diff.json)" -eq "$more" ]
    [ "$(jq '.data_changed + .data_same + .data_new' diff.json)" -eq "$(jq '.lines[0].handles' info.json)" ]
    [ "$(jq '.data | length' diff.json)" -eq "$(jq '.data_changed + .data_new + .data_gone' diff.json)" ]
    run "$tool" diff --json "$STARPU_TIC_DIR" "$new" "$old"
    [ "$status" -eq 1 ]
    [ "$(jq '.tasks, .tasks_undone' <<<"$output" | xargs)" = "0 $more" ]
    run "$tool" diff "$STARPU_TIC_DIR/p0-line-0000000$old.h5" "$STARPU_TIC_DIR"
    [ "$status" -eq 1 ]
    [[ $output == "line $old to line $new"* ]]
    run "$tool" diff "$STARPU_TIC_DIR" "$new" "$new"
    [ "$status" -eq 0 ]
    run "$tool" diff "$STARPU_TIC_DIR" 77 "$new"
    [ "$status" -eq 3 ]
    run "$tool" diff "$STARPU_TIC_DIR" x "$new"
    [ "$status" -eq 2 ]
}

@test "extract writes values as they were saved, in each form" {
    need_h5py
    make_store
    "$tool" extract --json "$STARPU_TIC_DIR" >all.json
    [ "$(jq '.data | length' all.json)" -eq "$(jq '.lines[0].handles' info.json)" ]
    for id in $(jq '.data[].data' all.json | head -3); do
        for form in npy txt h5; do
            "$tool" extract --json "$STARPU_TIC_DIR" "$id" -t float -o "value.$form" >one.json
            [ "$(jq .data one.json)" -eq "$id" ]
        done
        read_value "$id" | tail -1 >expected
        /usr/bin/python3 - <<'END'
import h5py, numpy
expected = numpy.array(open("expected").read().split(), dtype="f8")
npy, text = numpy.load("value.npy"), numpy.loadtxt("value.txt")
with h5py.File("value.h5") as file:
    bits = file["payload-0"][0]
assert npy.dtype == "f8" and numpy.allclose(npy.ravel(), expected, rtol=1e-6), (npy, expected)
assert (text.ravel() == npy.ravel()).all() and (bits == npy.view("u8")).all()
END
    done
    for wrong in "9999 -o x.npy" "0 -o x.xml" "0" "0 -o x.npy --line 77" "0 -t no -o x.npy"; do
        # shellcheck disable=SC2086 # several arguments
        run "$tool" extract "$STARPU_TIC_DIR" $wrong
        [ "$status" -ne 0 ]
        [ ! -e x.npy ]
    done
    # Damage is not given out: every byte of a segment behind its header is another one.
    for segment in "$STARPU_TIC_DIR"/p0-segment-*.h5; do
        size=$(stat -c %s "$segment")
        head -c "$size" /dev/zero | tr '\0' '\245' | dd of="$segment" bs=8192 seek=1 conv=notrunc 2>/dev/null
        truncate -s "$size" "$segment"
    done
    run "$tool" extract "$STARPU_TIC_DIR" 0 -o x.npy
    [ "$status" -eq 1 ]
    [ ! -e x.npy ]
}

@test "prune keeps what a restart begins with, and the restart is right" {
    expected=$(P_QUIET=1 "$program")
    make_store
    touch "$STARPU_TIC_DIR/p0-line-00000009.h5.new"
    head -c 5000 /dev/zero >"$STARPU_TIC_DIR/p0-segment-00000077.h5"
    find "$STARPU_TIC_DIR" -type f | sort >before
    "$tool" prune --dry-run --json "$STARPU_TIC_DIR" >dry.json
    find "$STARPU_TIC_DIR" -type f | sort | cmp - before
    "$tool" prune --json "$STARPU_TIC_DIR" >wet.json
    [ "$(jq -c .removed wet.json)" = "$(jq -c .removed dry.json)" ]
    [ "$(jq '.removed | length' wet.json)" -ge 3 ]
    [ "$("$tool" list --json "$STARPU_TIC_DIR" | jq -c '[.lines[].number]')" = "[$(jq '.lines[0].number' info.json)]" ]
    "$tool" verify "$STARPU_TIC_DIR"
    P_QUIET=1 run_apart "$tool" run -- "$program"
    is_right "$expected" yes || complain "$program" wrong
    [ "$(stat_of tasks_skipped)" -eq "$(jq '.lines[0].tasks_done' info.json)" ]
}

@test "prune removes nothing that is the only good line, nor under a run" {
    make_store
    newest=p0-line-0000000$(jq '.lines[0].number' info.json).h5
    flip_at "$newest" 3000
    find "$STARPU_TIC_DIR" -type f | sort >before
    "$tool" prune "$STARPU_TIC_DIR" >out
    grep -q 'Segments stay' out
    find "$STARPU_TIC_DIR" -type f | sort | cmp - before
    for line in "$STARPU_TIC_DIR"/p0-line-*.h5; do
        flip_at "${line##*/}" 3001
    done
    run "$tool" prune "$STARPU_TIC_DIR"
    [ "$status" -eq 1 ]
    [[ $output == *"nothing is removed"* ]]
    find "$STARPU_TIC_DIR" -type f | sort | cmp - before
    run /usr/bin/python3 -c '
import fcntl, subprocess, sys
with open(sys.argv[2] + "/p0.lock", "r+") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    sys.exit(subprocess.call([sys.argv[1], "prune", sys.argv[2]]))' "$tool" "$STARPU_TIC_DIR"
    [ "$status" -eq 1 ]
    [[ $output == *"a run uses it"* ]]
}

@test "results in the event log outlive prune" {
    expected=$(P_QUIET=1 "$program")
    export STARPU_TIC_PROTOCOL=tic+sel STARPU_TIC_VERIFY=0
    P_QUIET=1 STARPU_TIC_EVERY=50 crash task-end:180 "$program"
    "$tool" prune "$STARPU_TIC_DIR"
    P_QUIET=1 run_apart "$tool" run -- "$program"
    is_right "$expected" yes || complain "$program" wrong
    [ "$(stat_of forced_used)" -gt 0 ]
}

@test "stats knows each field that a run writes" {
    P_QUIET=1 "$tool" run -- "$program"
    "$tool" stats "$STARPU_TIC_STATS" >plain
    run grep -c '^Other' plain
    [ "$output" -eq 0 ]
    [ "$("$tool" stats --json "$STARPU_TIC_STATS" | jq -cS add)" = "$(jq -cS . "$STARPU_TIC_STATS")" ]
    echo '{"new": 3}' >new.json
    "$tool" stats new.json | grep -q '^  new .* 3$'
    echo '[' >new.json
    run "$tool" stats new.json
    [ "$status" -eq 2 ]
}

@test "bash completes commands, options and files" {
    complete_words() { # WORD...: the last one is completed
        bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _starpu_tic; echo "${COMPREPLY[@]}"' \
            bash "$BATS_TEST_DIRNAME/../../plugin/tools/completion.bash" "$tool" "$@"
    }
    [ "$(complete_words ext)" = extract ]
    [ "$(complete_words prune --k)" = --keep ]
    [ "$(complete_words run --max)" = --max-restarts ]
    [ "$(complete_words run --protocol ti | xargs)" = "tic tic+sel" ]
    touch file-1
    [ "$(complete_words report file)" = file-1 ]
    [[ " $(complete_words run -- cat) " == *" cat "* ]]
    for command in $(complete_words '' | tr ' ' '\n' | grep -v -- --); do
        "$tool" "$command" --help >/dev/null
    done
}
