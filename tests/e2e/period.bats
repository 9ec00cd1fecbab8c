#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks STARPU_TIC_PERIOD=auto: the period is chosen again after each recovery line from what was
# measured, within the bounds, and restarts go on with it. No test depends on how long anything takes:
# checkpoints come by counts of tasks, and each bound is far from what a checkpoint can cost.
load common
bats_require_minimum_version 1.5.0

auto() { # settings, then a command
    run_apart env STARPU_TIC_PERIOD=auto STARPU_TIC_EVERY=20 STARPU_TIC_VERBOSE=2 "$@"
}

@test "the period is chosen from what checkpoints cost, and a message tells" {
    auto STARPU_TIC_MTBF=100000000 "$program"
    [ "$status" -eq 0 ]
    [ "$(stat_of checkpoints)" -ge 5 ]
    [ "$(stat_of protected)" = true ]
    [ "$(stat_of period_auto)" = true ]
    grep -Eq '^starpu-tic: the period between checkpoints is [0-9.e+]+ seconds now, it was 10: ' err
    # The model, from the measurements that the statistics show: cuts are sigma + t_c apart.
    jq -e '.checkpoint_cost_seconds as $c | .checkpoint_latency_seconds as $l |
        ($c * ($c + 2 * (100000000 - $l)) | sqrt) as $period |
        $c > 0 and $l > 0 and .period_seconds >= $period - 1e-3' "$STARPU_TIC_STATS"
}

@test "the result is that of a run without protection, by a default MTBF of a day" {
    export P_QUIET=1
    run_apart env STARPU_TIC_PROTOCOL=off "$program"
    cp out expected
    auto "$program"
    [ "$status" -eq 0 ]
    cmp expected out
    [ "$(stat_of checkpoints)" -ge 5 ]
    jq -e '.checkpoint_cost_seconds as $c | .checkpoint_latency_seconds as $l |
        .period_seconds >= ($c * ($c + 2 * (86400 - $l)) | sqrt) - 1e-3' "$STARPU_TIC_STATS"
}

@test "Cholesky of StarPU's examples is right with auto, and after a kill" {
    need_examples
    export STARPU_TIC_EVERY=100 STARPU_TIC_PERIOD=auto STARPU_TIC_MTBF=3600 STARPU_TIC_MAX_OVERHEAD=5
    command=("$examples/cholesky_implicit" -size 960 -nblocks 12 -check)
    crash line-renamed:2 "${command[@]}" # the third may come after the last task
    run_apart "$tool" run -- "${command[@]}"
    [ "$status" -eq 0 ]
    [ "$(stat_of recovered)" = true ]
    [ "$(stat_of period_auto)" = true ]
    [ "$(stat_of tasks_skipped)" -ge 100 ]
}

@test "a line holds what the checkpoints before it cost; a restart begins with that" {
    export STARPU_TIC_PERIOD=auto STARPU_TIC_MTBF=100000000 STARPU_TIC_EVERY=20 STARPU_TIC_KEEP_LINES=9
    crash line-renamed:3 "$program"
    run_apart "$tool" info --json "$STARPU_TIC_DIR"
    [ "$status" -eq 0 ]
    jq -e '[.lines[] | {number, period, checkpoint_cost, checkpoint_latency}] | sort_by(.number) |
        length == 3 and .[0].period == 10 and .[0].checkpoint_cost == null and
        .[0].checkpoint_latency == null and .[1].checkpoint_cost > 0 and
        .[1].checkpoint_latency > 0 and .[1].period > 20' out
    run_apart "$tool" info "$STARPU_TIC_DIR"
    grep -Eq '^  period 10 s$' out
    [ "$(grep -Ec '^  period [0-9.e+]+ s; a checkpoint costs the program [0-9.e+-]+ s, and is committed [0-9.e+-]+ s after its cut$' out)" -eq 2 ]
    STARPU_TIC_EVERY=0 STARPU_TIC_VERBOSE=2 run_apart "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(stat_of recovered)" = true ]
    grep -q '^starpu-tic: the period between checkpoints is .* seconds now, it was 10: ' err
    jq -e '.period_seconds > 20 and .checkpoint_latency_seconds > 0' "$STARPU_TIC_STATS"
}

@test "a bound on recovery that nothing meets is told, and protection goes on" {
    auto STARPU_TIC_MAX_RECOVERY=0.000000001 "$program"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^starpu-tic: STARPU_TIC_MAX_RECOVERY=1e-09 is not met: it takes ' err)" -eq 1 ]
    [ "$(stat_of protected)" = true ]
    auto STARPU_TIC_MTBF=0.000000001 "$program"
    [ "$status" -eq 0 ]
    [ "$(grep -c 'no less than STARPU_TIC_MTBF=1e-09$' err)" -eq 1 ]
}

@test "a fixed period stays as it is, and bounds without auto are said to have no effect" {
    STARPU_TIC_PERIOD=77 STARPU_TIC_EVERY=20 STARPU_TIC_MTBF=1 run_apart "$program"
    [ "$status" -eq 0 ]
    [ "$(grep -Ec 'period|STARPU_TIC_MTBF' err)" -eq 0 ]
    jq -e '.period_auto == false and .period_seconds == 77 and .checkpoint_cost_seconds > 0' \
        "$STARPU_TIC_STATS"
    STARPU_TIC_MAX_RECOVERY=5 run_apart "$program"
    [ "$status" -eq 0 ]
    grep -q '^starpu-tic: STARPU_TIC_MAX_RECOVERY and STARPU_TIC_MAX_OVERHEAD have no effect without STARPU_TIC_PERIOD=auto$' err
}

@test "nonsense is refused as in other settings" {
    for bad in PERIOD=AUTO PERIOD=automatic "PERIOD=auto " PERIOD=0 MTBF=0 MTBF=auto MTBF=1day MTBF=-5 MTBF=1e9 \
        MAX_RECOVERY=-1 MAX_RECOVERY=none MAX_RECOVERY=5m MAX_OVERHEAD=101 MAX_OVERHEAD=-1 MAX_OVERHEAD=5%; do
        run_apart env STARPU_TIC_PERIOD=auto "STARPU_TIC_$bad" "$program"
        [ "$status" -eq 78 ] || complain "$bad" "not refused"
        grep -qF "starpu-tic: STARPU_TIC_$bad is not valid: it takes " err || complain "$bad" "not named"
        run_apart env "STARPU_TIC_$bad" "$tool" run -- true
        [ "$status" -eq 2 ] || complain "$bad" "not refused by run"
    done
    run_apart "$tool" run --period auto -- sh -c 'echo $STARPU_TIC_PERIOD'
    [ "$(<out)" = auto ]
}
