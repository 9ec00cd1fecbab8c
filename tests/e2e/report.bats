#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks the trace of a run (STARPU_TIC_TRACE), over kills and restarts, and the page that
# `starpu-tic report` makes of it.
load common

# A page that is well formed, and needs nothing of the network: page FILE
page() {
    /usr/bin/python3 - "$1" <<'END'
import html.parser, re, sys
class Page(html.parser.HTMLParser):
    void = {"meta", "br", "line", "rect", "path"}
    def __init__(self):
        super().__init__()
        self.open, self.ids = [], set()
    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            assert name not in ("src", "href", "onload"), name
        if tag not in ("meta",):
            self.open.append(tag)
    def handle_startendtag(self, tag, attributes):
        pass
    def handle_endtag(self, tag):
        at = self.open.pop()
        while at != tag and at == "li":
            at = self.open.pop()
        assert at == tag, (at, tag, self.getpos())
text = open(sys.argv[1], encoding="utf-8").read()
page = Page()
page.feed(text)
assert not page.open, page.open
assert not re.search(r"https?:|@import|url\((?!#)|nan|inf%", text), "network or no number"
END
}

# Events of a kind in the trace that satisfy a condition of jq: events KIND [CONDITION]
events() {
    jq -R 'fromjson? | select(.kind == "'"$1"'")' "$trace" | jq -s "map(select(${2:-true})) | length"
}

supervised() { # COMMAND...
    run_apart "$tool" run --max-restarts 20 --backoff 0 --trace "$trace" -- "$@"
}

setup_file() {
    command -v jq >/dev/null || skip "no jq"
}

@test "the trace has each task that ran, its end, and the end of the run" {
    trace=$PWD/trace
    P_QUIET=1 STARPU_TIC_TRACE=$trace run_apart "$tool" run -- "$program"
    [ "$status" -eq 0 ]
    [ "$(events task .end)" -eq "$(stat_of tasks_executed)" ]
    [ "$(events task '.end and (.worker < 0 or .worker > 1)')" -eq 0 ]
    [ "$(events end '.status == 0')" -eq 1 ]
    [ "$(events start '.workers == 2 and .line == 0')" -eq 1 ]
    [ "$(events checkpoint)" -eq "$(stat_of checkpoints)" ]
    [ "$(events task '.victim >= 0')" -eq "$(stat_of thefts)" ]
    "$tool" report "$trace" -o page.html
    page page.html
    grep -q 'class="ok">finished' page.html
}

@test "killed again and again: the trace goes on, and the page tells of each crash" {
    trace=$PWD/trace
    export STARPU_TIC_EVERY=20 STARPU_TIC_FAIL=line-renamed:1 P_QUIET=1
    supervised "$program"
    [ "$status" -eq 0 ] || complain "$program" "wrong"
    runs=$(events run)
    [ "$runs" -ge 6 ]
    [ "$(events ended '.signal == 9')" -eq $((runs - 1)) ]
    "$tool" report "$trace" -o page.html
    page page.html
    [ "$(grep -c '<div class="bar">.*' page.html)" -ge 5 ]
    grep -v '"kind": "task"' "$trace" >bare # as where a run dies at once
    "$tool" report bare -o bare.html
    for page in page.html bare.html; do
        [ "$(grep -o 'class="death"' $page | wc -l)" -eq $((runs - 1)) ]
    done
    grep -q "<b>$runs</b><span>runs" page.html
    "$tool" report --json "$trace" >report.json
    [ "$(jq '.runs | length' report.json)" -eq "$runs" ]
    [ "$(jq '.crashes | length' report.json)" -eq $((runs - 1)) ]
    [ "$(jq '[.crashes[] | .work >= 0 and .down >= 0 and .restart >= 0] | all' report.json)" = true ]
    [ "$(jq '.tasks.again' report.json)" -eq "$(jq '[.crashes[].tasks_again] | add' report.json)" ]
    # Each task of the program is executed once more often than crashes took it.
    [ "$(jq '.tasks.executions - .tasks.again' report.json)" -le 200 ]
    # A trace that is torn anywhere is read as far as it goes.
    head -c 3001 "$trace" >torn
    "$tool" report torn -o torn.html
    page torn.html
}

@test "a trace is where it was named, wherever the program goes" {
    trace=$PWD/trace
    mkdir elsewhere
    export P_QUIET=1 STARPU_TIC_TRACE=trace STARPU_TIC_EVERY=50 STARPU_TIC_FAIL=line-renamed:1
    run_apart "$tool" run --max-restarts 9 --backoff 0 -- sh -c 'cd elsewhere && "$0"; exit $?' "$program"
    [ "$status" -eq 0 ] || complain "$program" wrong
    [ -z "$(ls elsewhere)" ]
    [ "$(events run)" -eq "$(events ended)" ]
}

@test "a page of a directory has its lines, as info tells them" {
    trace=$PWD/trace
    P_QUIET=1 STARPU_TIC_EVERY=20 STARPU_TIC_TRACE=$trace crash line-renamed:3 "$program"
    "$tool" report "$STARPU_TIC_DIR" --trace "$trace" -o page.html
    page page.html
    "$tool" info --json "$STARPU_TIC_DIR" >info.json
    for number in $(jq '.lines[].number' info.json); do
        done=$(jq ".lines[] | select(.number == $number).tasks_done" info.json)
        handles=$(jq ".lines[] | select(.number == $number).handles" info.json)
        grep -q "<tr><td class=\"n\">$number</td>.*<td class=\"n\">$done</td>.*<td class=\"n\">$handles</td>" page.html
    done
    grep -q 'Largest data' page.html
    # Without a trace there are the lines still, and a word how to have one.
    "$tool" report "$STARPU_TIC_DIR" -o - >plain.html
    page plain.html
    grep -q 'run --trace FILE' plain.html
}

@test "without a trace, tasks come from the event log" {
    P_QUIET=1 STARPU_TIC_PROTOCOL=sel STARPU_TIC_VERIFY=0 crash task-end:100 "$program"
    "$tool" report "$STARPU_TIC_DIR" -o page.html
    page page.html
    grep -q 'From the event log' page.html
    grep -q 'class="c0' page.html
    [ "$("$tool" report --json "$STARPU_TIC_DIR" | jq -c '[(.runs | length), (.crashes | length), .tasks.executions >= 50]')" = \
        "[1,0,true]" ]
    rm -r "$STARPU_TIC_DIR"
    P_QUIET=1 STARPU_TIC_PROTOCOL=tic+sel STARPU_TIC_VERIFY=0 STARPU_TIC_EVERY=20 crash line-renamed:2 "$program"
    "$tool" report --json "$STARPU_TIC_DIR" | jq -e '(.data | length > 0) and all(.data[]; .codelet)'
}

@test "the page tells the arguments of the program, and why a supervisor gave up" {
    trace=$PWD/trace
    export STARPU_TIC_EVERY=20 STARPU_TIC_FAIL=line-renamed:1 P_QUIET=1
    run_apart "$tool" run --max-restarts 2 --backoff 0 --trace "$trace" -- "$program" 'a "b' c
    [ "$status" -eq 137 ]
    "$tool" report "$trace" -o page.html
    grep -q '<span class="soft">a &#34;b c</span>' page.html
    grep -q 'It was not started again: no more than 2 restarts were allowed (--max-restarts). The same command goes on from checkpoint 3' page.html
    grep -q '"bad">killed by SIGKILL<' page.html
    unset STARPU_TIC_FAIL
    run_apart "$tool" run --trace "$trace" -- "$program" 'a "b' c
    [ "$status" -eq 0 ]
    "$tool" report "$trace" -o page.html # without a directory
    grep -q '<span class="soft">a &#34;b c</span>' page.html
    grep -q 'It finished at [0-9:]*, .* after the first start' page.html
}

@test "without python3 a table is printed; with it the page is what --json tells" {
    trace=$PWD/trace
    P_QUIET=1 STARPU_TIC_EVERY=20 STARPU_TIC_TRACE=$trace crash line-renamed:3 "$program"
    "$tool" report --json "$STARPU_TIC_DIR" --trace "$trace" >report.json
    "$tool" report "$STARPU_TIC_DIR" --trace "$trace" -o page.html
    grep -q '<p class="story">Started on [0-9: -]* on ' page.html
    python -c 'import sys; sys.modules["numpy"] = None; from starpu_tic.drawing import main; main()' report \
        <report.json >again.html
    cmp page.html again.html
    PATH=/nonexistent run_apart "$tool" report "$STARPU_TIC_DIR" --trace "$trace" -o none.html
    [ "$status" -eq 1 ] && [ ! -e none.html ]
    [ "$(<err)" = "starpu-tic: there is no python3, which draws pictures: what is known is printed" ]
    for number in $(jq '.lines[].line' report.json); do
        grep -Eq "^ +$number  [0-9: -]+ +$(jq ".lines[] | select(.line == $number).tasks_done" report.json) " out
    done
    [ "$(grep -c '^2.*no end is known$' out)" -eq 1 ]
    PATH=/nonexistent run_apart "$tool" interval --tc 5 --mtbf 100 --plot none.svg
    [ "$status" -eq 1 ] && [ ! -e none.svg ] && grep -q '^young ' out && grep -q 'there is no python3' err
    printf '#!/bin/sh\nexit 3\n' >python3
    chmod +x python3
    PATH=$PWD run_apart "$tool" report "$STARPU_TIC_DIR" --trace "$trace" -o none.html
    [ "$status" -eq 1 ] && [ ! -e none.html ] && grep -q 'python3, which draws pictures, ended with status 3' err
}

@test "what cannot be read or written is an error, and the program is not harmed" {
    run "$tool" report nowhere
    [ "$status" -eq 1 ]
    run "$tool" report
    [ "$status" -eq 2 ]
    run "$tool" report --mtbf no "$PWD"
    [ "$status" -eq 2 ]
    mkdir empty
    touch empty/p0.lock
    run "$tool" report empty -o nowhere/page.html
    [ "$status" -eq 1 ]
    [[ $output == *"cannot write nowhere/page.html"* ]]
    STARPU_TIC_TRACE=nowhere/trace run_apart "$tool" run -- "$program"
    [ "$status" -eq 78 ]
    grep -q 'nowhere/trace cannot be written' err
    # A file that takes no more.
    expected=$(P_QUIET=1 "$program")
    (ulimit -f 1 && P_QUIET=1 STARPU_TIC_STATS='' STARPU_TIC_DIR='' STARPU_TIC_TRACE=$PWD/small \
        "$tool" run -- "$program" >out 2>err)
    [ "$(<out)" = "$expected" ]
}
