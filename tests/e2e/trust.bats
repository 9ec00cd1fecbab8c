#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that a store is not used by, for or against others, and that wrong use is told and loses
# nothing.
load common

nobody_can_run() { # root only, and the build must be readable by others
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    command -v setpriv >/dev/null || skip "no setpriv"
    as_nobody test -x "$TIC_BUILD/tests/lib/program" || skip "others cannot read the build"
}

as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

resumes_after_all() { # the lines are still there, and the command continues from them
    P_QUIET=1 run_apart "$tool" run -- "$program"
    [ "$status" -eq 0 ] && [ "$(stat_of recovered)" = true ]
    [ "$(<out)" = "$(P_QUIET=1 STARPU_TIC_PROTOCOL=off "$tool" run -- "$program")" ]
}

# ---- security ------------------------------------------------------------------------------------

@test "the directory is 0700 and its files 0600, lines 0400, from the first moment, whatever the umask" {
    umask 0
    STARPU_TIC_EVERY=20 crash segment-format:1 "$program"
    [ "$(stat -c %a "$STARPU_TIC_DIR")" = 700 ]
    [ "$(stat -c %a "$STARPU_TIC_DIR"/* | sort -u)" = 600 ]
    STARPU_TIC_EVERY=20 crash line-written:2 "$program"
    [ "$(stat -c %a "$STARPU_TIC_DIR"/*-line-* | sort -u)" = 400 ]
    [ "$(stat -c %a "$STARPU_TIC_DIR"/*-segment-* "$STARPU_TIC_DIR"/*.lock | sort -u)" = 600 ]
}

# A table: what somebody does to each file of a store to look at it, in Python, `name` being the file.
lookers() {
    cat <<'END'
a: h5py.File(name, "a").close()
r+ and flush: f = h5py.File(name, "r+"); f.flush(); f.close()
r+ and death: f = h5py.File(name, "r+"); f.flush(); os._exit(0)
latest: h5py.File(name, "r+", libver="latest").close()
read: h5py.File(name, "r").close()
times: os.utime(name, (1, 1))
mode: os.chmod(name, 0o644)
copy: shutil.copyfile(name, name + "~"); os.unlink(name); os.rename(name + "~", name)
END
}

@test "looking at a checkpoint, also with tools that open it to write, leaves it as good as it was" {
    need_h5py
    STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
    cp -r "$STARPU_TIC_DIR" saved
    while IFS= read -r row; do
        rm -rf "$STARPU_TIC_DIR" && cp -r saved "$STARPU_TIC_DIR"
        for file in "$STARPU_TIC_DIR"/*.h5; do
            HDF5_USE_FILE_LOCKING=FALSE /usr/bin/python3 -c "import h5py, os, shutil, sys; name = sys.argv[1]
${row#*: }" "$file" || complain "$row" "cannot be done"
        done
        run "$tool" verify "$STARPU_TIC_DIR"
        [ "$status" -eq 0 ] && [[ $output != *damaged* ]] || { echo "$row: $output"; return 1; }
        resumes_after_all || complain "$row" "not resumed"
    done < <(lookers)
    [ -n "$row" ] || [ "$(lookers | wc -l)" -eq 8 ]
}

@test "a line that was really changed is not used, and the one before it is" {
    need_h5py
    for change in 'f.attrs["note"] = 1' 'del f["/values"]' 'f.attrs["workers"] = 7'; do
        rm -rf "$STARPU_TIC_DIR"
        STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
        /usr/bin/python3 -c "import h5py, sys
f = h5py.File(sys.argv[1], 'r+'); $change; f.close()" "$STARPU_TIC_DIR/p0-line-00000002.h5"
        run "$tool" verify "$STARPU_TIC_DIR"
        [ "$status" -ne 0 ] && [[ $output == *damaged* ]]
        resumes_after_all
        grep -q 'p0-line-00000002.h5 is not used' err && grep -q 'continuing from recovery line 1 ' err
    done
}

@test "symbolic links in the directory are not followed" {
    echo precious >precious
    for name in p0.lock p0-segment-00000001.h5 p0-line-00000001.h5 p0-line-00000001.h5.new; do
        rm -rf "$STARPU_TIC_DIR"
        mkdir -m 700 "$STARPU_TIC_DIR"
        ln -s "$PWD/precious" "$STARPU_TIC_DIR/$name"
        STARPU_TIC_EVERY=20 STARPU_TIC_KEEP=1 run "$tool" run -- "$program"
        [ "$status" -eq 0 ] || [ "$status" -eq 78 ]
        [ "$(<precious)" = precious ]
    done
    # they are in the way of the lock and of lines only
    [ "$status" -eq 0 ]
}

@test "a lock that is a link, a pipe or a directory is named, and the lines stay" {
    STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
    for as in "ln -s $PWD/away" mkfifo mkdir; do
        rm "$STARPU_TIC_DIR/p0.lock"
        $as "$STARPU_TIC_DIR/p0.lock"
        run timeout "$hangs" "$tool" run -- "$program"
        [ "$status" -eq 78 ]
        [[ $output == *"lock"*"is not a regular file"*"Remove it"* ]]
        [ ! -e away ]
        rm -d "$STARPU_TIC_DIR/p0.lock"
        : >"$STARPU_TIC_DIR/p0.lock"
    done
    resumes_after_all
}

@test "segments that are links or pipes in a restart: found, not followed, no hang" {
    STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
    for segment in "$STARPU_TIC_DIR"/p0-segment-*.h5; do
        mv "$segment" "$segment.real"
        ln -s "$segment.real" "$segment"
    done
    run timeout "$hangs" "$tool" run -- "$program"
    [ "$status" -eq 78 ]
    for segment in "$STARPU_TIC_DIR"/p0-segment-*.h5; do
        rm "$segment"
        mkfifo "$segment"
    done
    run timeout "$hangs" "$tool" run -- "$program"
    [ "$status" -eq 78 ]
    for segment in "$STARPU_TIC_DIR"/p0-segment-*.h5; do
        mv "$segment.real" "$segment"
    done
    resumes_after_all
}

@test "a directory that others may write to is refused" {
    STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
    for mode in 770 707; do
        chmod "$mode" "$STARPU_TIC_DIR"
        run "$tool" run -- "$program"
        [ "$status" -eq 78 ]
        [[ $output == *"others may write to it"*"chmod go-w"* ]]
    done
    chmod 755 "$STARPU_TIC_DIR"
    resumes_after_all
}

@test "a directory of another user is refused" {
    nobody_can_run
    STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
    chown 65534 "$STARPU_TIC_DIR"
    run "$tool" run -- "$program"
    [ "$status" -eq 78 ]
    [[ $output == *"belongs to another user"* ]]
    chown 0 "$STARPU_TIC_DIR"
    resumes_after_all
}

@test "a set-user-ID program that is linked with the library is not protected and writes nothing" {
    nobody_can_run
    directory=$(mktemp -d /tmp/tic-XXXXXX)
    chmod 777 "$directory"
    cp "$program" "$directory/program"
    chmod 4755 "$directory/program"
    cd "$directory"
    STARPU_HOME=$directory STARPU_TIC_STATS=$directory/stats.json STARPU_TIC_DIR=$directory/store \
        STARPU_TIC_EVERY=20 STARPU_TIC_KEEP=1 run as_nobody ./program
    found=$(find "$directory" -name store -o -name stats.json)
    cd "$BATS_TEST_TMPDIR"
    rm -rf "$directory"
    [ "$status" -eq 0 ]
    [ -z "$found" ]
    [[ $output == *"has more rights than who started it"* ]]
}

# ---- wrong use -----------------------------------------------------------------------------------

@test "the clock set back: the newest line is the one of the highest number" {
    export STARPU_TIC_EVERY=20
    crash line-renamed:2 "$program"
    touch -d '2001-01-01' "$STARPU_TIC_DIR"/p0-line-00000002.h5
    touch -d '2031-01-01' "$STARPU_TIC_DIR"/p0-line-00000001.h5
    run "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [[ $output == *"continuing from recovery line 2"* ]]
}

@test "a lock file that a killed run left, of whatever process, is no obstacle" {
    STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
    echo 1 >"$STARPU_TIC_DIR"/p0.lock # a process that lives
    resumes_after_all
}

@test "another working directory is no obstacle, if STARPU_TIC_DIR names the same" {
    STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
    mkdir elsewhere
    cd elsewhere
    resumes_after_all
}

@test "a file system without locks is refused, whatever error it says so with" {
    local error # ENOLCK, ENOSYS, ENOTSUP, the kernel's ENOTSUPP
    STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
    for error in 37 38 95 524; do
        LD_PRELOAD=$TIC_BUILD/.libs/faults.so TIC_FAULT_LOCKS=$error run "$tool" run -- "$program"
        [ "$status" -eq 78 ]
        [[ $output == *"has no locks"*"another file system"* ]]
    done
    resumes_after_all
}

@test "a file system that lacks flock() only is used as any other" {
    export LD_PRELOAD=$TIC_BUILD/.libs/faults.so TIC_FAULT_FLOCK=524
    STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
    resumes_after_all
}
