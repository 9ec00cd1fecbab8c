/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The wrappers of StarPU-MPI. MPI's types are not needed: a communicator is passed on as it is. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/words.h"
#include "mpi/channels.h"
#include "mpi/comms.h"
#include "mpi/core.h"
#include "mpi/job.h"
#include "mpi/labels.h"
#include "mpi/restart.h"
#include "mpi/sources.h"

#define WRAPPER __attribute__((visibility("default")))
#define LOCAL __attribute__((tls_model("initial-exec")))

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

static void end_ask(void)
{
    free(asked); /* StarPU-MPI had no use for it */
    asked = NULL;
}

static void send_granted(void *send)
{
    tic_mpi_core->guard(1);
    tic_channels_send(send);
    tic_mpi_core->guard(-1);
}

static void receive_granted(void *arg)
{
    const struct tic_message receive = *(struct tic_message *)arg; /* it may end in the call */

    tic_mpi_core->guard(1);
    tic_channels_begin_receive(arg);
    tic_mpi_core->messages.note_begun(receive.data);
    tic_mpi_core->messages.note_granted(receive.data);
    receive.callback(receive.argument);
    tic_mpi_core->guard(-1);
}

static bool takes_access(void *data, const void *caller, void (**callback)(void *), void **argument)
{
    struct tic_message *message = asked;

    if (!message || message->data != data) {
        if (is_caller(caller) && tic_mpi_core->tasks.knows(data))
            tic_mpi_core->give_up("StarPU-MPI communicates by a call that is not known");
        return is_caller(caller);
    }
    asked = NULL;
    message->callback = *callback;
    message->argument = *argument;
    *callback = message->sends ? send_granted : receive_granted;
    *argument = message;
    return true;
}

/* What is late is kept before anybody else may have the data. */
static void end_receive(void *data, struct tic_message *receive)
{
    size_t size = 0;
    void *bytes = NULL;

    tic_mpi_core->messages.note_received(data, tic_channels_end_receive, receive);
    if (tic_channels_is_late(receive))
        bytes = tic_mpi_core->messages.copy(data, &size);
    if (tic_channels_is_late(receive) && !bytes)
        tic_mpi_core->give_up("a message that was under way cannot be kept");
    tic_channels_settle_receive(receive, bytes, size);
}

static bool takes_release(void *data, const void *caller)
{
    struct tic_message *receive = is_caller(caller) ? tic_channels_find_receive(data) : NULL;

    if (receive)
        end_receive(data, receive);
    return is_caller(caller);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* What main() has where StarPU-MPI's request is not there any more; or, in a restart, not yet: then
 * the address of this, but odd. */
#define ENDED ((void *)1)
struct stand_in {
    void *_Atomic real; /* StarPU-MPI's */
    _Atomic bool done;  /* there is none to be waited for */
};

static struct stand_in *stand_in_of(void *request)
{
    return (uintptr_t)request & 1 ? (void *)((uintptr_t)request - 1) : NULL;
}

enum kind { SEND, SEND_DETACHED, RECEIVE, RECEIVE_DETACHED, RECEIVE_ORDERED };

struct call {
    enum kind kind;
    void *real; /* function */
    void *data, **request;
    int peer, prio, ordered;
    int64_t tag;
    void *comm;
    void (*callback)(void *);
    void *argument;
    int other;    /* peer, in the communicator of all ranks */
    int64_t name; /* tag, and the communicator's name */
    struct tic_message *message;
    struct stand_in *stand_in;
};

int starpu_mpi_isend_prio(void *, void **, int, int64_t, int, void *);
int starpu_mpi_issend_prio(void *, void **, int, int64_t, int, void *);
int starpu_mpi_isend_detached_prio(void *, int, int64_t, int, void *, void (*)(void *), void *);
int starpu_mpi_issend_detached_prio(void *, int, int64_t, int, void *, void (*)(void *), void *);
int starpu_mpi_irecv(void *, void **, int, int64_t, void *);
int starpu_mpi_irecv_detached(void *, int, int64_t, void *, void (*)(void *), void *);
int starpu_mpi_irecv_detached_sequential_consistency(void *, int, int64_t, void *, void (*)(void *),
                                                     void *, int);

static int call_real(const struct call *c, void **request)
{
    switch (c->kind) {
    case SEND: {
        TIC_REAL(starpu_mpi_isend_prio, c->real);
        return real(c->data, request, c->peer, c->tag, c->prio, c->comm);
    }
    case SEND_DETACHED: {
        TIC_REAL(starpu_mpi_isend_detached_prio, c->real);
        return real(c->data, c->peer, c->tag, c->prio, c->comm, c->callback, c->argument);
    }
    case RECEIVE: {
        TIC_REAL(starpu_mpi_irecv, c->real);
        return real(c->data, request, c->peer, c->tag, c->comm);
    }
    case RECEIVE_DETACHED: {
        TIC_REAL(starpu_mpi_irecv_detached, c->real);
        return real(c->data, c->peer, c->tag, c->comm, c->callback, c->argument);
    }
    case RECEIVE_ORDERED:
        break;
    }
    TIC_REAL(starpu_mpi_irecv_detached_sequential_consistency, c->real);
    return real(c->data, c->peer, c->tag, c->comm, c->callback, c->argument, c->ordered);
}

static int make(const struct call *call)
{
    void *request = NULL;

    if (tic_mpi_core)
        tic_mpi_core->messages.note_made(call->data, call->kind >= RECEIVE);
    asked = call->message;
    int result = call_real(call, call->stand_in ? &request : call->request);
    if (call->stand_in)
        call->stand_in->real = request;
    end_ask();
    return result;
}

static void call_back(const struct call *call)
{
    if (call->callback)
        call->callback(call->argument);
}

static void late_granted(void *arg)
{
    struct call *call = arg;
    void *data = call->data;

    tic_mpi_core->guard(1);
    const struct tic_late *late =
        tic_restart_find_late(call->other, call->name, call->message->number);
    tic_channels_begin_receive(call->message);
    tic_mpi_core->messages.note_granted(data);
    if (!late || !tic_mpi_core->messages.fill(data, late->bytes, late->size))
        tic_mpi_core->stop("a message that was under way is not in the line");
    end_receive(data, call->message);
    tic_mpi_core->messages.release(data);
    if (call->stand_in)
        call->stand_in->done = true;
    call_back(call);
    free(call);
    tic_mpi_core->guard(-1);
}

static void play(void *arg)
{
    const struct call *call = arg;
    struct call *late;

    if (tic_channels_fate(call->message) == TIC_MESSAGE_LIVE) {
        make(call);
        return;
    }
    late = malloc(sizeof(*late));
    if (!late)
        tic_mpi_core->stop("out of memory");
    *late = *call;
    tic_mpi_core->messages.note_made(call->data, true);
    tic_mpi_core->messages.acquire(call->data, late_granted, late);
}

static void stand_in_for(struct call *call)
{
    struct stand_in *stand_in = malloc(sizeof(*stand_in));

    if (!stand_in)
        tic_mpi_core->stop("out of memory");
    *stand_in = (struct stand_in){.done = false};
    call->stand_in = stand_in;
    *call->request = (void *)((uintptr_t)stand_in | 1);
}

static bool ask(const char *name, struct call *call, bool sends)
{
    uint64_t comm;

    call->other = call->peer;
    if (!tic_comms_find(call->comm, &call->other, &comm))
        tic_mpi_core->unprotect(name, "a communicator that is not made by MPI_Comm_dup, "
                                      "MPI_Comm_split or MPI_Comm_create is not protected yet");
    call->name =
        comm ? (int64_t)tic_words_hash((uint64_t[]){comm, (uint64_t)call->tag}, 2, 0) : call->tag;
    call->message = tic_channels_add(sends, call->other, call->name, call->data);
    if (!call->message)
        tic_mpi_core->unprotect(name, "out of memory");
    else
        tic_labels_note_message(call->data, sends, call->other, call->name, call->message->number);
    return call->message;
}

/* The k-th message of a channel is the same one in each run. */
static void wrap_callback(const char *name, struct call *call, bool sends)
{
    const uint64_t words[4] = {sends, (uint64_t)call->other, (uint64_t)call->name,
                               call->message->number};

    if (call->callback && !tic_mpi_core->messages.wrap(sends ? NULL : call->data, words,
                                                       &call->callback, &call->argument))
        tic_mpi_core->unprotect(name, "out of memory");
}

static int perform(const char *name, struct call *call)
{
    const bool receives = call->kind >= RECEIVE;

    if (!tic_mpi_core)
        return make(call);
    tic_mpi_core->messages.operate(call->data, !call->request);
    if (!ask(name, call, !receives))
        return make(call);
    wrap_callback(name, call, !receives);
    enum tic_message_fate fate = tic_channels_fate(call->message);
    tic_mpi_core->messages.note_asked(call->data, receives, fate == TIC_MESSAGE_DONE);
    if (fate == TIC_MESSAGE_LIVE && !tic_mpi_core->messages.keeps())
        return make(call);
    if (call->request && fate == TIC_MESSAGE_DONE)
        *call->request = ENDED;
    else if (call->request)
        stand_in_for(call);
    if (fate == TIC_MESSAGE_DONE) {
        free(call->message);
        call_back(call);
    } else if (!tic_mpi_core->messages.keeps() ||
               !tic_mpi_core->messages.queue(call->data, play, call, sizeof(*call))) {
        play(call);
    }
    return 0;
}

#define CALL(kind_, name, parameters, ...)                                                         \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        static _Atomic(void *) known;                                                              \
        struct call call = {.kind = (kind_),                                                       \
                            .real = tic_next_function(&known, #name),                              \
                            .data = data,                                                          \
                            .peer = peer,                                                          \
                            .tag = tag,                                                            \
                            .comm = comm,                                                          \
                            __VA_ARGS__};                                                          \
        return perform(#name, &call);                                                              \
    }

/* StarPU-MPI's other calls come to these. */
CALL(SEND, starpu_mpi_isend_prio,
     (void *data, void **request, int peer, int64_t tag, int prio, void *comm), .request = request,
     .prio = prio)
CALL(SEND, starpu_mpi_issend_prio,
     (void *data, void **request, int peer, int64_t tag, int prio, void *comm), .request = request,
     .prio = prio)
CALL(SEND_DETACHED, starpu_mpi_isend_detached_prio,
     (void *data, int peer, int64_t tag, int prio, void *comm, void (*callback)(void *), void *arg),
     .prio = prio, .callback = callback, .argument = arg)
CALL(SEND_DETACHED, starpu_mpi_issend_detached_prio,
     (void *data, int peer, int64_t tag, int prio, void *comm, void (*callback)(void *), void *arg),
     .prio = prio, .callback = callback, .argument = arg)
CALL(RECEIVE, starpu_mpi_irecv, (void *data, void **request, int peer, int64_t tag, void *comm),
     .request = request)
CALL(RECEIVE_DETACHED, starpu_mpi_irecv_detached,
     (void *data, int peer, int64_t tag, void *comm, void (*callback)(void *), void *arg),
     .callback = callback, .argument = arg)
CALL(RECEIVE_ORDERED, starpu_mpi_irecv_detached_sequential_consistency,
     (void *data, int peer, int64_t tag, void *comm, void (*callback)(void *), void *arg,
      int ordered),
     .callback = callback, .argument = arg, .ordered = ordered)

/* ---- waits ----------------------------------------------------------------------------------- */

int starpu_mpi_wait(void **request, void *status);

/* The queue of a restart is played by then. */
static int await_stand_in(struct stand_in *stand_in, void *status)
{
    while (!stand_in->real && !stand_in->done)
        usleep(100); /* its value is being written */
    TIC_NEXT(starpu_mpi_wait);
    void *request = stand_in->real;
    return request ? real(&request, status) : 0;
}

WRAPPER int starpu_mpi_wait(void **request, void *status)
{
    TIC_NEXT(starpu_mpi_wait);
    if (!tic_mpi_core)
        return real(request, status);
    tic_mpi_core->messages.begin_wait(__builtin_dwarf_cfa());
    struct stand_in *stand_in = stand_in_of(*request);
    int result = *request == ENDED ? 0
                 : stand_in        ? await_stand_in(stand_in, status)
                                   : real(request, status);
    *request = NULL;
    free(stand_in);
    tic_mpi_core->messages.end_wait("starpu_mpi_wait");
    return result;
}

int starpu_mpi_test(void **request, int *flag, void *status);

/* Has it ended? A request of StarPU-MPI that has is gone. */
static bool has_ended(void **request, void *status)
{
    struct stand_in *stand_in = stand_in_of(*request);
    void *pending = stand_in ? stand_in->real : *request;
    int ended = *request == ENDED || (stand_in && stand_in->done);
    TIC_NEXT(starpu_mpi_test);

    if (!ended && pending)
        real(&pending, &ended, status);
    if (ended) {
        free(stand_in);
        *request = ENDED;
    }
    return ended;
}

/* main() hears again what it has heard, and a yes is a wait. */
WRAPPER int starpu_mpi_test(void **request, int *flag, void *status)
{
    TIC_NEXT(starpu_mpi_test);
    if (!tic_mpi_core)
        return real(request, flag, status);
    *flag = tic_mpi_core->messages.answer(has_ended(request, status));
    return *flag ? starpu_mpi_wait(request, status) : 0;
}

int starpu_mpi_barrier(void *comm);
WRAPPER int starpu_mpi_barrier(void *comm)
{
    TIC_NEXT(starpu_mpi_barrier);
    if (tic_mpi_core)
        tic_mpi_core->messages.begin_wait(__builtin_dwarf_cfa());
    int result = real(comm);
    if (tic_mpi_core)
        tic_mpi_core->messages.end_wait("starpu_mpi_barrier");
    return result;
}

/* ---- data with tags ---------------------------------------------------------------------------
 */

void starpu_mpi_data_register_comm(void *data, int64_t tag, int rank, void *comm);
WRAPPER void starpu_mpi_data_register_comm(void *data, int64_t tag, int rank, void *comm)
{
    TIC_NEXT(starpu_mpi_data_register_comm);
    real(data, tag, rank, comm);
    uint64_t name = 0;
    int known = 0;
    if (!tic_mpi_core)
        return;
    if (tag != -1)
        tic_labels_register(data, tag);
    if (rank == -1)
        return;
    tic_labels_note_rank(data);
    if (!tic_comms_find(comm, &known, &name) || name != 0)
        tic_labels_refuse("data is of another communicator than that of all ranks");
}

void starpu_mpi_data_set_rank_comm(void *data, int rank, void *comm);

static void set_rank(void *data, int rank, void *comm)
{
    TIC_MPI(starpu_mpi_data_set_rank_comm, data, rank, comm);
}

void starpu_mpi_data_migrate(void *comm, void *data, int rank);
WRAPPER void starpu_mpi_data_migrate(void *comm, void *data, int rank)
{
    TIC_NEXT(starpu_mpi_data_migrate);
    if (!tic_mpi_core || tic_labels_move(data))
        real(comm, data, rank);
    else
        set_rank(data, rank, comm);
    if (tic_mpi_core)
        tic_labels_moved(data);
}

/* ---- reductions ------------------------------------------------------------------------------ */

int starpu_mpi_data_get_rank(void *data);
int64_t starpu_mpi_data_get_tag(void *data);
int starpu_mpi_comm_rank(void *comm, int *rank);
int starpu_mpi_comm_size(void *comm, int *count);

/* As StarPU-MPI does it, but that shares are added in the order of ranks, and all is asked for by
 * main(): there callbacks register data. */
static void reduce(void *comm, void *data, int prio, int owner, int64_t tag)
{
    const struct tic_ranks_reductions *reductions = &tic_mpi_core->reductions;
    int own = -1, count = 0;

    TIC_MPI(starpu_mpi_comm_rank, comm, &own);
    TIC_MPI(starpu_mpi_comm_size, comm, &count);
    if (own != owner) {
        starpu_mpi_isend_detached_prio(data, owner, tag, prio, comm, NULL, NULL);
        reductions->begin_anew(data);
    }
    for (int i = 0; i < count && own == owner; i++) {
        if (i == own)
            continue;
        void *share = reductions->open_share(data);
        starpu_mpi_irecv_detached(share, i, tag, comm, NULL, NULL);
        reductions->add_share(data, share);
    }
    reductions->await_tasks();
}

/* StarPU 1.3 returns nothing. */
int starpu_mpi_redux_data_prio(void *comm, void *data, int prio);
WRAPPER int starpu_mpi_redux_data_prio(void *comm, void *data, int prio)
{
    int owner = TIC_MPI(starpu_mpi_data_get_rank, data);
    int64_t tag = TIC_MPI(starpu_mpi_data_get_tag, data);
    TIC_NEXT(starpu_mpi_redux_data_prio);

    if (tic_mpi_core && owner >= 0 && tag >= 0 && tic_mpi_core->reductions.reduces(data)) {
        reduce(comm, data, prio, owner, tag);
        return 0;
    }
    if (tic_mpi_core)
        tic_mpi_core->unprotect("starpu_mpi_redux_data",
                                "reductions by others than main(), or of data that is not "
                                "protected, are not protected yet");
    return real(comm, data, prio);
}

int starpu_mpi_redux_data(void *comm, void *data);
WRAPPER int starpu_mpi_redux_data(void *comm, void *data)
{
    return starpu_mpi_redux_data_prio(comm, data, 0);
}

/* ---- what is not protected yet --------------------------------------------------------------- */

#define REFUSED(name, parameters, arguments)                                                       \
    void name parameters;                                                                          \
    WRAPPER void name parameters                                                                   \
    {                                                                                              \
        TIC_NEXT(name);                                                                            \
        if (tic_mpi_core)                                                                          \
            tic_mpi_core->unprotect(#name, "it is not protected yet in a run of several ranks");   \
        real arguments;                                                                            \
    }

REFUSED(starpu_mpi_lb_init, (const char *policy, void *conf), (policy, conf))

/* StarPU-MPI sends such data without pack_data, which may do anything then. */
static bool has_datatypes;

static void refuse_datatypes(void)
{
    if (tic_mpi_core && has_datatypes)
        tic_mpi_core->unprotect("starpu_mpi_datatype_register",
                                "data that has an MPI datatype of its own is not protected yet");
}

/* Also before the start. */
#define DATATYPE(name, type)                                                                       \
    int name(type of, void (*allocate)(void), void (*release)(void));                              \
    WRAPPER int name(type of, void (*allocate)(void), void (*release)(void))                       \
    {                                                                                              \
        TIC_NEXT(name);                                                                            \
        has_datatypes = true;                                                                      \
        refuse_datatypes();                                                                        \
        return real(of, allocate, release);                                                        \
    }

DATATYPE(starpu_mpi_datatype_register, void *)
DATATYPE(starpu_mpi_interface_datatype_register, int)

/* ---- the start ------------------------------------------------------------------------------- */

static __thread bool starts LOCAL; /* this thread is inside of one of the calls below */

int starpu_mpi_world_rank(void);
int starpu_mpi_world_size(void);

/* The program's communications have not begun: a barrier waits for nothing but the ranks. */
static void await_all(void)
{
    tic_mpi_core->guard(1);
    TIC_MPI(starpu_mpi_barrier, tic_comms_world());
    tic_mpi_core->guard(-1);
}

/* All have chosen, and none goes on before all have looked. Without a line the logs mean nothing.
 */
static void begin_log(void)
{
    const bool continues = tic_restart_found()->number != 0;

    if (tic_mpi_core->logs() && continues && !tic_restart_all_log())
        tic_mpi_core->start_again(
            "not all ranks use what their event logs have, by their settings or as a log is "
            "damaged. Start again: none does then");
    if (tic_mpi_core->logs() && !continues && tic_mpi_core->rank == 0)
        tic_mpi_core->take();
    await_all();
}

static void meet(void)
{
    bool fits = (unsigned)TIC_MPI(starpu_mpi_world_rank) == tic_mpi_core->rank &&
                (unsigned)TIC_MPI(starpu_mpi_world_size) == tic_mpi_core->count;
    if (!fits && tic_sources_end() > 0)
        tic_mpi_core->stop("the launcher does not tell how many ranks there are");
    else if (!fits)
        tic_mpi_core->unprotect("starpu_mpi_init", "the rank is not the one that the launcher "
                                                   "told by its variables");
    int status = fits ? tic_job_open() : -EINVAL;
    await_all();
    status = status ? status : tic_job_join();
    if (fits && status && status != -ENOENT)
        tic_mpi_core->give_up(strerror(-status));
    begin_log();
    refuse_datatypes();
}

#define START(name, parameters, arguments)                                                         \
    int name parameters;                                                                           \
    WRAPPER int name parameters                                                                    \
    {                                                                                              \
        TIC_NEXT(name);                                                                            \
        bool first = !starts;                                                                      \
        starts = true;                                                                             \
        int result = real arguments;                                                               \
        starts = !first;                                                                           \
        if (first && tic_mpi_core && result == 0)                                                  \
            meet();                                                                                \
        return result;                                                                             \
    }

START(starpu_mpi_init_comm, (int *argc, char ***argv, int initialize, void *comm),
      (argc, argv, initialize, comm))
START(starpu_mpi_initialize, (void), ())
START(starpu_mpi_initialize_extended, (int *rank, int *count), (rank, count))

/* The thread of StarPU-MPI that calls MPI begins with it: none of its calls is the program's. */
void _starpu_mpi_do_initialize(void *arguments);
WRAPPER void _starpu_mpi_do_initialize(void *arguments)
{
    TIC_NEXT(_starpu_mpi_do_initialize);
    if (tic_mpi_core && !starts)
        tic_mpi_core->guard(1);
    real(arguments);
}

int starpu_mpi_shutdown(void);
WRAPPER int starpu_mpi_shutdown(void)
{
    TIC_NEXT(starpu_mpi_shutdown);
    if (tic_mpi_core && tic_labels_are_short())
        tic_mpi_core->stop("main() enters fewer insertions than on another number of ranks");
    return real();
}

static const struct tic_ranks library = {
    tic_restart_choose, tic_restart_log, tic_labels_come,    tic_job_begin,
    tic_job_ready,      tic_job_step,    tic_job_cut,        tic_job_tell_cut,
    tic_job_has_late,   tic_job_part,    tic_job_end,        takes_access,
    takes_release,      is_caller,       tic_channels_await, tic_job_remove,
};

__attribute__((constructor)) static void attach(void)
{
    const struct tic_ranks_core *(*offer)(const struct tic_ranks *) = NULL;
    void *inside = dlsym(RTLD_NEXT, "starpu_mpi_barrier");

    *(void **)&offer = dlsym(RTLD_DEFAULT, "starpu_tic_ranks_attach");
    if (!offer || !inside || !dl_iterate_phdr(find_text, inside))
        return;
    tic_mpi_core = offer(&library);
    if (tic_mpi_core)
        setenv("STARPU_MPI_COOP_SENDS", "0", 1); /* one access for several messages */
}
