# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reuse of results in the way of Satin, beside SEL (figure 13 of Jafar, Krings and Gautier): faults after 25,
50 and 75 % of the tasks on 3 workers, one of which is lost; 2 go on.

Satin (Wrzesinska, van Nieuwpoort, Maassen and Bal 2005) keeps no log: what survivors have computed is in
their memory and is used again, what the lost one has computed is gone. Our runs have one process, so its
log says which worker wrote a result, and the results of the lost worker are destroyed in the log's segments
before the restart. The planner finds that they do not match their checksums, and has executed again
what is needed of them: a setting of ours is not involved."""
import json
import os
import subprocess

from crashes import BLOCKS, chosen_cholesky, chosen_matrix, complete, runs_of, tasks_of_cholesky
from measure import PLAIN, settings_of
from results import draw_lines, spread, table

TITLE = "Reuse of results in the way of Satin (TIC/SEL paper, figure 13)"
PARTS = (25, 50, 75) # percent of the tasks
WORKERS, LOST = 3, 2 # how many, and the number of the lost one
NAMES = {"all": "SEL: all results used again", "survivors": "Satin: those of the survivors",
         "none": "nothing: from the beginning"}


def read_log(bench):
    text = subprocess.run([bench.options.tool, "log", "--json", bench.dir], check=True,
                          stdout=subprocess.PIPE).stdout
    return json.loads(text)["events"]


def invert(path, offset, count):
    with open(path, "r+b") as file:
        file.seek(offset)
        old = file.read(count)
        file.seek(offset)
        file.write(bytes(byte ^ 0xff for byte in old))


def destroy(bench, worker):
    """Spoils what a worker has written in the segments: 8 bytes of each result, but where another one has
    used the place since. How many."""
    places = {(value["segment"], value["offset"]): (entry["worker"], value["bytes"])
              for entry in read_log(bench) if entry["event"] == "finished"
              for value in entry["written"]} # in the order of time
    lost = {place: size for place, (writer, size) in places.items() if writer == worker}
    for (segment, offset), size in lost.items():
        invert(os.path.join(bench.dir, "p0-segment-%08d.h5" % segment), offset, min(8, size))
    return len(lost)


def measure(bench):
    command, tasks = chosen_cholesky(bench), tasks_of_cholesky(BLOCKS)
    bench.note("reuse", "matrix", "", 0, size=chosen_matrix(bench))
    for run in range(runs_of(bench)):
        wall = complete(bench, command, PLAIN, workers=(WORKERS - 1,))[0]
        for part in PARTS:
            bench.note("reuse", part, "none", run, restart_s=wall, executed=tasks)
            for variant in ("all", "survivors"):
                settings = dict(settings_of("tic-sel"), STARPU_NCPU=str(WORKERS),
                                STARPU_TIC_PERIOD="1000") # what a line refers to may not be destroyed
                bench.execute(command, "tic-sel", STARPU_TIC_FAIL="task-end:%d" % (tasks * part // 100),
                              **settings)
                if variant == "survivors":
                    bench.note("reuse", part, variant, run, destroyed=destroy(bench, LOST))
                settings["STARPU_NCPU"] = str(WORKERS - 1)
                wall_after, _, _, stats = bench.execute(command, "tic-sel", keep_store=True, **settings)
                bench.note("reuse", part, variant, run, restart_s=wall_after,
                           executed=stats["tasks_executed"], restored_MB=stats["bytes_restored"] / 1e6)


def draw(results, pyplot, save):
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.4))
    for axis, metric, label in ((axes[0], "restart_s", "time after the fault, s"),
                                (axes[1], "executed", "tasks executed after the fault")):
        draw_lines(axis, {name: [(part, results.values("reuse", part, variant, metric))
                                 for part in PARTS] for variant, name in NAMES.items()},
                   "fault after, % of the tasks", label)
        axis.set_ylim(bottom=0)
        axis.set_xticks(PARTS)
    save(figure, "figure-13-reuse")


def tell(results):
    rows = [[part, name] + [spread(results.values("reuse", part, variant, metric), digits)
                            for metric, digits in (("restart_s", 2), ("executed", 0), ("restored_MB", 0))]
            for part in PARTS for variant, name in NAMES.items()]
    return ("Cholesky of %d x %d on 3 workers under SEL, killed when so many of its 4960 tasks "
            "had ended; one worker is lost, and 2 go on. *Satin*: the results that the lost "
            "worker wrote were destroyed in the log before the restart. No recovery lines are "
            "taken.\n\n"
            % ((results.one("reuse", "matrix", "", "size"),) * 2) +
            table(["fault after, %", "what is used again", "time after the fault, s",
                   "tasks executed after it", "restored, MB"], rows) +
            "\n\nThe log keeps the last version of a tile only, so what is destroyed is that of "
            "tiles which the lost worker wrote last. This is an analogue, not Satin: Satin's "
            "jobs are functions of their arguments, so the results of a lost processor mean its "
            "own subtrees; a factorization passes its tiles from worker to worker in place, so "
            "one lost result can make a whole chain of tasks run again. A log that is there is "
            "no survivor's memory either: its values are read from a file. The numbers of the "
            "paper's figure are not known to us.")
