#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks what a program declares by starpu_tic.h: names of data.
load common

declares=$lib/declares

# ---- names --------------------------------------------------------------------------------------

# A store of the mode, with two recovery lines.
make_named() {
    STARPU_TIC_EVERY=20 crash line-retired:2 "$declares" names
    unset D_OTHER
}

@test "names of data are in the store, and all who show data show them" {
    make_named
    "$tool" info --json "$STARPU_TIC_DIR" >info.json
    long=$(printf 'ä%.0s' $(seq 32))
    jq -e --arg long "$long" '.lines | length == 2 and all(.names == [
        {data: 0, name: "left & <right> \"both\""}, {data: 1, name: "two lines"}, {data: 2, name: $long},
        {data: 3, name: "twin"}, {data: 4, name: "twin"}])' info.json
    "$tool" info "$STARPU_TIC_DIR" | grep -q '^  names of data: 0 "left & <right> "both"", 1 "two lines", '
    run "$tool" diff "$STARPU_TIC_DIR"
    [[ $output == *" data 1 "*' "two lines"'* ]]
    "$tool" diff --json "$STARPU_TIC_DIR" >diff.json || true
    jq -e '.data | length == 5 and all(has("name"))' diff.json
    "$tool" extract "$STARPU_TIC_DIR" | grep -q '32 of 4 bytes "two lines"$'
    "$tool" extract --json "$STARPU_TIC_DIR" | jq -e '.data[1].name == "two lines"'
    "$tool" report "$STARPU_TIC_DIR" -o page.html
    grep -q '<div>data 0 &#34;left &#38; &#60;right&#62; &#34;both&#34;&#34;</div>' page.html
    "$tool" verify "$STARPU_TIC_DIR"
}

@test "extract takes a name in the place of the number, if it is one datum's" {
    make_named
    "$tool" extract "$STARPU_TIC_DIR" 1 -o number.txt
    "$tool" extract --json "$STARPU_TIC_DIR" "two lines" -o name.txt >written.json
    cmp number.txt name.txt
    jq -e '.data == 1 and .name == "two lines"' written.json
    run "$tool" extract "$STARPU_TIC_DIR" twin -o twin.txt
    [ "$status" -eq 1 ]
    [[ $output == *"several data are named \"twin\""* ]]
    run "$tool" extract "$STARPU_TIC_DIR" nobody -o nobody.txt
    [ "$status" -eq 1 ]
    [[ $output == *"no data is named \"nobody\""* ]]
    [ ! -e twin.txt ] && [ ! -e nobody.txt ]
}

@test "Python: a line tells the names" {
    need_h5py
    make_named
    python - "$STARPU_TIC_DIR" <<'END'
import sys, starpu_tic
with_names = starpu_tic.Store(sys.argv[1]).newest()
assert with_names.names[1] == "two lines" and with_names.names[2] == "ä" * 32, with_names.names
END
}

# What the run started from stays in each later line, until main() says otherwise.
@test "a restart knows the names before main() gives them, and the last one counts" {
    expected=$("$declares" names)
    make_named
    D_OTHER=1 STARPU_TIC_EVERY=20 crash line-retired:2 "$declares" names
    "$tool" info --json "$STARPU_TIC_DIR" |
        jq -e '.lines[0].names | map(.name) | .[0] == "other" and .[1] == "two lines" and length == 5'
    run_apart "$tool" run -- "$declares" names
    is_right "$expected" yes || complain declares wrong
}
