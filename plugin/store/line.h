/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A recovery line in memory: what one line file holds. Names on disk are in schema.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/layout.h"
#include "base/order.h"

#define TIC_NO_EXTENT UINT32_MAX

enum {
    TIC_SIGNATURE_BLOCK = 8192,    /* signatures in a block */
    TIC_SIGNATURE_BLOCKS = 262144, /* 2^31 submissions, as many as a task number can hold */
};

/* Tables whose entries may lie in blocks. The numbers are on disk. */
enum tic_table_number {
    TIC_TABLE_SIGNATURES = 1,
    TIC_TABLE_VALUES = 2,
    TIC_TABLE_ACQUIRES = 3,
    TIC_TABLE_INPUTS = 4,
    TIC_TABLE_EVENTS = 5,
    TIC_TABLE_READS = 6,
    TIC_TABLE_CALLBACKS = 7,
    TIC_TABLE_SPAWNED = 8,
    TIC_TABLE_KEPT_WRITES = 9,
    TIC_TABLE_LOOKS = 10,
    TIC_TABLE_RAN = 11,
    TIC_TABLE_HISTORY = 12,
    TIC_TABLES = 13, /* one above the last */
};

/* Entries of tables of plain numbers. */
struct tic_number32 {
    uint32_t number;
};
struct tic_number64 {
    uint64_t number;
};

/* Done tasks first..last, both included. */
struct tic_range {
    uint64_t first, last;
};

/* One payload dataset of a segment file: `rows` rows of `row_bytes` from byte `offset` on. If they
 * may be compressed, `keys` is the offset of the first row's key, see payload.h; else 0. */
struct tic_line_extent {
    uint64_t segment; /* number of the segment file */
    uint32_t dataset; /* number of the dataset in it */
    uint32_t element_size;
    uint32_t ndim;
    uint64_t dims[TIC_MAX_DIMS];
    uint64_t rows;
    uint64_t offset;
    uint64_t keys;
    uint64_t type; /* of the elements, as somebody declared them: base/types.h */
};

/* The shape of its rows. */
static inline struct tic_shape tic_line_extent_shape(const struct tic_line_extent *extent)
{
    struct tic_shape shape = {.element_size = extent->element_size, .ndim = extent->ndim};

    for (unsigned i = 0; i < TIC_MAX_DIMS; i++)
        shape.dims[i] = extent->dims[i];
    shape.type = extent->type;
    return shape;
}

/* The value of one handle at the cut. */
struct tic_line_value {
    uint64_t id;       /* handle id */
    uint64_t version;  /* how many writes made it */
    uint64_t checksum; /* XXH3-64 of the row */
    uint32_t extent;   /* index into extents */
    uint32_t row;
    uint32_t gone; /* 1: main() unregistered the handle and may read its memory */
};

/* The hash of what a handle held when it was first read; or of what a task of main() has written
 * into data that no line holds. */
struct tic_line_input {
    uint64_t id; /* of the handle, or as below */
    uint64_t hash;
};

#define TIC_LINE_INPUT_OF_TASK (UINT64_C(1) << 63)
enum { TIC_LINE_INPUT_BUFFERS = 1 << 16 }; /* of a task; others are not compared */

static inline uint64_t tic_line_input_of_task(uint64_t sequence, unsigned buffer)
{
    return TIC_LINE_INPUT_OF_TASK | sequence * TIC_LINE_INPUT_BUFFERS | buffer;
}

/* An access of main() to data that tasks wrote, in program order, and what it read. */
enum { TIC_ACQUIRE_UNPARTITION = 2 }; /* main() unpartitions the handle */

struct tic_line_acquire {
    uint64_t id;       /* handle id */
    uint32_t writes;   /* 1: main() may write; TIC_ACQUIRE_UNPARTITION: no access, see there */
    uint32_t recorded; /* 1: the value that it read is in the row below */
    uint64_t checksum;
    uint32_t extent;
    uint32_t row;
};

/* A nondeterministic event of main(), in program order. */
struct tic_line_event {
    uint32_t kind; /* enum tic_event */
    int64_t value;
};

/* Entries of a table, kept in a payload row. */
struct tic_line_block {
    uint32_t table; /* enum tic_table_number */
    uint32_t count; /* of entries */
    uint32_t extent;
    uint32_t row;
    uint64_t checksum;
};

/* What a task that writes no handle read, if tasks had written it: such a task is executed again in
 * a restart, with the same data. */
struct tic_line_read {
    uint64_t task;   /* key */
    uint32_t buffer; /* number of the access */
    uint32_t extent;
    uint32_t row;
    uint64_t checksum;
};

/* Some bytes of a datum as main() could see them, by its pointer, when it came back from a wait. */
#define TIC_LOOK_CALLBACK (UINT64_C(1) << 63) /* beside the keys of tasks whose callbacks look */
enum { TIC_LOOK_WORDS = 5, TIC_LOOK_BYTES = 8 * TIC_LOOK_WORDS };
/* Instead of a handle: what is not named for this wait was not compared with the wait before. */
#define TIC_LOOK_PARTIAL UINT64_MAX
/* Instead of a wait: what small data with addresses held when it was first used. */
#define TIC_LOOK_FIRST (UINT64_MAX - 1)
/* The same: a task had put an address, this word, into the datum. */
#define TIC_LOOK_LEFT (UINT64_MAX - 2)
/* Instead of a handle: the arguments of the task with this key, as its kernel left them. */
#define TIC_LOOK_ARGUMENTS (UINT64_MAX - 1)
struct tic_line_look {
    uint64_t wait;                  /* number of the wait, from 1; or key of a task, see above */
    uint64_t id;                    /* handle id */
    uint32_t part;                  /* bytes from part * TIC_LOOK_BYTES on */
    uint32_t bytes;                 /* of the whole datum, packed; 0: as it was looked at last */
    uint64_t words[TIC_LOOK_WORDS]; /* the bytes, as they lie in memory */
};

/* Instead of the key of a task without a kernel that main() has not submitted: who submits it
 * submits it again in a restart, where StarPU calls its callback and its prologues, which differ
 * from it as those of other tasks do. */
#define TIC_CALLBACK_UNKNOWN UINT64_MAX
static inline bool tic_callback_is_unknown(uint64_t key)
{
    return (key | UINT64_C(3) << 60) == TIC_CALLBACK_UNKNOWN;
}

/* When the callback of a task ran: up to format 7.2. */
struct tic_line_callback {
    uint64_t task;  /* key */
    uint64_t clock; /* operations of main() on tasks and data begun by then */
};

/* A position of main() is how many operations it has begun, and in the lower bits the waits since.
 */
enum { TIC_WAIT_BITS = 16 };

/* What the history of a run holds (history/history.h). The numbers are on disk. */
enum tic_history_kind {
    TIC_HISTORY_BEGIN = 1,   /* the actor begins */
    TIC_HISTORY_END = 2,     /* it has returned; of kernels: or somebody saw that it has */
    TIC_HISTORY_VALUE = 3,   /* it may look at the datum `subject`; of kernels, by access `part` */
    TIC_HISTORY_RETURN = 4,  /* a call of main() that waits for tasks returns */
    TIC_HISTORY_RELEASE = 5, /* main() gives the datum `subject` back */
    TIC_HISTORY_BYTES = 6,   /* `actor` is as in /looks, and looked at the datum `subject` */
    TIC_HISTORY_INPUT = 7,   /* what `subject`, as in /inputs, held is known by its hash */
    TIC_HISTORY_MERGE = 8,   /* main() has unpartitioned the datum `subject` */
    TIC_HISTORY_CALL = 9,    /* it makes a call by which others may go on; of main(): inside of
                                which callbacks may run */
    TIC_HISTORY_CALLED = 10, /* it has come back from one inside of which callbacks may run */
    TIC_HISTORY_KINDS,
};

enum tic_history_role {
    TIC_HISTORY_MAIN = 0,     /* its actor is 0 */
    TIC_HISTORY_CALLBACK = 1, /* its actor is a key: FORMAT.md */
    TIC_HISTORY_KERNEL = 2,   /* its actor is the key of a task */
    TIC_HISTORY_RESULT = 3,   /* the same: BEGIN, it has changed its arguments */
    TIC_HISTORY_ROLES,
};

/* The part of a BEGIN: inside the call of main() that submitted the task, or asked for the access.
 */
enum { TIC_HISTORY_NESTED = 1 };
/* Inside such a call of main(), or of the callback `subject`: who made it waits for its end. */
enum { TIC_HISTORY_IN_CALL_OF_MAIN = 4, TIC_HISTORY_IN_CALL = 8 };
/* Beside it, in histories that were made of tables (history/history.h) and are on no disk: whoever
 * redoes it goes on where nobody comes to the actor, which begins when somebody does. */
enum { TIC_HISTORY_OPTIONAL = 2 };

struct tic_line_entry {
    uint64_t position; /* of main() then */
    uint64_t actor;
    uint64_t subject;
    uint32_t kind; /* enum tic_history_kind */
    uint32_t role; /* enum tic_history_role */
    uint32_t part; /* 0, or as the kind says */
};

/* A task that another task submitted, and that a restart must submit in its place. */
enum tic_kept_flag {
    TIC_KEPT_TAG = 1,     /* it has a tag */
    TIC_KEPT_CONTROL = 2, /* its tag or callback is needed even when it is done */
    TIC_KEPT_DONE = 4,    /* it is done: only a control task is left of it */
    TIC_KEPT_AGAIN = 8,   /* it writes no handle: executed again in each restart */
    TIC_KEPT_FREE = 16,   /* no sequential consistency */
};
struct tic_line_kept {
    uint64_t root; /* key of the task in whose place it is submitted */
    uint64_t id;
    uint64_t tag;
    uint64_t callback_argument;
    int64_t priority;
    uint32_t codelet;   /* number in functions */
    uint32_t callback;  /* number in functions, or UINT32_MAX */
    uint32_t flags;     /* enum tic_kept_flag */
    uint32_t buffers;   /* how many entries of buffers are its own, one task after the other */
    uint32_t arguments; /* how many of bytes */
};
enum { TIC_MODE_WRITE = 2 }; /* a bit of the mode, the same in all versions of StarPU */
struct tic_line_buffer {
    uint64_t handle; /* id */
    uint32_t mode;   /* as StarPU numbers them */
    uint32_t free;   /* 1: no sequential consistency for this access */
};

/* Done kept tasks of this root have written the handle. */
struct tic_line_kept_write {
    uint64_t root;   /* key */
    uint64_t handle; /* id */
};

/* What the runs of a store took so far. */
struct tic_account {
    uint64_t runs;
    uint64_t spent, lost; /* nanoseconds; of these: between lines, or results, and deaths */
    uint64_t stored, checkpoints, logged; /* bytes of values; lines; records of the event log */
    uint64_t period;        /* nanoseconds: between checkpoints, as asked for; 0: not known */
    uint64_t cost, latency; /* nanoseconds: of checkpoints before the line; 0: not known */
};

/* Where in the event log what extends the line begins (recovery/extend.h). */
struct tic_line_log {
    uint64_t tick;  /* 1 + ticks that had passed when its cut was raised; 0: nothing extends it */
    uint64_t epoch; /* the last of its cut */
    uint64_t position; /* where main() was (snapshot/extension.h) */
};

/* Texts, each ended by '\0'. */
struct tic_line_text {
    char *text;
    size_t size;
};

struct tic_line_bytes {
    unsigned char *items;
    size_t count;
};

/* What is known beside the graph: schema.h has the entries. */
struct tic_line_known {
    struct tic_line_text files; /* that main() had read */
    struct tic_line_text names; /* of data: data_names.h */
};

/* The commit point at which main() was at the cut (starpu_tic.h). A restart runs main() up to its
 * first commit point, and goes on there with the numbers and variables that it had at this one. */
struct tic_line_point {
    uint64_t number;     /* of the call, from 1; 0: the line is of no commit point */
    uint64_t task;       /* at the first commit point: submissions of main(), */
    uint64_t signature;  /* their signature, all 64 bits, */
    uint64_t handle;     /* registrations, */
    uint64_t registered; /* and a hash of the data that was registered */
    uint64_t now_task, now_signature, now_handle; /* the same at the cut */
    uint64_t now_event, now_chain;                /* events by then, and their hash */
    struct tic_line_text names;  /* its place in the program; then of each variable: bytes, name */
    struct tic_line_bytes bytes; /* of these variables, one after the other */
};

/* What of a line means something else on other machines: identities of tasks that callbacks and
 * threads submit depend on the size of words, the byte order, the build of the program. */
enum tic_bound { TIC_BOUND_WORDS = 1, TIC_BOUND_ORDER = 2, TIC_BOUND_BUILD = 4 };

/* The machine whose run wrote a line. */
struct tic_line_machine {
    uint64_t big_endian;    /* 1: its values are */
    uint64_t pointer_bytes; /* 0: not known */
    uint64_t machine_bound; /* sum of enum tic_bound */
    uint64_t words_mixed;   /* 1: runs with pointers of different sizes have written signatures */
    char *machine;          /* architecture; empty: not known */
    struct tic_line_text types; /* names of types */
    uint32_t *extent_types;     /* of each extent: number among these, from 1; 0: not declared */
    size_t extent_type_count;
};
/* The machine that we are on. */
const char *tic_machine_name(void);
bool tic_machine_is_big_endian(void);

/* What its file says of a line. */
struct tic_line_file {
    uint64_t bytes;           /* as far as this process knows */
    uint64_t without_history; /* 1: of a run that began in a version that had none */
    uint64_t rerun_off;       /* 1: of a run with STARPU_TIC_RERUN=0 */
};

/* Of the tables of enum tic_table_number, a line in its file has those entries that lie in no block
 * (the tail); a complete line (tic_store_complete) has all, those in blocks first. */
struct tic_line {
    struct tic_line_file file;
    uint64_t number;
    uint64_t process;
    double created; /* seconds since 1970 */
    uint64_t workers;
    uint64_t tasks_submitted;
    uint64_t tasks_done;
    uint64_t clock;     /* operations of main() begun at the cut: values are those of the begin of
                           the last of them */
    uint64_t waits;     /* of main() begun since then: these count, too, as operations */
    uint64_t verified;  /* 1: main() was at clock and waits; 0 in some lines up to 0.2 */
    uint64_t quiescent; /* 1: no task ran at the cut, and main() was inside a call */
    uint64_t arguments_compared; /* 1: its signatures tell of arguments, too */
    uint64_t
        unregistered_writes; /* 1: done tasks have written memory that is not registered data */
    uint64_t kept_done;      /* of these: tasks that a restart need not submit at all */
    struct tic_line_machine on;
    struct tic_account account; /* with the run and the line itself */
    struct tic_line_log log;
    char *version; /* of starpu-tic */
    char *starpu;  /* major.minor */
    char *host;
    char *program;   /* file name of the executable */
    char *directory; /* working directory */
    char *build;     /* tells builds of the executable apart; empty: not known */
    char *input;     /* hash of the standard input that was read; empty: none, or not known */
    struct tic_line_text arguments; /* argv[1..] */

    struct tic_line_extent *extents;
    size_t extent_count;
    struct tic_line_value *values; /* ascending id */
    size_t value_count;
    struct tic_range *done; /* of the main context */
    size_t done_count;
    struct tic_line_input *inputs;
    size_t input_count;
    struct tic_line_acquire *acquires;
    size_t acquire_count;
    struct tic_line_event *events;
    size_t event_count;
    struct tic_line_block *blocks; /* in the order of their entries, table by table or mixed */
    size_t block_count;
    struct tic_line_read *reads; /* in no order, but nothing twice */
    size_t read_count;
    struct tic_line_look *looks; /* wait by wait */
    size_t look_count;
    struct tic_line_entry *history; /* in its order */
    size_t history_count;
    /* Of formats up to 7.2, until it is complete: */
    uint64_t *ran; /* keys of tasks that write no content and began, each at least once */
    size_t ran_count;
    struct tic_line_callback *callbacks; /* as they ran; of a task the first counts */
    size_t callback_count;
    uint64_t *spawned; /* identities of done replayed tasks, each once */
    size_t spawned_count;
    struct tic_line_kept *kept; /* in order of submission */
    size_t kept_count;
    struct tic_line_kept_write *kept_writes; /* each once */
    size_t kept_write_count;
    struct tic_line_buffer *buffers; /* of kept tasks */
    size_t buffer_count;
    struct tic_line_bytes bytes; /* arguments of kept tasks */
    struct tic_line_point point;
    struct tic_line_text functions; /* names */
    struct tic_line_known known;
    uint32_t *signatures;
    size_t signature_count;
};

/* Where main() was at the cut. */
static inline uint64_t tic_line_position(const struct tic_line *line)
{
    return line->clock << TIC_WAIT_BITS | line->waits;
}

/* A payload row that an entry of a line refers to. */
struct tic_line_reference {
    const char *table; /* path in the file */
    size_t index;      /* of the entry in it */
    uint64_t id;       /* of values and accesses: the handle; of reads: the key of the task */
    uint32_t *extent, *row;
    uint64_t checksum;
};
typedef int (*tic_line_visit)(void *arg, const struct tic_line_reference *reference);
/* Calls visit for each, until one call is not 0: then that. */
int tic_line_each(const struct tic_line *line, tic_line_visit visit, void *arg);

/* Orders of entries. */
int tic_line_by_number(const void *a, const void *b);      /* u64, or entries that begin with one */
int tic_line_by_two_numbers(const void *a, const void *b); /* entries that begin with two u64 */
int tic_line_by_read(const void *a, const void *b);        /* task, buffer */

/* What tables of formats up to 7.2 tell of who began becomes entries of the history, if that has
 * none, and they are of no later than the cut. Of a complete line. 0 or -ENOMEM. */
int tic_line_adopt_begun(struct tic_line *line);
/* Copies the tables that tell which rows the line refers to, and its number. 0 or -ENOMEM. */
int tic_line_clone_rows(const struct tic_line *line, struct tic_line *clone);

/* Frees what a line owns, not the line itself; it is empty afterwards. */
/* Between the numbers of types in this process, in extents, and names in the line. 0, -ENOMEM, or
 * -EBADMSG when they do not fit. */
int tic_line_name_types(struct tic_line *line);
int tic_line_find_types(struct tic_line *line);
void tic_line_clear(struct tic_line *line);
/* Is it in /done? Any thread. */
bool tic_line_is_done(const struct tic_line *line, uint64_t sequence);
