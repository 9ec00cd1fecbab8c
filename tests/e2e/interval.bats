#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks that `starpu-tic interval` prints all models of the checkpoint interval, and refuses nonsense.
load common
bats_require_minimum_version 1.5.0

# NAS LU class B of Fialho 2011, tables 4.5 and 4.6; the period is an interval of 10 s.
lu_b="--tc 0.605 --tl 0.559 --td 0.5 --mtbf 100 --log-rate 0.38257 --replay 0.005 --work 68469"

interval() {
    run_apart "$tool" interval "$@"
}

# A value of the JSON answer is near what is expected: near FILTER EXPECTED TOLERANCE
near() {
    jq -e "($1) - $2 | . <= $3 and . >= -$3" out >/dev/null || complain "$1" "not $2 +- $3"
}

of_model() { # model, member
    echo ".models[] | select(.model == \"$1\") | .$2"
}

answers() { # the command answered without a complaint
    [ "$status" -eq 0 ] && [ ! -s err ] || complain interval "no answer"
}

@test "the published intervals and wall times come out as JSON" {
    # shellcheck disable=SC2086
    interval $lu_b --period 10.605 --json
    answers
    [ "$(jq -r '[.models[].model] | join(" ")' out)" = \
        "young gropp daly fialho-coordinated fialho-uncoordinated" ]
    near "$(of_model young interval)" 11.000 0.01
    near "$(of_model gropp interval)" 11.000 0.01
    near "$(of_model daly interval)" 10.395 0.01
    near "$(of_model fialho-uncoordinated interval)" 10.353 0.01
    near "$(of_model gropp at_period.wall)" 76418 0.5
    near "$(of_model daly at_period.wall)" 77030 0.5
    near "$(of_model fialho-uncoordinated at_period.wall)" 102484 0.5
    near "$(of_model gropp at_period.waste)" 0.104 0.0006
    near "$(of_model daly at_period.waste)" 0.111 0.0006
    near "$(of_model fialho-uncoordinated at_period.waste)" 0.332 0.0006
    [ "$(jq -c '[.models[] | .rule, .at_period.period] | unique' out)" = '[10.605,"optimum"]' ]
    near ".costs.work" 68469 0
}

@test "no model expects less at another period, and a period is an interval and --tc" {
    # shellcheck disable=SC2086
    interval $lu_b --period 30 --json
    answers
    [ "$(jq '[.models[] | .at_period.wall > .wall] | all' out)" = true ]
    [ "$(jq '[.models[] | .period - .interval - 0.605 | fabs < 1e-9] | all' out)" = true ]
    [ "$(jq '[.models[] | (.wall - 68469) / .wall - .waste | fabs < 1e-9] | all' out)" = true ]
}

@test "the table shows the numbers of the JSON answer" {
    # shellcheck disable=SC2086
    interval $lu_b --period 20 --json
    answers
    jq -r '.models[] | .model, .interval, .period, .wall, 100 * .waste, .at_period.wall,
        100 * .at_period.waste' out >numbers
    # shellcheck disable=SC2086
    interval $lu_b --period 20
    answers
    grep -Eq '^model +interval +period +wall time +waste +at 20 s +waste$' out
    sed -n '/^model/,$ p' out | sed '1d; s/%//g' | tr -s ' ' '\n' >shown
    [ "$(wc -l <shown)" -eq 35 ]
    paste numbers shown | awk '/^[a-z]/ { if ($1 != $2) exit 1; next }
        { d = $1 - $2; if (d > 0.0051 || d < -0.0051) exit 1 }'
}

@test "without --period there are no columns for it" {
    interval --tc 5 --mtbf 3600
    answers
    grep -Eq '^model +interval +period +wall time +waste$' out
    interval --tc 5 --mtbf 3600 --json
    answers
    [ "$(jq '[.models[] | has("at_period")] | any' out)" = false ]
}

@test "defaults: a load as long as a checkpoint, one MTBF of work, no log, all dependencies" {
    interval --tc 5 --mtbf 3600 -j
    answers
    cp out short
    interval --tc 5 --mtbf 3600 --tl 5 --td 0 --phi 1 --log-rate 0 --replay 0 --least 0.001 \
        --work 3600 --json
    answers
    cmp short out
    [ "$(jq '.costs | [.tl, .work, .phi, .processes, .max_recovery, .max_overhead] == [5, 3600, 1, 0, null, null]' out)" = true ]
    # one process, or processes that all depend on each other, without a log: no difference
    [ "$(jq -c '[.models[3, 4] | [.interval, .wall]] | unique | length' out)" -eq 1 ]
}

@test "phi makes uncoordinated intervals longer, and is at least 1/N" {
    interval --tc 1.622 --tl 1.596 --td 0.5 --mtbf 100 --phi 0.5555555556 --processes 9 --json
    answers
    near "$(of_model fialho-uncoordinated interval)" 22.39 0.01
    near "$(of_model fialho-coordinated interval)" 16.27 0.01
    interval --tc 1 --mtbf 100 --phi 0 --processes 8 --json
    answers
    near ".costs.phi" 0.125 0
    interval --tc 1 --mtbf 100 --phi 0.3 --processes 1 --json
    answers
    near ".costs.phi" 1 0
}

@test "nonsense is refused with status 2, one message, and no answer" {
    for arguments in "" "--tc 5" "--mtbf 100" "--tc 5 --mtbf 0" "--tc 5 --mtbf -1" \
        "--tc -5 --mtbf 100" "--tc five --mtbf 100" "--tc 5s --mtbf 100" "--tc nan --mtbf 100" \
        "--tc 5 --mtbf inf" "--tc 5 --mtbf 1e400" "--tc 5 --mtbf 1e-300" "--tc / --mtbf 100" \
        "--tc 5 --mtbf 100 --tl -1" "--tc 5 --mtbf 100 --td x" "--tc 5 --mtbf 100 --phi 1.5" \
        "--tc 5 --mtbf 100 --phi 0" "--tc 5 --mtbf 100 --phi -0.1" \
        "--tc 5 --mtbf 100 --processes 0" "--tc 5 --mtbf 100 --processes 2.5" "--tc 5 --mtbf 100 --processes 1e10" \
        "--tc 5 --mtbf 100 --log-rate 2" "--tc 5 --mtbf 100 --replay -1" \
        "--tc 5 --mtbf 100 --least 0" "--tc 5 --mtbf 100 --max-recovery 0" \
        "--tc 5 --mtbf 100 --max-overhead 1.1" "--tc 5 --mtbf 100 --work 0" "--tc 5 --mtbf 100 --period 0" \
        "--tc 5 --mtbf 100 --period 5" "--tc 5 --mtbf 100 --period" "--tc 5 --mtbf 100 --nonsense" \
        "--tc 5 --mtbf 100 directory"; do
        # shellcheck disable=SC2086
        interval $arguments
        [ "$status" -eq 2 ] && [ ! -s out ] && [ -s err ] || complain "$arguments" "not refused"
    done
    interval --tc 5 --mtbf ""
    [ "$status" -eq 2 ]
    interval --tc 5 --mtbf 100 --phi 1.5
    [ "$(<err)" = "starpu-tic: --phi 1.5: it must be 0, or a number from 1e-12 to 1" ]
    interval --mtbf 100
    [ "$(<err)" = "starpu-tic: --tc, or --from, is needed" ]
}

@test "extreme numbers give an answer" {
    for arguments in "--tc 0 --mtbf 1e12" "--tc 1e12 --mtbf 1e-12" "--tc 1e12 --mtbf 1e12 --phi 1e-12" \
        "--tc 1e-12 --mtbf 1e12 --least 1e-12 --work 1e12" "--tc 0 --mtbf 1 --processes 1e9 --phi 0"; do
        # shellcheck disable=SC2086
        interval $arguments --json
        answers
        [ "$(jq '.models | length' out)" -eq 5 ]
        [ "$(jq '[.models[].interval > 0] | all' out)" = true ]
        # shellcheck disable=SC2086
        interval $arguments
        answers
        [ "$(grep -Eci 'nan|inf' out)" -eq 0 ]
    done
}

@test "checkpoints that cost nothing are taken at the shortest interval" {
    interval --tc 0 --mtbf 3600 --least 2 --json
    answers
    [ "$(jq '[.models[] | .interval == 2 and .rule == "floor"] | all' out)" = true ]
    interval --tc 0 --mtbf 3600 --least 2
    answers
    [ "$(grep -c ': no optimum of --least or more: the interval is --least$' out)" -eq 5 ]
}

@test "where recovery takes longer than the MTBF, the models of Fialho give no wall time" {
    interval --tc 5 --mtbf 4 --json
    answers
    [ "$(jq -c '[.models[3, 4] | .wall, .waste, .rule] | unique' out)" = '[null,"floor"]' ]
    [ "$(jq '[.models[0, 1] | .wall > 4] | all' out)" = true ]
    interval --tc 5 --mtbf 4
    answers
    grep -Eq '^fialho-coordinated +0.001 +5.001 +- +-$' out
    grep -q '^-: the model does not hold there$' out
}

@test "a wall time beyond all numbers is never, and null in JSON" {
    interval --tc 5 --mtbf 100 --period 1e6 --work 1e7
    answers
    grep -Eq '^young .* never 100.00 %$' out
    grep -Eq '^daly .* never 100.00 %$' out
    interval --tc 5 --mtbf 100 --period 1e6 --work 1e7 --json
    answers
    [ "$(jq "$(of_model young at_period.wall)" out)" = null ]
    near "$(of_model young at_period.waste)" 1 0
    [ "$(jq "$(of_model fialho-coordinated at_period.waste)" out)" = null ]
}

@test "--max-recovery shortens intervals; status 1 where none meets it" {
    interval --tc 5 --tl 4 --td 1 --replay 2 --mtbf 3600 --max-recovery 60 --json
    answers
    near "$(of_model daly interval)" 55 1e-9
    near "$(of_model fialho-coordinated interval)" 55 1e-9
    near "$(of_model fialho-uncoordinated interval)" 53 1e-9
    [ "$(jq -r '[.models[].rule] | unique | .[]' out)" = capped ]
    interval --tc 5 --tl 4 --td 1 --replay 2 --mtbf 3600 --max-recovery 6
    [ "$status" -eq 1 ]
    [ "$(grep -c ': the optimum breaks --max-recovery: the interval is shortened$' out)" -eq 4 ]
    grep -q '^fialho-uncoordinated: no interval meets --max-recovery: the interval is --least$' out
    interval --tc 5 --tl 4 --td 1 --replay 2 --mtbf 3600 --max-recovery 6 --json
    [ "$status" -eq 1 ]
    [ "$(jq -r '.models[4].rule' out)" = unmet ]
}

@test "--max-overhead lengthens intervals, and yields to --max-recovery with status 1" {
    interval --tc 5 --mtbf 3600 --max-overhead 0.01 --json
    answers
    near "$(of_model young period)" 500 1e-9
    near ".costs.max_overhead" 0.01 0
    [ "$(jq -r '[.models[].rule] | unique | .[]' out)" = stretched ]
    interval --tc 5 --mtbf 3600 --max-overhead 0.01 --max-recovery 400
    [ "$status" -eq 1 ]
    [ "$(grep -c ': no interval meets both bounds: the interval meets --max-recovery only$' out)" -eq 5 ]
}

# A well-formed SVG picture that names this many models and marks, and no file beside itself.
is_picture() { # file, points
    python3 - "$1" "$2" <<'END'
import re, sys
import xml.etree.ElementTree as xml
text = open(sys.argv[1], encoding="utf-8").read()
root = xml.fromstring(text)
assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
assert "prefers-color-scheme:dark" in text and "@import" not in text
assert not re.search(r'(href|src)=|url\((?!#area)', text)
assert not re.search(r"\b(nan|inf)", text.lower().replace("infer", "")), "no number"
points = [e for e in root.iter() if (e.get("class") or "").startswith("point")]
assert len(points) == int(sys.argv[2]), len(points)
for path in (e.get("d") for e in root.iter() if (e.get("class") or "").startswith("curve")):
    numbers = [float(n) for n in re.findall(r"-?[0-9.]+", path)]
    assert all(abs(n) < 5000 for n in numbers), path[:80]
END
}

@test "--plot draws each model with its point, as XML that needs nothing else" {
    # shellcheck disable=SC2086
    interval $lu_b --period 20 --plot curve.svg
    answers
    cp out with
    is_picture curve.svg 10
    for text in young gropp daly fialho-coordinated fialho-uncoordinated 'the given period' '20 s' ' %' MTBF; do
        grep -qF "$text" curve.svg || complain "$text" "not in the picture"
    done
    # shellcheck disable=SC2086
    interval $lu_b --period 20
    cmp with out
    interval --tc 5 --mtbf 86400 --plot curve.svg --json
    answers
    jq -e '.models | length == 5' out
    is_picture curve.svg 10
    [ "$(grep -c 'the given period' curve.svg)" -eq 0 ]
}

@test "--plot of extreme numbers is well-formed; a model that does not hold has no point" {
    for arguments in "--tc 0 --mtbf 1e12" "--tc 1e-12 --mtbf 1e12 --least 1e-12 --work 1e12" \
        "--tc 0 --mtbf 1 --processes 1e9 --phi 0"; do
        # shellcheck disable=SC2086
        interval $arguments --plot curve.svg
        answers
        is_picture curve.svg 10
    done
    interval --tc 1e12 --mtbf 1e-12 --plot curve.svg
    answers
    is_picture curve.svg "$((10 - $(grep -o ': the model does not hold' curve.svg | wc -l)))"
    interval --tc 5 --mtbf 4 --plot curve.svg
    answers
    [ "$(grep -c ': the model does not hold' curve.svg)" -eq 2 ]
    is_picture curve.svg 8
    interval --tc 5 --mtbf 100 --plot /nowhere/curve.svg
    [ "$status" -eq 1 ]
    grep -q '^starpu-tic: cannot write /nowhere/curve.svg: ' err
}

@test "--from takes cost, latency and period of a run from its lines, or its statistics" {
    export STARPU_TIC_KEEP_LINES=9 STARPU_TIC_EVERY=20 STARPU_TIC_PERIOD=77
    crash line-renamed:1 "$program"
    interval --from "$STARPU_TIC_DIR" --mtbf 86400
    [ "$status" -eq 1 ]
    grep -q '^starpu-tic: no undamaged recovery line in .* tells what a checkpoint costs' err
    rm -r "$STARPU_TIC_DIR"
    crash line-renamed:3 "$program"
    "$tool" info --json "$STARPU_TIC_DIR" >info
    interval --from "$STARPU_TIC_DIR" --mtbf 86400 --json
    answers
    jq -e --slurpfile info info '($info[0].lines | max_by(.number)) as $line |
        .measured.line == 3 and (.costs.tc - $line.checkpoint_cost | fabs < 1e-12) and
        (.costs.tl - $line.checkpoint_latency | fabs < 1e-12) and .measured.period == 77 and
        (.models[0].at_period.period - 77 + $line.checkpoint_latency | fabs < 1e-9)' out
    interval --from "$STARPU_TIC_DIR" --mtbf 86400 --plot curve.svg
    answers
    grep -Eq '^measured up to line 3: a checkpoint costs the program .* s, and is committed .* s after its cut; a period of 77 s, in which cuts are [0-9.]+ s apart$' out
    is_picture curve.svg 10
    interval --from "$STARPU_TIC_DIR" --mtbf 86400 --tc 5 --tl 4 --period 600 --json
    answers
    jq -e '.costs.tc == 5 and .costs.tl == 4 and .models[0].at_period.period == 600' out
    # a damaged newest line does not count
    flip_at p0-line-00000003.h5 2000
    interval --from "$STARPU_TIC_DIR" --mtbf 86400 --json
    answers
    jq -e '.measured.line == 2' out
    run_apart "$program"
    [ "$status" -eq 0 ]
    interval --from "$STARPU_TIC_STATS" --mtbf 86400 --json
    answers
    jq -e --slurpfile stats "$STARPU_TIC_STATS" '.measured.line == 0 and .measured.period == 77 and
        (.costs.tc - $stats[0].checkpoint_cost_seconds | fabs < 1e-12)' out
}

@test "--from refuses what is no run, and does not stand for --mtbf" {
    interval --from nowhere --mtbf 86400
    [ "$status" -eq 1 ]
    grep -q '^starpu-tic: cannot read nowhere: ' err
    echo '{"checkpoint_latency_seconds": "much"}' >other.json
    interval --from other.json --mtbf 86400
    [ "$status" -eq 1 ]
    grep -q '^starpu-tic: other.json does not tell what a checkpoint costs$' err
    echo 'nonsense' >other.json
    interval --from other.json --mtbf 86400
    [ "$status" -eq 1 ]
    [ "$(wc -l <err)" -eq 1 ]
    interval --from other.json
    [ "$status" -eq 2 ]
}

@test "help and manual tell of the same options" {
    interval --help
    answers
    sed -n 's/^ *\(--[a-z-]*\)  *[A-Z].*/\1/p' out | sort >helped
    sed -n '/^\.SS interval$/,/^\.SS settings$/ p' "$BATS_TEST_DIRNAME/../../doc/starpu-tic.1" |
        sed -n 's/^\.BR \(\\-\\-[a-z\\-]*\) " " \\fI.*/\1/p' | tr -d '\\' | sort >told
    [ "$(wc -l <helped)" -eq 15 ]
    cmp helped told
}
