#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that the library changes nothing in processes that do not use StarPU, and what it exports.
load common

@test "shells, their children and pipes are untouched, and nothing is written" {
    export LD_PRELOAD=$library
    run bash -c 'echo a | sed s/a/b/; (exit 3); echo $?; date +%Y >/dev/null && echo fine'
    [ "$output" = $'b\n3\nfine' ]
    [ -z "$(ls)" ]
}

@test "bad settings do not disturb processes without StarPU" {
    run env LD_PRELOAD="$library" STARPU_TIC_PERIOD=bad true
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "the library needs neither StarPU nor HDF5 to be loaded" {
    ! readelf -d "$library" | grep NEEDED | grep -Ei 'starpu|hdf5'
    ! nm -D --undefined-only "$library" | grep -E ' (starpu|fstarpu|H5)'
}

@test "it exports the wrappers, the public interface and nothing else" {
    nm -D --defined-only "$library" | awk '{print $3}' | sort >exported
    header=$BATS_TEST_DIRNAME/../../plugin/include/starpu_tic.h
    grep -oE '^#define starpu_tic_[a-z_]+' "$header" | sed 's/.* //' | sort -u >macros
    grep -oE 'starpu_tic_[a-z_]+\(' "$header" | tr -d '(' | sort -u | comm -23 - macros >public
    grep -E '^(WRAPPER|POINTER|ON_EACH|ACQUIRE|TRY_ACQUIRE|RELEASE|SWITCH|HINT|ANSWER|LISTED|CLEAN|INVALIDATE|COPY|UNPACK|WAIT|WAIT_FOR_ALL|UNSUPPORTED)' -r "$BATS_TEST_DIRNAME/../../plugin" --include='*.c' --include='*.def' -h |
        grep -oE '_?starpu_[a-z_]+' | sort -u >wrapped
    printf '%s\n' starpu_get_sched_lib_policy starpu_get_sched_lib_policies time open open64 openat openat64 \
        starpu_tic_ranks_attach __open_2 __open64_2 __openat_2 __openat64_2 fopen fopen64 freopen freopen64 \
        pthread_create malloc calloc memalign aligned_alloc valloc posix_memalign mmap mmap64 free realloc munmap mremap starpu_memory_pin cudaHostRegister hipHostRegister __cudaGetKernel rand random drand48 lrand48 mrand48 >others
    # every export is explained (a table may hold names that only another StarPU version has)
    run comm -23 exported <(sort -u public wrapped others)
    [ -z "$output" ]
    run comm -23 <(sort -u public others) exported
    [ -z "$output" ]
}

@test "protocol off: StarPU programs run as if the library were not there" {
    run env STARPU_TIC_PROTOCOL=off "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [[ $output == *"progress: status -107 recovered 0"* ]]
    [ ! -e "$STARPU_TIC_DIR" ]
    [ ! -e "$STARPU_TIC_STATS" ]
}

@test "protocol off: no thread of ours is created" {
    expected=$(P_QUIET=1 "$program")
    P_QUIET=1 TIC_TEST_ERRNO=11 STARPU_TIC_PROTOCOL=off run_apart env \
        LD_PRELOAD="$TIC_BUILD/.libs/nothread.so" "$tool" run -- "$program"
    [ "$status" -eq 0 ] && [ "$(<out)" = "$expected" ] && [ ! -s err ] || complain "$program" "not as without us"
}
