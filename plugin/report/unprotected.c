/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/unprotected.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/error.h"
#include "base/settings.h"
#include "real/real.h"
#include "session/nodes.h"
#include "session/ranks.h"
#include "session/slave.h"
#include "snapshot/cut.h"

/* Processes that this one starts inherit the variable, and STARPU_TIC_DIR: "PROCESS DIRECTORY". */
static const char owner_variable[] = "TIC_DIRECTORY_OWNER";

static bool is_used_by_parent(void)
{
    const char *owner = getenv(owner_variable), *directory = getenv(TIC_SETTING_PREFIX "DIR");
    char *rest = NULL;
    pid_t process = owner ? (pid_t)strtol(owner, &rest, 10) : 0;

    return directory && process > 0 && process != getpid() && *rest == ' ' &&
           strcmp(rest + 1, directory) == 0 && (kill(process, 0) == 0 || errno == EPERM);
}

/* Where it was loaded, and with which directory. Each fork of a process would take the recovery
 * lines of another one for its own. */
static struct {
    pid_t process;
    char *directory;
} loaded;

__attribute__((constructor)) static void note_load(void)
{
    const char *directory = getenv(TIC_SETTING_PREFIX "DIR");

    loaded.process = getpid();
    loaded.directory = directory ? strdup(directory) : NULL;
}

static bool is_forked(void)
{
    const char *directory = getenv(TIC_SETTING_PREFIX "DIR");

    return getpid() != loaded.process &&
           (!directory || (loaded.directory && strcmp(directory, loaded.directory) == 0));
}

/* launched: the launcher tells of several ranks. */
static const char *why_no_ranks(bool launched)
{
    const char *set = getenv(TIC_SETTING_PREFIX "RANKS");

    if (!set || strcmp(set, "try") != 0)
        return "several MPI ranks need STARPU_TIC_RANKS=try (starpu-tic explain mpi)";
    return launched ? "STARPU_TIC_RANKS=try needs `starpu-tic run` after mpirun, or before it"
                    : "the launcher of these MPI ranks is not known (starpu-tic explain mpi)";
}

/* Launchers need not tell; StarPU-MPI knows, once MPI runs. A program may start that after StarPU.
 */
const char *tic_unprotected_by_ranks(void)
{
    static int (*is_initialized)(int *);
    static int (*count)(void);
    static bool asked; /* guarded by the submission lock, or before any submission */
    int initialized = 0;

    if (tic_ranks_library())
        return NULL;
    if (!asked) {
        *(void **)&is_initialized = dlsym(RTLD_DEFAULT, "MPI_Initialized");
        *(void **)&count = dlsym(RTLD_DEFAULT, "starpu_mpi_world_size");
        asked = true;
    }
    if (__builtin_expect(!is_initialized || !count, 1) || is_initialized(&initialized) != 0 ||
        !initialized)
        return NULL;
    int ranks = count();
    count = NULL; /* once is enough */
    return ranks > 1 ? why_no_ranks(false) : NULL;
}

/* The release of what becomes the next minor version, with other structures already. */
enum { DEVELOPMENT = 99 };

const char *tic_unprotected_why(void)
{
    const char *missing;
    int major, minor, release;

    if (tic_slave_is())
        return "it is a slave, which executes kernels only: its master is what is protected";
    if (getauxval(AT_SECURE))
        return "it has more rights than who started it (set-user-ID and the like)";
    if (!tic_real_resolve(&missing))
        return missing;
    tic_real.starpu_get_version(&major, &minor, &release);
    if (major != STARPU_MAJOR_VERSION || minor != STARPU_MINOR_VERSION ||
        (release == DEVELOPMENT) != (STARPU_RELEASE_VERSION == DEVELOPMENT))
        return "this starpu-tic was built for StarPU " PACKAGE_STARPU_VERSION;
    if (tic_ranks_launched() > 1 && !tic_ranks_library())
        return why_no_ranks(true);
    if (is_forked())
        return "it is a fork of the program that was started, and has no recovery lines of its "
               "own. Start it as a program (exec), or give it a STARPU_TIC_DIR of its own";
    if (is_used_by_parent())
        return "the program that started it uses STARPU_TIC_DIR; name another one for this "
               "program, or none";
    return NULL;
}

const char *tic_unprotected_why_here(unsigned workers, bool untried)
{
    return workers > TIC_MAX_WORKERS
               ? "StarPU has more than 256 workers, which is not supported yet"
               : tic_nodes_start(untried);
}

void tic_unprotected_tell_children(const char *directory)
{
    char *owner = NULL;

    if (directory[0] && asprintf(&owner, "%ld %s", (long)getpid(), directory) > 0)
        setenv(owner_variable, owner, 1);
    free(owner);
}

static _Atomic(const char *) reason;

const char *tic_unprotected_reason(void)
{
    return atomic_load(&reason);
}

void tic_unprotected_report(const char *why)
{
    atomic_store(&reason, why);
    tic_log(TIC_LOG_WARN, "this run is not protected: %s", why);
}

const char *tic_unprotected_no_thread(int status)
{
    static char why[256];

    snprintf(why, sizeof(why), "cannot create a thread: %s%s", strerror(-status),
             status == -EAGAIN ? ". A limit is reached: RLIMIT_NPROC (ulimit -u), pids.max of the "
                                 "cgroup, or RLIMIT_AS (ulimit -v)"
             : status == -ENOMEM ? ". A limit on memory is reached: RLIMIT_AS (ulimit -v), or "
                                   "memory.max of the cgroup"
             : status == -EPERM || status == -ENOSYS
                 ? ". A filter of system calls refuses close_range() and unshare(): with Docker, "
                   "--security-opt seccomp=unconfined allows them"
                 : "");
    return why;
}

void tic_unprotected_tell_slave(const char *why)
{
    if (!atomic_exchange(&reason, why))
        tic_log(TIC_LOG_INFO,
                "this process executes kernels for its master (%s), where what they write is saved",
                tic_slave_master());
}
