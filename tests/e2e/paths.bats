#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that a relative path means where the command was given, whatever directory the program goes to.
load common

# From $PWD/home; goes to $PWD/scratch, which is emptied.
prepare() {
    rm -rf home scratch
    mkdir home scratch
    here=$PWD/home
    export TIC_TEST_GO=$PWD/scratch P_QUIET=1 STARPU_TIC_EVERY=20
    export LD_PRELOAD=$TIC_BUILD/.libs/elsewhere.so
    unset STARPU_TIC_DIR STARPU_TIC_STATS
}

# A run that is killed and one that continues, both from `home`: twice COMMAND...
twice() {
    (cd home && STARPU_TIC_FAIL=line-renamed:3 "$@") >out 2>err && return 1
    status=0
    (cd home && "$@") >out 2>err || status=$?
    [ "$status" -eq 0 ] && grep -q 'continuing from recovery line' err || complain "$*" "not continued"
    [ -z "$(ls scratch)" ] || complain "$*" "left $(ls scratch) in the directory of the program"
}

@test "each setting that is a path counts from where the command was given, also by default" {
    prepare
    for how in environment option none; do
        for runner in "$tool run --" env; do
            [ "$how $runner" != "option env" ] || continue
            prepare
            case $how in
            environment)
                export STARPU_TIC_DIR=store STARPU_TIC_COPY=copy STARPU_TIC_STATS=stats STARPU_TIC_TRACE=trace
                export STARPU_TIC_KEEP=1 STARPU_TIC_DIGESTS=digests
                twice $runner "$program"
                [ -d home/store ] && [ -d home/copy ] && [ -s home/stats ] && [ -s home/trace ] && [ -s home/digests ]
                unset STARPU_TIC_COPY STARPU_TIC_TRACE STARPU_TIC_KEEP STARPU_TIC_DIGESTS
                ;;
            option)
                twice "$tool" run --dir store --trace trace -- "$program"
                [ -s home/trace ]
                ;;
            none) twice $runner "$program" ;;
            esac
        done
    done
}

@test "a script that changes the directory: what the command names counts from where it was given" {
    prepare
    unset TIC_TEST_GO
    twice "$tool" run --dir store -- sh -c 'cd ../scratch && exec "$0"' "$program"
    # by default each program has its own directory where it begins
    prepare
    unset TIC_TEST_GO
    (cd home && STARPU_TIC_FAIL=line-renamed:3 "$tool" run -- sh -c 'cd ../scratch && exec "$0"' "$program") || true
    [ -d scratch/*.tic ] && [ -z "$(ls home)" ]
}

@test "the supervisor and the program mean the same directory" {
    prepare
    cd home
    run_apart env STARPU_TIC_FAIL=line-renamed:3 "$tool" run --max-restarts 1 --backoff 0 --dir store -- "$program"
    grep -q 'the newest recovery line is 3' err && grep -q "continuing from recovery line 3 in $here/store" err ||
        complain run "not the same"
}

@test "a symbolic link, a directory that is moved, and one that is gone" {
    prepare
    mkdir real
    rm -r home
    ln -s real home
    twice "$tool" run --dir store -- "$program"
    # moved between the two runs: the relative path is another one then, with the same lines
    prepare
    rm -rf real
    (cd home && STARPU_TIC_FAIL=line-renamed:3 "$tool" run --dir store -- "$program") || true
    mv home moved && mkdir home
    run_apart env -C moved "$tool" run --dir store -- "$program"
    [ "$status" -eq 0 ] && grep -q "continuing from recovery line 3 in $PWD/moved/store" err
    # gone: refused by name, and an absolute one works
    mkdir gone
    cd gone
    rmdir ../gone
    run "$tool" run --dir store -- "$program"
    [ "$status" -eq 2 ] && [[ $output == *"STARPU_TIC_DIR=store means nothing"* ]]
    STARPU_TIC_DIR=store run "$program"
    [ "$status" -eq 78 ] && [[ $output == *"STARPU_TIC_DIR=store is not valid"* ]]
    STARPU_TIC_DIR=$here/store run "$program"
    [ "$status" -eq 0 ]
}
