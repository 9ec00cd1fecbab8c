#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A Slurm job that outlives its time limit, preemption and crashes: sbatch slurm.sh PROGRAM ARGUMENT...
# Before the limit the program is stopped with a last checkpoint (exit status 75), and the job put into
# the queue again; its next run goes on from there. doc/guarantees.md tells how.
#SBATCH --job-name=protected
#SBATCH --time=01:00:00
#SBATCH --signal=B:TERM@180
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out

# The same for each run of this job, and on a file system that all nodes share.
export STARPU_TIC_DIR=${STARPU_TIC_DIR:-$SLURM_SUBMIT_DIR/$SLURM_JOB_NAME-$SLURM_JOB_ID.tic}
export STARPU_TIC_PERIOD=${STARPU_TIC_PERIOD:-auto}
most_runs=${MOST_RUNS:-100} # of the job, should it come no further

echo "run $((${SLURM_RESTART_COUNT:-0} + 1)) of job $SLURM_JOB_ID on $(hostname), $(date)"
starpu-tic run --max-restarts 10 -- "$@" &
child=$!
trap 'kill -TERM "$child"' TERM # to the shell alone: --signal=B:
wait "$child"
status=$?
while kill -0 "$child" 2>/dev/null; do # a signal has ended the wait, not the program
    wait "$child"
    status=$?
done
trap - TERM

# A job that somebody cancels, or another preempts, is no longer running for Slurm. Without a recovery
# line the next run would come no further than this one.
if [ "$status" -ne 75 ] || [ "$(squeue --noheader --job "$SLURM_JOB_ID" --format %T)" != RUNNING ]; then
    exit "$status"
elif ! starpu-tic list --json "$STARPU_TIC_DIR" | grep -q '"readable": true'; then
    echo "stopped before the first checkpoint, $(date): not into the queue again"
elif [ "$((${SLURM_RESTART_COUNT:-0} + 1))" -ge "$most_runs" ]; then
    echo "stopped with a checkpoint, $(date): not into the queue again after $most_runs runs (MOST_RUNS)"
else
    echo "stopped with a checkpoint, $(date): into the queue again"
    scontrol requeue "$SLURM_JOB_ID" && sleep 60 # Slurm ends this run
fi
exit "$status"
