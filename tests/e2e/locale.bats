#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that numbers are read and written as in the C locale, whatever locale the program has set.
load common

setup_file() {
    local folder=$BATS_FILE_TMPDIR/locales name
    mkdir -p "$folder/source"
    for name in CTYPE COLLATE MESSAGES MONETARY TIME; do
        printf 'LC_%s\ncopy "POSIX"\nEND LC_%s\n' $name $name
    done >"$folder/source/xx_XX"
    cat >>"$folder/source/xx_XX" <<'END'
LC_NUMERIC
decimal_point ","
thousands_sep "."
grouping 3
END LC_NUMERIC
END
    # It warns of categories that are not there.
    localedef -c -i "$folder/source/xx_XX" -f ANSI_X3.4-1968 "$folder/xx_XX" 2>/dev/null || true
}

# Runs a command in a locale whose numbers have a comma. Programs set it at their start (locale.c).
with_commas() {
    env LOCPATH="$BATS_FILE_TMPDIR/locales" LC_ALL=xx_XX "$@"
}

set_locale() {
    with_commas LD_PRELOAD="$TIC_BUILD/.libs/locale.so" TIC_TEST_COMMA=1 "$@"
}

need_commas() {
    [ "$(with_commas bash -c 'printf %.1f 0,5' 2>/dev/null)" = 0,5 ] || skip "no localedef, or no package locales"
}

@test "a program that sets a locale with decimal commas starts, is killed and resumed" {
    local expected
    need_commas
    export P_QUIET=1 STARPU_TIC_EVERY=20 STARPU_TIC_TRACE=$PWD/trace
    expected=$(set_locale "$program")
    run_apart set_locale STARPU_TIC_FAIL=line-renamed:2 "$tool" run --period 100.25 -- "$program"
    [ "$status" -eq 137 ] || complain run "not killed"
    run_apart set_locale "$tool" run --period 200.5 -- "$program"
    is_right "$expected" lines || complain run "wrong"
    # what was written can be read by others
    /usr/bin/python3 - trace "$STARPU_TIC_STATS" <<'END'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
periods = [event["period"] for event in events if event["kind"] == "start"]
assert periods[-2:] == [100.25, 200.5], periods
assert any(0 < event["begin"] < 60 for event in events if event["kind"] == "task"), "no task"
stats = json.load(open(sys.argv[2]))
assert 0 <= stats["held_seconds"] < 60, stats["held_seconds"]
END
}

@test "a number with a decimal comma is no setting, for the command as for the library" {
    need_commas
    export P_QUIET=1 STARPU_TIC_PERIOD=0,5
    run_apart set_locale "$program"
    [ "$status" -eq 78 ] && grep -q 'STARPU_TIC_PERIOD=0,5 is not valid' err
    run_apart set_locale "$tool" run --period 0,5 -- "$program"
    [ "$status" -eq 2 ] && grep -q 'STARPU_TIC_PERIOD=0,5 is not valid' err
}

@test "what the commands print has the same numbers in each locale" {
    P_QUIET=1 STARPU_TIC_EVERY=20 STARPU_TIC_TRACE=$PWD/trace crash line-renamed:2 "$program"
    "$tool" interval --tc 1.5 --mtbf 86400.5 >plain
    "$tool" info "$STARPU_TIC_DIR" >>plain
    "$tool" report "$STARPU_TIC_DIR" --trace trace -o plain.html
    need_commas
    with_commas "$tool" interval --tc 1.5 --mtbf 86400.5 >commas
    with_commas "$tool" info "$STARPU_TIC_DIR" >>commas
    with_commas "$tool" report "$STARPU_TIC_DIR" --trace trace -o commas.html
    cmp plain commas
    cmp plain.html commas.html
}
