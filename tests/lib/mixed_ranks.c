/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU-MPI program whose result depends on the order of all that it does: tiles of numbers,
 * which tasks mix with tiles of other ranks; messages that main() sends and waits for; migration.
 * Each rank enters all insertions, or only those that concern it. It prints a hash of all tiles,
 * and of what main() has received. Or callbacks go on with what came: they count, submit tasks, and
 * send it on. Or the communicator is another one than that of all ranks, and others come and go.
 * Plain: nothing but insertions, some of which commute, and migration: hashes of tiles that do not
 * depend on the number of ranks; random: the same by chance. Unless it is made another program:
 * MIXED_INPUT, MIXED_ORDER.
 *
 * Or main() of rank 0 sends what it was told of the time, or tasks of the second half commute.
 *
 * Or each task writes a second tile, too, which no other rank reads.
 *
 * mixed_ranks STEPS TILES [pruned|callbacks|groups|shared|tests|sums|clock|commutes|pairs|plain|
 * random SEED]: compiled by mpicc where it is wanted.
 */
#include <starpu_mpi.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WORDS = 4096,
    ROUND = 8,
    FIRST_TAG = 10000,
    OWN_TAG = 20000,
    PAIR_TAG = 25000,
    SECOND_TAG = 30000,
    CROSS_TAG = 35000,
    ASK_TAG = 37000,
    SUM_TAG = 38000,
    CLOCK_TAG = 39000,
    TAGS = 40000
};

static MPI_Comm comm = MPI_COMM_WORLD;
static int rank, ranks, steps, tiles;
static uint64_t **memory;
static starpu_data_handle_t *handles, *seconds, pile; /* seconds: in pairs, or NULL */

/* MIXED_RANKS_COUNT=PATH: a byte in PATH-<rank> for each time that the kernel is executed. */
static int executions = -1;

static void open_executions(void)
{
    const char *path = getenv("MIXED_RANKS_COUNT");
    char name[4096];

    if (path && snprintf(name, sizeof(name), "%s-%d", path, rank) < (int)sizeof(name))
        executions = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
}
static bool slow;           /* tasks take a while: MIXED_SLOW */
static bool counts;         /* MIXED_COUNTS */
static unsigned long mixed; /* which nobody has registered */

static void mix(void *buffers[], void *arg)
{
    uint64_t *to = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const uint64_t *from = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);

    (void)arg;
    if (executions >= 0 && write(executions, ".", 1) < 0)
        abort();
    if (slow)
        starpu_sleep(0.0005F);
    if (counts)
        mixed++;
    for (int turn = 0; turn < 8; turn++)
        for (int i = 0; i < WORDS; i++)
            to[i] =
                ((to[i] ^ from[(i + turn) % WORDS]) * UINT64_C(0x9e3779b97f4a7c15)) ^ (to[i] >> 29);
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {mix}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "mix"};

static void mix_pair(void *buffers[], void *arg)
{
    uint64_t *second = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);
    void *others[] = {buffers[0], buffers[2]};

    mix(others, arg);
    for (int i = 0; i < WORDS; i++)
        second[i] = second[i] * 31 + ((uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]))[i];
}

static struct starpu_codelet pairing = {.cpu_funcs = {mix_pair},
                                        .nbuffers = 3,
                                        .modes = {STARPU_RW, STARPU_RW, STARPU_R},
                                        .name = "pair"};

static uint64_t hash(const uint64_t *words)
{
    uint64_t sum = 0;

    for (int i = 0; i < WORDS; i++)
        sum = (sum ^ words[i]) * UINT64_C(1099511628211);
    return sum;
}

static uint64_t look(starpu_data_handle_t data)
{
    uint64_t sum;

    starpu_data_acquire(data, STARPU_R);
    sum = hash((const uint64_t *)starpu_vector_get_local_ptr(data));
    starpu_data_release(data);
    return sum;
}

static void register_tile(starpu_data_handle_t *handle, uint64_t *words, int tag, int owner)
{
    starpu_vector_data_register(handle, owner == rank ? STARPU_MAIN_RAM : -1,
                                owner == rank ? (uintptr_t)words : 0, WORDS, sizeof(*words));
    starpu_mpi_data_register_comm(*handle, tag, owner, comm);
}

static void register_tiles(void)
{
    for (int i = 0; i < tiles; i++) {
        bool mine = i % ranks == rank;
        memory[i] = calloc(WORDS, sizeof(**memory));
        for (int k = 0; k < WORDS && mine; k++)
            memory[i][k] = (uint64_t)i * WORDS + (uint64_t)k + (getenv("MIXED_INPUT") != NULL);
        register_tile(&handles[i], memory[i], i, i % ranks);
        if (seconds)
            register_tile(&seconds[i], calloc(WORDS, sizeof(**memory)), PAIR_TAG + i, i % ranks);
    }
}

static void insert(int step, bool pruned)
{
    int to = step % tiles, from = (step * 7 + step / tiles + 1) % tiles;

    if (to == from || (pruned && starpu_mpi_data_get_rank(handles[to]) != rank &&
                       starpu_mpi_data_get_rank(handles[from]) != rank))
        return;
    if (seconds)
        starpu_mpi_task_insert(comm, &pairing, STARPU_RW, handles[to], STARPU_RW, seconds[to],
                               STARPU_R, handles[from], 0);
    else
        starpu_mpi_task_insert(comm, &codelet, STARPU_RW, handles[to], STARPU_R, handles[from], 0);
    if (pruned) /* who does not enter what writes it keeps no copy */
        starpu_mpi_cache_flush(comm, handles[from]);
}

static void bump(void *buffers[], void *arg)
{
    uint64_t *to = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);

    (void)arg;
    for (int i = 0; i < WORDS; i++)
        to[i]++;
}

static struct starpu_codelet bumping = {
    .cpu_funcs = {bump}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "bump"};

/* A tile goes around the ranks, to where a task has written, and main() looks at it. */
/* Sums do not depend on their order; and wait at times. */
static void stir(void *buffers[], void *arg)
{
    uint64_t *to = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const uint64_t *from = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);
    int step;

    starpu_codelet_unpack_args(arg, &step);
    if (slow)
        starpu_sleep(0.0005F);
    for (int i = 0; i < WORDS; i++)
        to[i] += from[i] * (uint64_t)(2 * step + 1);
}

static struct starpu_codelet stirring = {.cpu_funcs = {stir},
                                         .nbuffers = 2,
                                         .modes = {STARPU_RW | STARPU_COMMUTE, STARPU_R},
                                         .name = "stir"};

static void insert_plainly(int step)
{
    int to = step % tiles, other = (to + 1) % tiles;

    insert(getenv("MIXED_ORDER") && step == 5 ? step + 1 : step, getenv("MIXED_PRUNED") != NULL);
    if (getenv("MIXED_PRUNED"))
        return;
    for (int i = 0; i < 4; i++) /* the third is executed elsewhere than where its result belongs */
        starpu_mpi_task_insert(comm, &stirring, STARPU_VALUE, &step, sizeof(step),
                               STARPU_RW | STARPU_COMMUTE, handles[to], STARPU_R,
                               handles[(other + i) % tiles == to ? other : (other + i) % tiles],
                               STARPU_NAME, "stir", STARPU_PRIORITY, i, STARPU_FLOPS, (double)WORDS,
                               STARPU_EXECUTE_ON_NODE,
                               i == 2 ? step % ranks : starpu_mpi_data_get_rank(handles[to]), 0);
    if (step % (ROUND * tiles) == ROUND * tiles - 1)
        starpu_task_wait_for_all(); /* StarPU-MPI 1.3 may hang in its own wait */
    if (step % (ROUND * tiles) == ROUND)
        starpu_mpi_data_migrate(comm, handles[step / ROUND % tiles], step % ranks);
}

static void set(void *buffers[], void *arg)
{
    uint64_t *to = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    int step;

    starpu_codelet_unpack_args(arg, &step);
    starpu_sleep((float)(step % 5) * 0.0005F);
    for (int i = 0; i < WORDS; i++)
        to[i] = (uint64_t)step * (uint64_t)(i + 1);
}

static void swap(void *buffers[], void *arg)
{
    uint64_t *one = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    uint64_t *other = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);

    (void)arg;
    starpu_sleep(0.001F);
    for (int i = 0; i < WORDS; i++) {
        uint64_t word = one[i];
        one[i] = other[i] * 3;
        other[i] = word + 1;
    }
}

static struct starpu_codelet setting = {
    .cpu_funcs = {set}, .nbuffers = 1, .modes = {STARPU_W}, .name = "set"};
static struct starpu_codelet swapping = {
    .cpu_funcs = {swap}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_RW}, .name = "swap"};

static void insert_by_chance(int step, unsigned *seed)
{
    unsigned dice = (unsigned)rand_r(seed) % 64;
    int to = rand_r(seed) % tiles, from = (to + 1 + rand_r(seed) % (tiles - 1)) % tiles;
    bool elsewhere = rand_r(seed) % 4 == 0;
    int node = elsewhere ? rand_r(seed) % 64 % ranks : starpu_mpi_data_get_rank(handles[to]);

    if (dice < 24)
        starpu_mpi_task_insert(comm, &stirring, STARPU_VALUE, &step, sizeof(step),
                               STARPU_RW | STARPU_COMMUTE, handles[to], STARPU_R, handles[from],
                               STARPU_EXECUTE_ON_NODE, node, 0);
    else if (dice < 44)
        starpu_mpi_task_insert(comm, &codelet, STARPU_RW, handles[to], STARPU_R, handles[from],
                               STARPU_EXECUTE_ON_NODE, node, 0);
    else if (dice < 48)
        starpu_mpi_task_insert(comm, &setting, STARPU_VALUE, &step, sizeof(step), STARPU_W,
                               handles[to], STARPU_EXECUTE_ON_NODE, node, 0);
    else if (dice < 54)
        starpu_mpi_task_insert(comm, &swapping, STARPU_RW, handles[to], STARPU_RW, handles[from],
                               STARPU_EXECUTE_ON_NODE, node, 0);
    else if (dice < 58)
        starpu_mpi_data_migrate(comm, handles[to], rand_r(seed) % 64 % ranks);
    else if (dice < 62)
        starpu_mpi_cache_flush(comm, handles[from]);
    else if (dice < 63)
        starpu_task_wait_for_all();
}

/* Tasks that read what main() receives into, and declare no data: MIXED_BLIND; or scratch only:
 * MIXED_BLIND=scratch. */
static const uint64_t *received_into;
static _Atomic uint64_t peeked;
static starpu_data_handle_t room;

static void peek(void *buffers[], void *arg)
{
    (void)buffers;
    (void)arg;
    peeked = peeked * 31 + hash(received_into);
}

static struct starpu_codelet blind = {.cpu_funcs = {peek}, .nbuffers = 0, .name = "blind"};
static struct starpu_codelet blinking = {
    .cpu_funcs = {peek}, .nbuffers = 1, .modes = {STARPU_SCRATCH}, .name = "blinking"};

static void insert_blind(void)
{
    const char *how = getenv("MIXED_BLIND");

    if (how && strcmp(how, "scratch") == 0)
        starpu_task_insert(&blinking, STARPU_SCRATCH, room, 0);
    else if (how)
        starpu_task_insert(&blind, 0);
}

/* Callbacks look at what has come: MIXED_HEARS. */
static _Atomic uint64_t heard_sum;
static _Atomic int heard;

static void note_heard(void *arg)
{
    heard_sum = heard_sum * 31 + hash(arg);
    heard++;
}

static void hear(starpu_data_handle_t own, starpu_data_handle_t got, uint64_t *words)
{
    static int times;
    int before = (rank + ranks - 1) % ranks;

    starpu_mpi_irecv_detached(got, before, ASK_TAG + before, comm, note_heard, words);
    starpu_mpi_isend_detached(own, (rank + 1) % ranks, ASK_TAG + rank, comm, NULL, NULL);
    for (times++; heard < times;)
        starpu_sleep(0.001F);
}

/* What another number of ranks cannot do again: MIXED_TALK. */
static void talk(starpu_data_handle_t own, starpu_data_handle_t got)
{
    starpu_mpi_req request;

    starpu_mpi_isend(own, &request, (rank + 1) % ranks, FIRST_TAG + rank, comm);
    starpu_mpi_recv(got, (rank + ranks - 1) % ranks, FIRST_TAG + (rank + ranks - 1) % ranks, comm,
                    MPI_STATUS_IGNORE);
    starpu_mpi_wait(&request, MPI_STATUS_IGNORE);
}

static void print_tiles(void)
{
    for (int i = 0; i < tiles; i++)
        if (starpu_mpi_data_get_rank(handles[i]) == rank) {
            starpu_data_acquire(handles[i], STARPU_R);
            printf("tile %d: %016llx\n", i,
                   (unsigned long long)hash(
                       (const uint64_t *)starpu_vector_get_local_ptr(handles[i])));
            starpu_data_release(handles[i]);
        }
}

/* A tile goes around the ranks, and main() looks at it. */
static uint64_t pass_on(starpu_data_handle_t own, starpu_data_handle_t got)
{
    starpu_mpi_req request;

    starpu_task_insert(&bumping, STARPU_RW, got, 0);
    starpu_mpi_isend(own, &request, (rank + 1) % ranks, FIRST_TAG + rank, comm);
    starpu_mpi_recv(got, (rank + ranks - 1) % ranks, FIRST_TAG + (rank + ranks - 1) % ranks, comm,
                    MPI_STATUS_IGNORE);
    starpu_mpi_wait(&request, MPI_STATUS_IGNORE);
    return look(got);
}

/* ---- reductions ------------------------------------------------------------------------------ */

static void clear(void *buffers[], void *arg)
{
    (void)arg;
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), 0, WORDS * sizeof(uint64_t));
}

static void sum_up(void *buffers[], void *arg)
{
    uint64_t *to = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const uint64_t *from = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);

    (void)arg;
    for (int i = 0; i < WORDS; i++)
        to[i] += from[i];
}

static struct starpu_codelet clearing = {
    .cpu_funcs = {clear}, .nbuffers = 1, .modes = {STARPU_W}, .name = "clear"};
static struct starpu_codelet summing = {
    .cpu_funcs = {sum_up}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "sum"};
static struct starpu_codelet sharing = {
    .cpu_funcs = {sum_up}, .nbuffers = 2, .modes = {STARPU_REDUX, STARPU_R}, .name = "share"};

/* Of all ranks, and of this one, which is sent. */
static starpu_data_handle_t total, own_sum;

static void register_sums(void)
{
    starpu_data_handle_t *both[] = {&total, &own_sum};

    for (int i = 0; i < 2; i++) {
        bool mine = i == 1 || rank == 0;
        uint64_t *words = calloc(WORDS, sizeof(*words));
        starpu_vector_data_register(both[i], mine ? STARPU_MAIN_RAM : -1,
                                    mine ? (uintptr_t)words : 0, WORDS, sizeof(*words));
        starpu_data_set_reduction_methods(*both[i], &summing, &clearing);
    }
    starpu_mpi_data_register_comm(total, SUM_TAG, 0, comm);
}

static uint64_t reduce(starpu_data_handle_t got)
{
    int before = (rank + ranks - 1) % ranks;

    for (int i = 0; i < tiles; i++)
        starpu_mpi_task_insert(comm, &sharing, STARPU_REDUX, total, STARPU_R, handles[i], 0);
    starpu_mpi_redux_data(comm, total);
    starpu_mpi_task_insert(comm, &codelet, STARPU_RW, handles[0], STARPU_R, total, 0);
    for (int i = 0; i < 3; i++)
        starpu_task_insert(&sharing, STARPU_REDUX, own_sum, STARPU_R, handles[rank], 0);
    starpu_mpi_isend_detached(own_sum, (rank + 1) % ranks, SUM_TAG + 1 + rank, comm, NULL, NULL);
    starpu_mpi_recv(got, before, SUM_TAG + 1 + before, comm, MPI_STATUS_IGNORE);
    return look(got);
}

/* ---- the time, and commuting tasks ----------------------------------------------------------- */

/* What rank 0 was told last, and the sum of that, on the last rank. */
static starpu_data_handle_t told, told_sum;

static void register_clock(void)
{
    starpu_data_handle_t *both[] = {&told, &told_sum};

    for (int i = 0; i < 2; i++) {
        int owner = i == 0 ? 0 : ranks - 1;
        uint64_t *words = calloc(WORDS, sizeof(*words));
        starpu_vector_data_register(both[i], owner == rank ? STARPU_MAIN_RAM : -1,
                                    owner == rank ? (uintptr_t)words : 0, WORDS, sizeof(*words));
        starpu_mpi_data_register_comm(*both[i], CLOCK_TAG + i, owner, comm);
    }
}

static uint64_t tell_time(void)
{
    uint64_t now = rank == 0 ? (uint64_t)starpu_timing_now() : 0;

    starpu_mpi_cache_flush(comm, told);
    if (rank == 0) {
        starpu_data_acquire(told, STARPU_W);
        for (int i = 0; i < WORDS; i++)
            ((uint64_t *)starpu_vector_get_local_ptr(told))[i] = now + (uint64_t)i;
        starpu_data_release(told);
    }
    starpu_mpi_task_insert(comm, &summing, STARPU_RW, told_sum, STARPU_R, told, 0);
    return now;
}

/* The other rank has added what this one remembers. */
static void check_clock(uint64_t sum, int times)
{
    const uint64_t *words;

    starpu_mpi_get_data_on_node(comm, told_sum, 0);
    if (rank > 0)
        return;
    starpu_data_acquire(told_sum, STARPU_R);
    words = (const uint64_t *)starpu_vector_get_local_ptr(told_sum);
    for (int i = 0; i < WORDS; i++)
        if (words[i] != sum + (uint64_t)i * (uint64_t)times) {
            printf("rank 0 was told something else: %d\n", i);
            exit(1);
        }
    starpu_data_release(told_sum);
}

static struct starpu_codelet commuting = {.cpu_funcs = {sum_up},
                                          .nbuffers = 2,
                                          .modes = {STARPU_RW | STARPU_COMMUTE, STARPU_R},
                                          .name = "commute"};

/* ---- tests ----------------------------------------------------------------------------------- */

enum { ASKED_MOST = 40 };

static struct starpu_codelet filling = {
    .cpu_funcs = {bump}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "fill"};

/* Each time that it has not ended main() submits a task; at last another kind fills up, so that
 * results are the same. */
static int poll(starpu_mpi_req *request, starpu_data_handle_t to)
{
    int flag = 0, bumps = 0;

    for (;;) {
        starpu_mpi_test(request, &flag, MPI_STATUS_IGNORE);
        if (flag)
            break;
        if (bumps < ASKED_MOST) {
            starpu_task_insert(&bumping, STARPU_RW, to, 0);
            bumps++;
        }
        starpu_sleep(0.001);
    }
    for (int i = bumps; i < ASKED_MOST; i++)
        starpu_task_insert(&filling, STARPU_RW, to, 0);
    return flag;
}

static uint64_t ask(starpu_data_handle_t own, starpu_data_handle_t got, starpu_data_handle_t pile)
{
    int before = (rank + ranks - 1) % ranks;
    starpu_mpi_req sent, received;
    uint64_t sum;

    starpu_mpi_irecv(got, &received, before, ASK_TAG + before, comm);
    starpu_mpi_isend(own, &sent, (rank + 1) % ranks, ASK_TAG + rank, comm);
    sum = (uint64_t)poll(&received, pile) + (uint64_t)poll(&sent, pile);
    starpu_data_acquire(got, STARPU_R);
    sum += hash((const uint64_t *)starpu_vector_get_local_ptr(got));
    starpu_data_release(got);
    return sum;
}

/* ---- communicators --------------------------------------------------------------------------- */

/* Ranks have other numbers in it. */
static void use_turned_world(void)
{
    MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &comm);
    starpu_mpi_comm_rank(comm, &rank);
}

/* Two messages of one tag and the same ranks go by two communicators, and are received in the other
 * order. */
static uint64_t cross(starpu_data_handle_t own, starpu_data_handle_t got)
{
    int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
    int other = rank + ranks < tiles - 1 ? rank + ranks : rank; /* the last tile migrates */
    starpu_mpi_req requests[2];
    uint64_t sums[2];
    MPI_Comm pair[2], none;

    MPI_Comm_dup(comm, &pair[0]);
    MPI_Comm_split(comm, rank > 0 ? 1 : MPI_UNDEFINED, 0, &none);
    MPI_Comm_dup(pair[0], &pair[1]);
    starpu_mpi_isend(own, &requests[0], after, CROSS_TAG, pair[0]);
    starpu_mpi_isend(handles[other], &requests[1], after, CROSS_TAG, pair[1]);
    for (int i = 1; i >= 0; i--) {
        starpu_mpi_recv(got, before, CROSS_TAG, pair[i], MPI_STATUS_IGNORE);
        starpu_data_acquire(got, STARPU_R);
        sums[i] = hash((const uint64_t *)starpu_vector_get_local_ptr(got));
        starpu_data_release(got);
    }
    for (int i = 0; i < 2; i++)
        starpu_mpi_wait(&requests[i], MPI_STATUS_IGNORE);
    if (none != MPI_COMM_NULL) /* others stay with StarPU-MPI, which listens to them */
        MPI_Comm_free(&none);
    return sums[0] * 31 + sums[1];
}

/* ---- callbacks ------------------------------------------------------------------------------- */

/* What goes from rank to rank in a round: own, what came, what came of that, by tag. */
struct relay {
    int round;
    starpu_data_handle_t own, first, second, third;
};

/* StarPU-MPI calls callbacks on its own thread, and on workers. */
static _Atomic int received, returned, sent, tagged;

static void add(void *buffers[], void *arg)
{
    uint64_t *to = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    const uint64_t *from = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[1]);
    int round;

    starpu_codelet_unpack_args(arg, &round);
    for (int i = 0; i < WORDS; i++)
        to[i] += from[i] * (uint64_t)(2 * round + 1);
}

static struct starpu_codelet adding = {
    .cpu_funcs = {add}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "add"};

static void submit_add(starpu_data_handle_t from, int round)
{
    starpu_task_insert(&adding, STARPU_RW, pile, STARPU_R, from, STARPU_VALUE, &round,
                       sizeof(round), 0);
}

static void note_sent(void *arg)
{
    sent += ((struct relay *)arg)->round;
}

static void note_return(void *arg)
{
    const struct relay *relay = arg;

    returned++;
    submit_add(relay->second, 1000 + relay->round);
}

static void note_receive(void *arg)
{
    struct relay *relay = arg;
    int before = (rank + ranks - 1) % ranks;

    received++;
    submit_add(relay->first, relay->round);
    starpu_mpi_isend_detached(relay->first, (rank + 1) % ranks, SECOND_TAG + rank, comm, note_sent,
                              relay);
    starpu_mpi_irecv_detached(relay->second, before, SECOND_TAG + before, comm, note_return, relay);
}

static void note_tag(void *arg)
{
    (void)arg;
    tagged++;
}

static void register_relay(struct relay *relay, int round)
{
    uint64_t *words = malloc(WORDS * sizeof(*words));

    relay->round = round;
    for (int i = 0; i < WORDS; i++)
        words[i] = ((uint64_t)(rank * 1000 + round) << 32) + (uint64_t)i;
    starpu_vector_data_register(&relay->own, STARPU_MAIN_RAM, (uintptr_t)words, WORDS,
                                sizeof(*words));
    starpu_vector_data_register(&relay->first, -1, 0, WORDS, sizeof(*words));
    starpu_vector_data_register(&relay->second, -1, 0, WORDS, sizeof(*words));
    starpu_vector_data_register(&relay->third, -1, 0, WORDS, sizeof(*words));
}

static void begin_relay(struct relay *relay)
{
    int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
    starpu_tag_t task = TAGS + 2 * (starpu_tag_t)relay->round;

    starpu_mpi_irecv_detached(relay->first, before, OWN_TAG + before, comm, note_receive, relay);
    starpu_mpi_isend_detached(relay->own, after, OWN_TAG + rank, comm, note_sent, relay);
    starpu_tag_declare_deps(task, 1, task + 1);
    starpu_mpi_irecv_detached_unlock_tag(relay->third, before, TAGS + before, comm, task + 1);
    starpu_mpi_isend_detached(handles[rank], after, TAGS + rank, comm, NULL, NULL);
    starpu_task_insert(&codelet, STARPU_RW, relay->third, STARPU_R, relay->own, STARPU_TAG, task,
                       STARPU_CALLBACK, note_tag, 0);
    submit_add(relay->third, 2000 + relay->round);
}

/* MIXED_LATE=PATH: no rank enters an insertion, or sends, before this file is there. */
static void await_line(void)
{
    const char *path = getenv("MIXED_LATE");

    while (path && access(path, F_OK) != 0)
        starpu_sleep(0.001F);
}

/* The largest number behind the prefix of a file in the directory, or 0. */
static int largest(const char *path, const char *prefix)
{
    DIR *directory = path ? opendir(path) : NULL;
    const struct dirent *entry;
    int found = 0;

    while (directory && (entry = readdir(directory)))
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            atoi(entry->d_name + strlen(prefix)) > found)
            found = atoi(entry->d_name + strlen(prefix));
    if (directory)
        closedir(directory);
    return found;
}

static int newest_line(void)
{
    return largest(getenv("STARPU_TIC_DIR"), "job-line-");
}

static int first_line; /* the newest before the ranks begin */

/* The line that all ranks wait for at this place, which rank 0 says: the one after the newest. */
static int wanted_line(int place)
{
    char prefix[64], name[96];
    int line;

    snprintf(prefix, sizeof(prefix), "wanted-%d-%d-", first_line, place);
    if (rank == 0) {
        snprintf(name, sizeof(name), "%s%d", prefix, newest_line() + 1);
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
    while ((line = largest(".", prefix)) == 0)
        starpu_sleep(0.001F);
    return line;
}

/* Of an earlier start from the same line. */
static void forget_wanted(void)
{
    char name[96];

    for (int place = 0; place <= 20; place++)
        for (int line = 1; line <= 60; line++) {
            snprintf(name, sizeof(name), "wanted-%d-%d-%d", first_line, place, first_line + line);
            unlink(name);
        }
}

/* MIXED_LINES=FIRST-LAST: after each of these twentieths of the steps main() waits for another job
 * line. A run that is killed at one of these lines has not ended, however short it is. The replay
 * of a restart takes no lines: FIRST is to be behind it. All ranks wait for the same line: one that
 * went on while another one waits may send what the line waits for. */
static void await_lines(int step)
{
    static int first, last;
    const char *range = getenv("MIXED_LINES");
    const int twentieth = steps / 20;

    if (step == 0 && range)
        sscanf(range, "%d-%d", &first, &last);
    if (last == 0 || step % twentieth != 0 || step / twentieth < first || step / twentieth > last)
        return;
    const int wanted = wanted_line(step / twentieth);
    while (newest_line() < wanted)
        starpu_sleep(0.001F);
}

/* StarPU-MPI 1.3 does not wait for messages that have come before their receives. */
static void await_returns(int rounds)
{
    while (returned < rounds)
        starpu_sleep(0.001);
    starpu_task_wait_for_all();
}

static void end_relay(struct relay *relay)
{
    starpu_data_unregister(relay->own);
    starpu_data_unregister(relay->first);
    starpu_data_unregister(relay->second);
    starpu_data_unregister(relay->third);
}

/* ---- main ------------------------------------------------------------------------------------ */

int main(int argc, char **argv)
{
    bool calls = argc > 3 && strcmp(argv[3], "callbacks") == 0;
    bool pruned = argc > 3 && strcmp(argv[3], "pruned") == 0;
    bool tests = argc > 3 && strcmp(argv[3], "tests") == 0;
    bool plain = argc > 3 && (strcmp(argv[3], "plain") == 0 || strcmp(argv[3], "random") == 0);
    unsigned seed = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
    bool sums = argc > 3 && strcmp(argv[3], "sums") == 0;
    bool groups = argc > 3 && strcmp(argv[3], "groups") == 0;
    bool clock = argc > 3 && strcmp(argv[3], "clock") == 0;
    bool commutes = argc > 3 && strcmp(argv[3], "commutes") == 0;
    uint64_t told_by_clock = 0;
    int times = 0;
    uint64_t all = 0, seen = 0, *got = calloc(WORDS, sizeof(*got));
    starpu_data_handle_t arrived;

    slow = getenv("MIXED_SLOW") != NULL;
    counts = getenv("MIXED_COUNTS") != NULL;
    steps = argc > 1 ? atoi(argv[1]) : 100;
    tiles = argc > 2 ? atoi(argv[2]) : 6;
    first_line = newest_line();
    if (starpu_init(NULL) != 0 || starpu_mpi_init(&argc, &argv, 1) != 0)
        return 77;
    starpu_mpi_comm_rank(comm, &rank);
    if (rank == 0)
        forget_wanted();
    starpu_mpi_comm_size(comm, &ranks);
    open_executions();
    if (groups)
        use_turned_world();
    if (argc > 3 && strcmp(argv[3], "shared") == 0)
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    memory = calloc((size_t)tiles, sizeof(*memory));
    handles = calloc((size_t)tiles, sizeof(*handles));
    if (argc > 3 && strcmp(argv[3], "pairs") == 0)
        seconds = calloc((size_t)tiles, sizeof(*seconds));
    starpu_vector_data_register(&arrived, STARPU_MAIN_RAM, (uintptr_t)got, WORDS, sizeof(*got));
    register_tiles();
    if (sums)
        register_sums();
    if (clock)
        register_clock();
    int rounds = calls ? steps / ROUND : 0, begun = 0;
    struct relay *relays = calloc((size_t)rounds + 1, sizeof(*relays));
    starpu_vector_data_register(&pile, STARPU_MAIN_RAM, (uintptr_t)calloc(WORDS, sizeof(uint64_t)),
                                WORDS, sizeof(uint64_t));
    for (int i = 0; i < rounds; i++)
        register_relay(&relays[i], i);
    await_line();
    received_into = got;
    starpu_vector_data_register(&room, -1, 0, 1, sizeof(*got));
    insert_blind();
    for (int step = 0; step < steps && plain; step++) {
        await_lines(step);
        if (argc > 4)
            insert_by_chance(step, &seed);
        else if (getenv("MIXED_TALK") && step == steps / 2)
            talk(pile, arrived);
        else
            insert_plainly(step);
    }
    for (int step = 0; step < steps && !plain; step++) {
        await_lines(step);
        insert(step, pruned);
        if (step % (ROUND * tiles) == ROUND * tiles - 1)
            seen = seen * 31 + pass_on(handles[rank], arrived);
        if (step % (ROUND * tiles) == ROUND && getenv("MIXED_BLIND")) {
            talk(handles[rank], arrived);
            insert_blind();
            starpu_task_wait_for_all();
        }
        if (step % (ROUND * tiles) == ROUND && getenv("MIXED_HEARS"))
            hear(handles[rank], arrived, got);
        if (groups && step % (ROUND * tiles) == ROUND * tiles / 2)
            seen = seen * 31 + cross(handles[rank], arrived);
        if (tests && step % (ROUND * tiles / 2) == ROUND * tiles / 4)
            seen = seen * 31 + ask(handles[rank], arrived, pile);
        if (sums && step % (ROUND * tiles / 2) == ROUND * tiles / 4)
            seen = seen * 31 + reduce(arrived);
        if (clock && step % ROUND == 0) {
            told_by_clock += tell_time();
            times++;
        }
        if (commutes && step > steps / 2)
            starpu_task_insert(&commuting, STARPU_RW | STARPU_COMMUTE, pile, STARPU_R,
                               handles[rank], 0);
        if (begun < rounds && step % ROUND == ROUND - 1)
            begin_relay(&relays[begun++]);
        if (step == steps / 2)
            starpu_mpi_data_migrate(comm, handles[tiles - 1], 0);
        if (step == steps / 2 && seconds)
            starpu_mpi_data_migrate(comm, seconds[tiles - 1], 0);
    }
    if (plain)
        starpu_task_wait_for_all();
    else
        starpu_mpi_wait_for_all(comm);
    await_returns(rounds);
    if (clock)
        check_clock(told_by_clock, times);
    if (plain)
        print_tiles();
    for (int i = 0; i < tiles; i++)
        if (starpu_mpi_data_get_rank(handles[i]) == rank) {
            all = all * 31 + look(handles[i]);
            all = seconds ? all * 31 + look(seconds[i]) : all;
        }
    all = all * 31 + look(pile);
    starpu_data_unregister(pile);
    for (int i = 0; i < rounds; i++)
        end_relay(&relays[i]);
    for (int i = 0; i < tiles; i++)
        starpu_data_unregister(handles[i]);
    for (int i = 0; i < tiles && seconds; i++)
        starpu_data_unregister(seconds[i]);
    if (sums) {
        starpu_data_unregister(total);
        starpu_data_unregister(own_sum);
    }
    starpu_data_unregister(arrived);
    starpu_data_unregister(room);
    seen += peeked + heard_sum;
    if (!plain)
        printf("rank %d: %016llx %016llx %d %d %d %d\n", rank, (unsigned long long)all,
               (unsigned long long)seen, received, returned, sent, tagged);
    starpu_mpi_shutdown();
    starpu_shutdown();
    return 0;
}
