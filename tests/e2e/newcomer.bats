#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks what a newcomer meets: commands that are given several directories, none, or wrong ones, and
# messages that say what is so and what to do.
load common

# Two stores, a.tic with two lines and b.tic with one, of a run that was killed: make_stores
make_stores() {
    STARPU_NCPU=1 STARPU_TIC_EVERY=20 STARPU_TIC_DIR=$PWD/a.tic crash line-retired:2 "$program"
    cp -r a.tic b.tic
    rm "$(printf '%s\n' b.tic/p0-line-* | sort | head -1)"
    [ "$(ls a.tic/p0-line-* | wc -l)" -gt 1 ] && [ "$(ls b.tic/p0-line-* | wc -l)" -eq 1 ]
}

# A command fails with a status and a message: says STATUS TEXT COMMAND...
says() {
    local expected=$1 text=$2
    shift 2
    run_apart "$tool" "$@"
    [ "$status" -eq "$expected" ] || complain "$*" "not status $expected"
    grep -q -- "$text" out err || complain "$*" "it does not say: $text"
}

@test "info, list, verify and status take several directories, and tell of each" {
    make_stores
    for command in info list verify status; do
        run_apart "$tool" $command a.tic b.tic
        [ "$(grep -c '^[ab].tic:$' out)" -eq 2 ] || complain "$command" wrong
    done
    need_jq
    for command in info list status; do
        run_apart "$tool" $command --json a.tic b.tic
        [ "$(jq -r .path out | xargs)" = "a.tic b.tic" ] || complain "$command" wrong
    done
    # The worst is the exit status.
    says 1 "cannot read nowhere" list a.tic nowhere
    says 1 "cannot read nowhere" list nowhere a.tic
    says 3 "cannot read nowhere" verify a.tic nowhere
}

@test "without a directory they take the only one of the current folder" {
    make_stores
    for command in info list verify log status; do
        says 2 "there are several \*.tic here" $command
    done
    mv b.tic elsewhere
    touch file.tic
    for command in info list verify log status; do
        "$tool" $command a.tic | sed 's/[0-9.]* m\?s\>//' >named || true
        "$tool" $command | sed 's/[0-9.]* m\?s\>//' >here || true
        [ -s here ] && diff <(grep -v old named | sed '/^ *[0-9]/d') <(grep -v old here | sed '/^ *[0-9]/d')
    done
    rm -r a.tic
    for command in info list verify log status checkpoint; do
        says 2 "there is no \*.tic here" $command
    done
}

@test "a restart that begins anew, as lines are missing, says so" {
    local point
    for point in segment-format:1 line-renamed:2; do
        STARPU_TIC_EVERY=20 crash $point "$program"
        rm -f "$STARPU_TIC_DIR"/*-line-*
        P_QUIET=1 run_apart "$tool" run -- "$program"
        [ "$status" -eq 0 ] && grep -q "has left no recovery line in .*/store.* begins anew" err || complain $point "not told"
    done
    P_QUIET=1 run_apart "$tool" run -- "$program"
    ! grep "left no recovery line" err
}

@test "an installation that LD_PRELOAD cannot name is said so, and runs nothing" {
    local folder
    for folder in "a b" a:b; do
        mkdir -p "$folder/bin" "$folder/lib"
        cp "$tool" "$folder/bin"
        cp "$library" "$folder/lib"
        for command in run check rehearse; do
            run_apart "$folder/bin/starpu-tic" $command -- touch ran
            [ "$status" -ne 0 ] && [ ! -e ran ] || complain "$command" "it has run"
            [ "$(grep -c 'libstarputic.so.* cannot be preloaded' err)" -eq 1 ] || complain "$command" "not told"
        done
    done
}

@test "what is no run is said so, with status 2" {
    mkdir folder
    echo text >folder/file
    for path in folder folder/file; do
        says 2 "$path: this is no trace .*, and no directory of a run" report "$path"
        [ ! -e report.html ]
        says 2 "$path: this is no file of statistics" stats "$path"
    done
    says 1 "cannot read nowhere: No such file or directory. A run .* removes it" report nowhere
    says 1 "nowhere" stats nowhere
    says 3 "no recovery line: no run has used it" status folder
    says 3 "folder/file is no recovery line" diff folder/file
}

@test "diff with one line, and status of a run that was killed, say what to do" {
    make_stores
    says 3 "b.tic holds one recovery line" diff b.tic
    says 3 "the same command goes on from there: program" status a.tic
    says 1 "^line [0-9]* to line" diff a.tic
}

@test "diff is short, and tells the codelets that it knows; --all shows the rest" {
    need_jq
    P_TASKS=400 STARPU_NCPU=1 STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0 STARPU_TIC_EVERY=20 \
        crash line-renamed:3 "$program"
    run_apart "$tool" diff "$STARPU_TIC_DIR"
    [ "$status" -eq 1 ] || complain diff wrong
    grep -Eq '^  by codelet: [0-9]+ [a-z]+(, [0-9]+ [a-z]+)*$' out || complain diff "no codelets"
    # As many as there are.
    [ "$(sed -n 's/^  by codelet: //p' out | grep -Eo '[0-9]+' | paste -sd+ | bc)" -eq \
        "$("$tool" diff --json "$STARPU_TIC_DIR" | jq .tasks)" ]
    rm -r "$STARPU_TIC_DIR"
    STARPU_NCPU=1 STARPU_TIC_EVERY=200 crash line-renamed:2 "$TIC_BUILD/examples/02_cholesky" 24 8
    all=$("$tool" diff --all "$STARPU_TIC_DIR" | grep -c '^  data ')
    [ "$all" -gt 20 ]
    [ "$("$tool" diff "$STARPU_TIC_DIR" | grep -c '^  data ')" -eq 20 ]
    "$tool" diff "$STARPU_TIC_DIR" | tail -1 | grep -Ex '  and [0-9]+ data more; --all shows them'
    # Rows hold all data.
    [ "$("$tool" diff --all "$STARPU_TIC_DIR" | sed -n 's/^  data \([0-9]*\)-*\([0-9]*\) .*/\1 \2/p' |
        awk '{ sum += NF == 2 ? $2 - $1 + 1 : 1 } END { print sum }')" -eq \
        "$("$tool" diff --json "$STARPU_TIC_DIR" | jq '.data | length')" ]
}

@test "a value that an option does not take is named with the option" {
    says 2 "--max-restarts x: it must be a whole number" run --max-restarts x -- "$program"
    says 2 "--backoff -1: it must be seconds" run --backoff -1 -- "$program"
    says 2 "--kills 0: it must be a whole number from 1" rehearse --kills 0 -- "$program"
    says 2 "--period no: it must be seconds" rehearse --period no -- "$program"
    says 2 "--mtbf 0: it must be seconds, above 0" report --mtbf 0 here
    says 2 "--line 0: it must be the number of a recovery line" extract --line 0 here
    says 2 "--keep x: it must be a whole number from 1" prune --keep x here
    says 2 "--timeout x: it must be seconds" status --timeout x here
    says 2 "--timeout x: it must be seconds" checkpoint --timeout x here
}

@test "graph writes the format that the name of the file ends in" {
    STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0 crash task-end:50 "$program"
    mkdir bin
    printf '#!/bin/sh\ncat >/dev/null\necho "$1" >"$3"\n' >bin/dot # stands for graphviz
    chmod +x bin/dot
    for format in svg png pdf; do
        PATH=$PWD/bin:$PATH "$tool" graph "$STARPU_TIC_DIR" -o picture.$format
        [ "$(cat picture.$format)" = -T$format ]
    done
    "$tool" graph "$STARPU_TIC_DIR" -o picture.dot
    grep -q '^digraph' picture.dot
    says 2 "picture.xyz: name a file that ends in" graph "$STARPU_TIC_DIR" -o picture.xyz
    [ ! -e picture.xyz ]
    if command -v dot >/dev/null; then
        "$tool" graph "$STARPU_TIC_DIR" -o picture.png
        [ "$(head -c 4 picture.png | tail -c 3)" = PNG ]
    fi
}

# Runs $program, does something when a hundred tasks have ended, and lets it go on: its messages are in err.
meanwhile() {
    mkfifo ready go
    P_QUIET=1 P_TASKS=300 P_PAUSE=100 STARPU_TIC_EVERY=20 env STARPU_TIC_DIR="$PWD/s" "$tool" run -- "$program" >out 2>err 3>&- &
    local process=$!
    cat ready
    "$tool" checkpoint s >/dev/null # none is under way then
    "$@"
    sh -c ': >go'
    status=0
    wait "$process" || status=$?
    rm ready go
    [ "$status" -eq 0 ] || complain "$program" wrong
}

@test "a store that is removed or moved while it is used: the message says that its lines are gone" {
    meanwhile rm -r s
    grep -q 'there is no recovery line' err || complain "rm -r" silent
    [ "$(grep -c 'last recovery line' err)" -eq 0 ]
    meanwhile find s -name 'p0-*' -delete
    grep -q 'there is no recovery line' err || complain "rm" silent
    [ "$(grep -c 'last recovery line' err)" -eq 0 ]
    rm -rf s
    meanwhile mv s moved
    grep -q 'it was moved or removed. .* there is no recovery line' err || complain "mv" silent
    [ "$(grep -c 'last recovery line' err)" -eq 0 ]
}

@test "a thread that cannot be created: the message says why, and which limit" {
    local expected
    expected=$(P_QUIET=1 "$program")
    for case in "11 RLIMIT_NPROC" "12 RLIMIT_AS" "1 not permitted"; do
        P_QUIET=1 TIC_TEST_ERRNO=${case%% *} run_apart env LD_PRELOAD="$TIC_BUILD/.libs/nothread.so" "$tool" run -- "$program"
        [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] || complain "$case" wrong
        grep "not protected: cannot create a thread: .*${case#* }" err || complain "$case" silent
        rm -rf "$STARPU_TIC_DIR"
    done
}

@test "without /proc the message says so" {
    unshare -m sh -c 'umount -l /proc && [ ! -e /proc/self ]' 2>/dev/null || skip "/proc cannot be unmounted"
    P_QUIET=1 run_apart unshare -m sh -c 'umount -l /proc && exec "$@"' sh \
        env STARPU_TIC_EVERY=20 LD_PRELOAD="$TIC_BUILD/.libs/libstarputic.so" "$program"
    [ "$status" -eq 0 ] || complain "$program" wrong
    grep -q "/proc is not mounted" err || complain "$program" silent
}

@test "help and version are commands, and names that are mistyped are told" {
    run_apart "$tool" help
    grep -q '^Usage: starpu-tic COMMAND' out
    "$tool" help run >of-help
    "$tool" run --help | cmp - of-help
    [ "$("$tool" version)" = "$("$tool" --version)" ]
    says 2 "Did you mean info?" inof
    says 2 "Did you mean info?" help inof
    says 2 "Did you mean --period?" run --perid 3 -- true
    STARPU_TIC_PERIO=3 says 2 "not STARPU_TIC_PERIOD:" run -- "$program"
}

@test "a setting is told by its name" {
    run_apart "$tool" settings period STARPU_TIC_SPACE
    [ "$status" -eq 0 ] && [ "$(grep -c '^STARPU_TIC_' out)" -eq 2 ]
    says 2 "Did you mean STARPU_TIC_PERIOD?" settings PERIO
    need_jq
    "$tool" settings --json | jq -e 'map(select(.name == "STARPU_TIC_PERIOD" and .default == "10")) | length == 1'
    [ "$("$tool" settings --json | jq length)" -eq "$("$tool" settings | grep -c '^STARPU_TIC_')" ]
    STARPU_TIC_STATS=$PWD/stats "$tool" run --period 2min -- "$program"
    jq -e ".period_seconds == 120" stats
}
