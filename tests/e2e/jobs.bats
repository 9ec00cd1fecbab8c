#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks the job scripts of examples/jobs without a batch system: what they tell it is written down.
load common

setup_job() {
    mkdir bin
    ln -s "$tool" bin/starpu-tic
    printf '#!/bin/sh\necho "$0 $*" >>%s/told\nexit 1\n' "$PWD" >bin/scontrol
    cp bin/scontrol bin/qsub
    printf '#!/bin/sh\necho "${JOB_STATE:-RUNNING}"\n' >bin/squeue
    chmod +x bin/*
    export PATH=$PWD/bin:$PATH STARPU_TIC_VERIFY=0
    mkfifo ready go
    jobs=$BATS_TEST_DIRNAME/../../examples/jobs
    expected=$(P_QUIET=1 "$program")
}

# Runs a job until its program has waited for a hundred tasks: the process is $job.
run_job() { # SCRIPT ARGUMENT...
    P_QUIET=1 P_PAUSE=100 env --default-signal "$@" >out 2>err 3>&- &
    job=$!
    cat ready
}
ended() {
    status=0
    wait "$job" || status=$?
}
# The process of starpu-tic below a process.
find_tool() {
    local child
    for child in $(cat "/proc/$1/task/$1/children"); do
        if [ "$(readlink -f "/proc/$child/exe")" = "$(readlink -f "$TIC_BUILD/starpu-tic")" ]; then
            echo "$child"
        else
            find_tool "$child"
        fi
    done
}

@test "Slurm: SIGTERM before the limit puts the job into the queue again, and it goes on" {
    setup_job
    export SLURM_SUBMIT_DIR=$PWD SLURM_JOB_NAME=protected SLURM_JOB_ID=17
    unset STARPU_TIC_DIR
    run_job "$jobs/slurm.sh" "$program"
    [ -d protected-17.tic ]
    kill -TERM "$job"
    ended
    [ "$status" -eq 75 ] || complain slurm.sh wrong
    grep -q 'scontrol requeue 17' told
    rm told ready go
    P_QUIET=1 SLURM_RESTART_COUNT=1 run_apart "$jobs/slurm.sh" "$program"
    [ "$status" -eq 0 ] || complain slurm.sh wrong
    grep -q 'run 2 of job 17' out
    [ "$(grep -v '^run ' out)" = "$expected" ]
    [ "$(stat_of tasks_skipped)" -ge 100 ]
    [ ! -e told ]
    [ ! -e protected-17.tic ]
}

@test "Slurm: a job that is cancelled keeps its lines, and is not put into the queue again" {
    setup_job
    export SLURM_SUBMIT_DIR=$PWD SLURM_JOB_NAME=protected SLURM_JOB_ID=17 JOB_STATE=COMPLETING
    unset STARPU_TIC_DIR
    run_job "$jobs/slurm.sh" "$program"
    kill -TERM "$job"
    ended
    [ "$status" -eq 75 ] || complain slurm.sh wrong
    [ ! -e told ]
    [ -d protected-17.tic ]
}

@test "PBS: a job that is stopped submits itself again, and that one goes on" {
    setup_job
    export PBS_O_WORKDIR=$PWD PBS_JOBNAME=protected PBS_JOBID=17.host COMMAND=$program PBS_SCRIPT=$jobs/pbs.sh
    unset STARPU_TIC_DIR
    run_job "$jobs/pbs.sh"
    kill -TERM "$(find_tool "$job")"
    ended
    [ "$status" -eq 75 ] || complain pbs.sh wrong
    grep -q "qsub -v COMMAND=$program,RUN=2,FIRST_JOB=17.host" told
    rm told ready go
    P_QUIET=1 RUN=2 FIRST_JOB=17.host PBS_JOBID=18.host run_apart "$jobs/pbs.sh"
    [ "$status" -eq 0 ] || complain pbs.sh wrong
    [ "$(grep -v '^run ' out)" = "$expected" ]
    [ "$(stat_of tasks_skipped)" -ge 100 ]
    [ ! -e told ]
}

@test "a program that fails is not put into the queue again" {
    setup_job
    export SLURM_SUBMIT_DIR=$PWD SLURM_JOB_NAME=protected SLURM_JOB_ID=17
    run_apart "$jobs/slurm.sh" sh -c 'exit 3'
    [ "$status" -eq 3 ]
    export PBS_O_WORKDIR=$PWD PBS_JOBNAME=protected PBS_JOBID=17.host COMMAND=false
    run_apart "$jobs/pbs.sh"
    [ "$status" -eq 1 ]
    [ ! -e told ]
}

# The jobs of both scripts, with a program that ends with 75: stopped_jobs
stopped_jobs() {
    run_apart "$jobs/slurm.sh" sh -c 'exit 75'
    [ "$status" -eq 75 ] || complain slurm.sh wrong
    grep "$1" out || complain slurm.sh "silent"
    run_apart "$jobs/pbs.sh"
    [ "$status" -eq 75 ] || complain pbs.sh wrong
    grep "$1" out || complain pbs.sh "silent"
}

@test "a job that was stopped is put into the queue again only where a recovery line is, and not for ever" {
    setup_job
    export SLURM_SUBMIT_DIR=$PWD SLURM_JOB_NAME=protected SLURM_JOB_ID=17
    printf '#!/bin/sh\nexit 75\n' >stopped
    chmod +x stopped
    export PBS_O_WORKDIR=$PWD PBS_JOBNAME=protected PBS_JOBID=17.host COMMAND=./stopped
    stopped_jobs "before the first checkpoint"
    mkdir "$STARPU_TIC_DIR"
    stopped_jobs "before the first checkpoint"
    rmdir "$STARPU_TIC_DIR"
    STARPU_TIC_EVERY=20 crash task-end:100 "$program"
    MOST_RUNS=3 SLURM_RESTART_COUNT=2 RUN=3 stopped_jobs "after 3 runs"
    [ ! -e told ]
    for file in "$STARPU_TIC_DIR"/p0-line-*; do # no line that can be read is none
        chmod u+w "$file"
        truncate -s 100 "$file"
    done
    stopped_jobs "before the first checkpoint"
    [ ! -e told ]
}

@test "a job that was stopped with a recovery line is put into the queue again" {
    setup_job
    export SLURM_SUBMIT_DIR=$PWD SLURM_JOB_NAME=protected SLURM_JOB_ID=17
    STARPU_TIC_EVERY=20 crash task-end:100 "$program"
    MOST_RUNS=3 SLURM_RESTART_COUNT=1 run_apart "$jobs/slurm.sh" sh -c 'exit 75'
    grep -q 'scontrol requeue 17' told
}
