#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A PBS job that outlives its time limit and crashes: qsub -v COMMAND="./program argument" pbs.sh
# PBS gives no signal long before the limit, so the script looks at the clock: it stops the program with
# a last checkpoint (exit status 75) and submits itself again. doc/guarantees.md tells how.
#PBS -N protected
#PBS -l walltime=01:00:00
#PBS -j oe
#PBS -r y

seconds=${SECONDS_OF_JOB:-3420} # less than walltime, by what the last checkpoint may take
most_runs=${MOST_RUNS:-100}     # of the job, should it come no further
run=${RUN:-1}

cd "$PBS_O_WORKDIR" || exit
# The same for each run of this job, and on a file system that all nodes share.
export STARPU_TIC_DIR=${STARPU_TIC_DIR:-$PWD/$PBS_JOBNAME-${FIRST_JOB:=$PBS_JOBID}.tic}
export STARPU_TIC_PERIOD=${STARPU_TIC_PERIOD:-auto}

echo "run $run of job $FIRST_JOB on $(hostname), $(date)"
# shellcheck disable=SC2086 # a command with arguments
timeout --foreground --signal=TERM "$seconds" starpu-tic run --max-restarts 10 -- $COMMAND
status=$?
# timeout says 124 when it has sent the signal: then there is a checkpoint, or the last one before.
# Without a recovery line the next run would come no further than this one.
if [ "$status" -ne 75 ] && [ "$status" -ne 124 ]; then
    exit "$status"
elif ! starpu-tic list --json "$STARPU_TIC_DIR" | grep -q '"readable": true'; then
    echo "stopped before the first checkpoint, $(date): not into the queue again"
elif [ "$run" -ge "$most_runs" ]; then
    echo "stopped with a checkpoint, $(date): not into the queue again after $most_runs runs (MOST_RUNS)"
else
    echo "stopped with a checkpoint, $(date): into the queue again"
    qsub -v COMMAND="$COMMAND",RUN=$((run + 1)),FIRST_JOB="$FIRST_JOB",SECONDS_OF_JOB="$seconds",MOST_RUNS="$most_runs" \
        -N "$PBS_JOBNAME" "${PBS_SCRIPT:-$PBS_O_WORKDIR/pbs.sh}"
fi
exit "$status"
