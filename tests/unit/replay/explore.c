/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All orders of events of a program: depth first over the choices of its runs. */
#include "explore.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "board.h"
#include "image.h"
#include "starpu_tic.h"

enum { MOST_KILLS = 3 };

static struct {
    const struct tic_program *program;
    struct tic_board *board; /* shared with the process that runs */
    char messages[128];      /* file with what the last run wrote to standard error */
    char base[96];           /* directory of all files */
    uint64_t right[TIC_RESULT_WORDS];
    unsigned tasks; /* of the program */
    unsigned more;  /* preemptions */
    struct tic_explored *explored;
    char paths[MOST_KILLS + 1][TIC_BOARD_CHOICES * 3]; /* choices of the runs before, as text */
    uint64_t *seen;                                    /* hashes of stores */
    unsigned long seen_count;
} now;

/* ---- runs ------------------------------------------------------------------------------------ */

static void give_up(const char *what)
{
    perror(what);
    exit(99);
}

/* The status of the process; or 1000 + signal. */
static int run(enum tic_phase phase)
{
    int status;

    now.board->phase = phase;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        give_up("fork");
    if (child == 0) {
        if (!now.board->traces && !freopen(now.messages, "w", stderr))
            _exit(99);
        setvbuf(stderr, NULL, _IONBF, 0);
        tic_board_run(now.board, now.program);
    }
    if (waitpid(child, &status, 0) != child)
        give_up("waitpid");
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Each run is a copy of this process, and need not load HDF5. */
static void load_store_module(void)
{
    static const char *const places[] = {"tic-store.so", "starputic/tic-store.so"};
    char path[512];
    Dl_info library;
    static void *module;

    if (!dladdr((void *)starpu_tic_get_version, &library))
        return;
    int folder = (int)(strrchr(library.dli_fname, '/') - library.dli_fname);
    for (size_t i = 0; !module && i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "%.*s/%s", folder, library.dli_fname, places[i]);
        module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    }
}

static void prepare(const struct tic_program *program)
{
    const char *base = getenv("TMPDIR");

    load_store_module();

    now.program = program;
    now.seen_count = 0;
    snprintf(now.base, sizeof(now.base), "%s/tic-replay-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(now.base))
        give_up(now.base);
    now.board =
        mmap(NULL, sizeof(*now.board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (now.board == MAP_FAILED)
        give_up("mmap");
    snprintf(now.messages, sizeof(now.messages), "%s/messages", now.base);
    snprintf(now.board->directory, sizeof(now.board->directory), "%s/store", now.base);
    now.board->kill_anywhere = program->kill_anywhere;
    now.board->lines = program->lines;
}

static void clean_up(void)
{
    tic_image_clear(now.board->directory);
    unlink(now.messages);
    rmdir(now.base);
    munmap(now.board, sizeof(*now.board));
    free(now.seen);
    now.seen = NULL;
}

/* ---- choices --------------------------------------------------------------------------------- */

static unsigned cost_of(const struct tic_choice *choice, unsigned made)
{
    return choice->preempts && made > 0 && made < choice->threads;
}

/* The choices of the next run, after those of the last one: false when there are none left. */
static bool advance(unsigned preemptions)
{
    struct tic_board *board = now.board;
    unsigned costs[TIC_BOARD_CHOICES + 1] = {0};

    for (unsigned i = 0; i < board->count; i++)
        costs[i + 1] = costs[i] + cost_of(&board->choices[i], board->choices[i].made);
    for (unsigned i = board->count; i-- > 0;) {
        const struct tic_choice *choice = &board->choices[i];
        unsigned next = choice->made + 1u;
        while (next < choice->count && costs[i] + cost_of(choice, next) > preemptions)
            next++;
        if (next >= choice->count)
            continue;
        for (unsigned k = 0; k < i; k++)
            board->given[k] = board->choices[k].made;
        board->given[i] = next;
        board->given_count = i + 1;
        return true;
    }
    return false;
}

/* Trailing zeros are what later choices are anyway. */
static void print_choices(char *text, size_t size)
{
    const struct tic_board *board = now.board;
    unsigned count = board->count;
    size_t used = 0;

    while (count > 0 && board->choices[count - 1].made == 0)
        count--;
    text[0] = '\0';
    for (unsigned i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%u", i ? "." : "",
                                 board->choices[i].made);
}

static const char *read_choices(const char *text)
{
    struct tic_board *board = now.board;
    char *end;

    board->given_count = 0;
    while (*text && *text != '/') {
        board->given[board->given_count++] = (unsigned)strtoul(text, &end, 10);
        text = *end == '.' ? end + 1 : end;
    }
    return *text ? text + 1 : text;
}

/* ---- judgement ------------------------------------------------------------------------------- */

static void print_messages(void)
{
    FILE *messages = fopen(now.messages, "r");
    char line[400];

    while (messages && fgets(line, sizeof(line), messages))
        printf("# %s", line);
    if (messages)
        fclose(messages);
}

static void print_result(const char *what, const uint64_t *result)
{
    printf("# %s:", what);
    for (unsigned i = 0; i < TIC_RESULT_WORDS; i++)
        printf(" %llx", (unsigned long long)result[i]);
    printf("\n");
}

static bool is_right(int status)
{
    return status == 0 && now.board->finished &&
           memcmp(now.board->result, now.right, sizeof(now.right)) == 0;
}

/* level: of the run that failed. */
static void print_failure(int status, unsigned level)
{
    print_choices(now.paths[level], sizeof(now.paths[level]));
    printf("# %s: status %d%s. To repeat it: TIC_REPLAY=%s", now.program->name, status,
           now.board->finished ? "" : ", not finished", now.program->name);
    for (unsigned i = 0; i <= level; i++)
        printf("/%s", now.paths[i]);
    printf("\n");
    print_result("is", now.board->result);
    print_result("should be", now.right);
    print_messages();
}

/* ---- exploration ----------------------------------------------------------------------------- */

static bool find_right(void)
{
    now.board->given_count = 0;
    int status = run(TIC_PLAIN);

    memcpy(now.right, now.board->result, sizeof(now.right));
    now.tasks = now.board->executed;
    if (!is_right(status))
        print_failure(status, 0);
    return is_right(status);
}

static bool is_new(uint64_t hash)
{
    for (unsigned long i = 0; i < now.seen_count; i++)
        if (now.seen[i] == hash)
            return false;
    now.seen = realloc(now.seen, (now.seen_count + 1) * sizeof(*now.seen));
    if (!now.seen)
        give_up("realloc");
    now.seen[now.seen_count++] = hash;
    return true;
}

static bool explore_from(const struct tic_image *image, unsigned level);

/* All restarts from what the last run left, unless another one has left the same. Keeps the choices
 * of that run. */
static bool explore_restarts(unsigned level)
{
    struct tic_image *image = tic_image_read(now.board->directory);
    struct tic_board *board = malloc(sizeof(*board));
    bool right = true;

    if (!board)
        give_up("malloc");
    *board = *now.board;
    if (is_new(tic_image_hash(image) + level)) {
        now.explored->stores++;
        print_choices(now.paths[level], sizeof(now.paths[level]));
        right = explore_from(image, level + 1);
    }
    *now.board = *board;
    free(board);
    tic_image_free(image);
    return right;
}

static bool judge_last(int status)
{
    now.explored->restarts++;
    now.explored->executed += now.board->executed;
    now.explored->tasks += now.tasks;
    return is_right(status);
}

/* All runs after `level` kills; image: what they start from, NULL: nothing. */
static bool explore_from(const struct tic_image *image, unsigned level)
{
    bool last = level == now.program->kills, right;
    unsigned preemptions =
        level == 0 ? now.program->record_preemptions : now.program->restart_preemptions;

    now.board->given_count = 0;
    do {
        if (image)
            tic_image_write(image, now.board->directory);
        else
            tic_image_clear(now.board->directory);
        int status = run(last ? TIC_RESTART : TIC_RECORD);
        now.explored->runs += !last;
        if (last)
            right = judge_last(status);
        else
            right = now.board->killed || is_right(status);
        if (!right)
            print_failure(status, level);
        else if (now.board->killed)
            right = explore_restarts(level);
    } while (right && advance(preemptions + now.more));
    return right;
}

bool tic_explore(const struct tic_program *program, unsigned more, struct tic_explored *explored)
{
    memset(explored, 0, sizeof(*explored));
    prepare(program);
    now.explored = explored;
    now.more = more;
    bool right = find_right() && explore_from(NULL, 0);
    clean_up();
    return right;
}

bool tic_explore_one(const struct tic_program *program, const char *schedule)
{
    unsigned level = 0;
    int status;

    prepare(program);
    bool right = find_right();
    now.board->traces = true;
    do {
        schedule = read_choices(schedule);
        fprintf(stderr, level == 0 ? "recorded run\n" : "restart %u\n", level);
        status = run(level < program->kills ? TIC_RECORD : TIC_RESTART);
    } while (now.board->killed && level++ < program->kills);
    right = right && is_right(status);
    if (!right)
        print_failure(status, 0);
    clean_up();
    return right;
}
