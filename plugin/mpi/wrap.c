/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The wrappers of StarPU-MPI. MPI's types are not needed: a communicator is passed on as it is. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/channels.h"
#include "mpi/job.h"

#define WRAPPER __attribute__((visibility("default")))
#define LOCAL __attribute__((tls_model("initial-exec")))

/* The function that comes next, by a name that is resolved once. */
#define NEXT(type, name, parameters)                                                               \
    static type(*real_##name) parameters;                                                          \
    static void resolve_##name(void)                                                               \
    {                                                                                              \
        if (!real_##name)                                                                          \
            *(void **)&real_##name = dlsym(RTLD_NEXT, #name);                                      \
    }

/* ---- who calls ------------------------------------------------------------------------------- */

/* Where the code of StarPU-MPI is; immutable once found. */
static struct {
    uintptr_t begin, end;
} text;

static int find_text(struct dl_phdr_info *info, size_t size, void *inside)
{
    uintptr_t at = (uintptr_t)inside;

    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t end = begin + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && at >= begin && at < end) {
            text.begin = begin;
            text.end = end;
            return 1;
        }
    }
    return 0;
}

static bool is_caller(const void *caller)
{
    return (uintptr_t)caller >= text.begin && (uintptr_t)caller < text.end;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* What main() asks for: the first access inside of its call is that of the message. */
static __thread struct tic_message *asked LOCAL;

static bool is_world(void *comm)
{
    static void *world;

    if (!world)
        world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
    return world ? comm == world : (uint32_t)(uintptr_t)comm == 0x44000000; /* MPICH's */
}

static void ask(const char *call, bool sends, int peer, int64_t tag, void *comm, void *data,
                void (*callback)(void *))
{
    if (!tic_job_core)
        return;
    if (!is_world(comm))
        tic_job_core->unprotect(call, "communicators other than that of all ranks are not "
                                      "protected yet");
    else if (callback)
        tic_job_core->unprotect(call, "communications with a callback are not protected yet");
    asked = tic_channels_add(sends, peer, tag, data);
    if (!asked)
        tic_job_core->unprotect(call, "out of memory");
}

static void end_ask(void)
{
    free(asked); /* StarPU-MPI had no use for it */
    asked = NULL;
}

static void send_granted(void *send)
{
    tic_job_core->guard(1);
    tic_channels_send(send);
    tic_job_core->guard(-1);
}

static void receive_granted(void *arg)
{
    const struct tic_message receive = *(struct tic_message *)arg; /* it may end in the call */

    tic_job_core->guard(1);
    tic_channels_begin_receive(arg);
    tic_job_core->note_granted(receive.data);
    receive.callback(receive.argument);
    tic_job_core->guard(-1);
}

static bool takes_access(void *data, const void *caller, void (**callback)(void *), void **argument)
{
    struct tic_message *message = asked;

    if (!message || message->data != data)
        return is_caller(caller);
    asked = NULL;
    message->callback = *callback;
    message->argument = *argument;
    *callback = message->sends ? send_granted : receive_granted;
    *argument = message;
    return true;
}

static bool takes_release(void *data, const void *caller)
{
    struct tic_message *receive = is_caller(caller) ? tic_channels_find_receive(data) : NULL;

    if (receive)
        tic_job_core->note_received(data, tic_channels_end_receive, receive);
    return is_caller(caller);
}

#define SEND(name, parameters, arguments, notify)                                                  \
    NEXT(int, name, parameters)                                                                    \
    WRAPPER int name parameters;                                                                   \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        resolve_##name();                                                                          \
        ask(#name, true, peer, tag, comm, data, notify);                                           \
        int result = real_##name arguments;                                                        \
        end_ask();                                                                                 \
        return result;                                                                             \
    }

/* StarPU-MPI's other calls come to these. */
SEND(starpu_mpi_isend_prio, (void *data, void **req, int peer, int64_t tag, int prio, void *comm),
     (data, req, peer, tag, prio, comm), NULL)
SEND(starpu_mpi_issend_prio, (void *data, void **req, int peer, int64_t tag, int prio, void *comm),
     (data, req, peer, tag, prio, comm), NULL)
SEND(starpu_mpi_isend_detached_prio,
     (void *data, int peer, int64_t tag, int prio, void *comm, void (*callback)(void *), void *arg),
     (data, peer, tag, prio, comm, callback, arg), callback)
SEND(starpu_mpi_issend_detached_prio,
     (void *data, int peer, int64_t tag, int prio, void *comm, void (*callback)(void *), void *arg),
     (data, peer, tag, prio, comm, callback, arg), callback)

#define RECEIVE(name, parameters, arguments, notify)                                               \
    NEXT(int, name, parameters)                                                                    \
    WRAPPER int name parameters;                                                                   \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        resolve_##name();                                                                          \
        ask(#name, false, peer, tag, comm, data, notify);                                          \
        int result = real_##name arguments;                                                        \
        end_ask();                                                                                 \
        return result;                                                                             \
    }

RECEIVE(starpu_mpi_irecv, (void *data, void **req, int peer, int64_t tag, void *comm),
        (data, req, peer, tag, comm), NULL)
RECEIVE(starpu_mpi_irecv_detached,
        (void *data, int peer, int64_t tag, void *comm, void (*callback)(void *), void *arg),
        (data, peer, tag, comm, callback, arg), callback)
RECEIVE(starpu_mpi_irecv_detached_sequential_consistency,
        (void *data, int peer, int64_t tag, void *comm, void (*callback)(void *), void *arg,
         int ordered),
        (data, peer, tag, comm, callback, arg, ordered), callback)

/* ---- what is not protected yet --------------------------------------------------------------- */

#define REFUSED(name, parameters, arguments)                                                       \
    NEXT(void, name, parameters)                                                                   \
    WRAPPER void name parameters;                                                                  \
    WRAPPER void name parameters                                                                   \
    {                                                                                              \
        resolve_##name();                                                                          \
        if (tic_job_core)                                                                          \
            tic_job_core->unprotect(#name, "it is not protected yet in a run of several ranks");   \
        real_##name arguments;                                                                     \
    }

REFUSED(starpu_mpi_redux_data_prio, (void *comm, void *data, int prio), (comm, data, prio))
REFUSED(starpu_mpi_redux_data, (void *comm, void *data), (comm, data))
REFUSED(starpu_mpi_lb_init, (const char *policy, void *conf), (policy, conf))

/* ---- the start ------------------------------------------------------------------------------- */

static __thread bool starts LOCAL; /* this thread is inside of one of the calls below */

/* The program's communications have not begun: a barrier waits for nothing but the ranks. */
static void meet(void)
{
    int (*barrier)(void *) = NULL;
    int (*ask_rank)(void) = NULL;
    int (*ask_count)(void) = NULL;
    void *world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");

    *(void **)&barrier = dlsym(RTLD_NEXT, "starpu_mpi_barrier");
    *(void **)&ask_rank = dlsym(RTLD_NEXT, "starpu_mpi_world_rank");
    *(void **)&ask_count = dlsym(RTLD_NEXT, "starpu_mpi_world_size");
    if (!barrier || !ask_rank || !ask_count)
        return;
    bool fits =
        (unsigned)ask_rank() == tic_job_core->rank && (unsigned)ask_count() == tic_job_core->count;
    if (!fits)
        tic_job_core->unprotect("starpu_mpi_init", "the rank is not the one that the launcher "
                                                   "told by its variables");
    int status = fits ? tic_job_open() : -EINVAL;
    tic_job_core->guard(1);
    barrier(world ? world : (void *)(uintptr_t)0x44000000);
    tic_job_core->guard(-1);
    status = status ? status : tic_job_join();
    if (fits && status && status != -ENOENT)
        tic_job_core->give_up(strerror(-status));
}

#define START(name, parameters, arguments)                                                         \
    NEXT(int, name, parameters)                                                                    \
    WRAPPER int name parameters;                                                                   \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        bool first = !starts;                                                                      \
        resolve_##name();                                                                          \
        starts = true;                                                                             \
        int result = real_##name arguments;                                                        \
        starts = !first;                                                                           \
        if (first && tic_job_core && result == 0)                                                  \
            meet();                                                                                \
        return result;                                                                             \
    }

START(starpu_mpi_init_comm, (int *argc, char ***argv, int initialize, void *comm),
      (argc, argv, initialize, comm))
START(starpu_mpi_initialize, (void), ())
START(starpu_mpi_initialize_extended, (int *rank, int *count), (rank, count))

/* The thread of StarPU-MPI that calls MPI begins with it: none of its calls is the program's. */
NEXT(void, _starpu_mpi_do_initialize, (void *arguments))
WRAPPER void _starpu_mpi_do_initialize(void *arguments);
WRAPPER void _starpu_mpi_do_initialize(void *arguments)
{
    resolve__starpu_mpi_do_initialize();
    if (tic_job_core && !starts)
        tic_job_core->guard(1);
    real__starpu_mpi_do_initialize(arguments);
}

static const struct tic_ranks library = {
    tic_job_begin, tic_job_ready, tic_job_step, tic_job_cut,   tic_job_tell_cut, tic_job_has_late,
    tic_job_part,  tic_job_end,   takes_access, takes_release, is_caller,        tic_job_remove,
};

__attribute__((constructor)) static void attach(void)
{
    const struct tic_ranks_core *(*offer)(const struct tic_ranks *) = NULL;
    void *inside = dlsym(RTLD_NEXT, "starpu_mpi_barrier");

    *(void **)&offer = dlsym(RTLD_DEFAULT, "starpu_tic_ranks_attach");
    if (!offer || !inside || !dl_iterate_phdr(find_text, inside))
        return;
    tic_job_core = offer(&library);
    if (tic_job_core)
        setenv("STARPU_MPI_COOP_SENDS", "0", 1); /* one access for several messages */
}
