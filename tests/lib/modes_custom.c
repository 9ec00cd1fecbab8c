/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The modes custom of tests/lib/modes.c: data with an interface of the program's own, two arrays of
 * different types; with and without a home buffer.
 *
 *   custom         variables of the program
 *   custom-waits   the same, and main() waits for tasks that write them
 *   custom-heap    the same, on the heap
 *   custom-beside  the same, and tasks write a variable that nobody has registered */
#include "lib/modes.h"

enum { ITEMS = 40 };

struct pair { /* the interface, and the bytes of a pack: first all counts, then all marks */
    uint64_t *counts;
    uint8_t *marks;
    unsigned items;
};

static struct pair *pair_on(starpu_data_handle_t handle, unsigned node)
{
    return (struct pair *)starpu_data_get_interface_on_node(handle, node);
}

static size_t counts_size(const struct pair *pair)
{
    return pair->items * sizeof(*pair->counts);
}

static size_t pair_size(starpu_data_handle_t handle)
{
    struct pair *pair = pair_on(handle, STARPU_MAIN_RAM);
    return counts_size(pair) + pair->items;
}

#if STARPU_MAJOR_VERSION == 1 && STARPU_MINOR_VERSION < 4
typedef unsigned home_node_t;
#else
typedef int home_node_t;
#endif

static void register_pair(starpu_data_handle_t handle, home_node_t home_node, void *interface)
{
    for (home_node_t node = 0; node < STARPU_MAXNODES; node++) {
        struct pair *here = pair_on(handle, (unsigned)node), *given = interface;
        *here = (struct pair){.items = given->items};
        if (node == home_node)
            *here = *given;
    }
}

static starpu_ssize_t allocate_pair(void *interface, unsigned node)
{
    struct pair *pair = interface;
    uintptr_t counts = starpu_malloc_on_node(node, counts_size(pair));
    uintptr_t marks = counts ? starpu_malloc_on_node(node, pair->items) : 0;

    if (counts && !marks)
        starpu_free_on_node(node, counts, counts_size(pair));
    if (!marks)
        return -ENOMEM;
    pair->counts = (uint64_t *)counts;
    pair->marks = (uint8_t *)marks;
    return (starpu_ssize_t)(counts_size(pair) + pair->items);
}

static void free_pair(void *interface, unsigned node)
{
    struct pair *pair = interface;
    starpu_free_on_node(node, (uintptr_t)pair->counts, counts_size(pair));
    starpu_free_on_node(node, (uintptr_t)pair->marks, pair->items);
}

static uint32_t pair_footprint(starpu_data_handle_t handle)
{
    return starpu_hash_crc32c_be(pair_on(handle, STARPU_MAIN_RAM)->items, 0);
}

static int compare_pairs(void *one, void *other)
{
    return ((struct pair *)one)->items == ((struct pair *)other)->items;
}

static int pack_pair(starpu_data_handle_t handle, unsigned node, void **to, starpu_ssize_t *size)
{
    struct pair *pair = pair_on(handle, node);

    *size = (starpu_ssize_t)pair_size(handle);
    if (to) {
        *to = (void *)starpu_malloc_on_node_flags(node, (size_t)*size, 0);
        memcpy(*to, pair->counts, counts_size(pair));
        memcpy((char *)*to + counts_size(pair), pair->marks, pair->items);
    }
    return 0;
}

static int unpack_pair(starpu_data_handle_t handle, unsigned node, void *from, size_t size)
{
    struct pair *pair = pair_on(handle, node);
    memcpy(pair->counts, from, counts_size(pair));
    memcpy(pair->marks, (char *)from + counts_size(pair), pair->items);
    starpu_free_on_node_flags(node, (uintptr_t)from, size, 0);
    return 0;
}

static const struct starpu_data_copy_methods no_copy_methods; /* packing does */

static struct starpu_data_interface_ops pair_ops = {.register_data_handle = register_pair,
                                                    .allocate_data_on_node = allocate_pair,
                                                    .free_data_on_node = free_pair,
                                                    .copy_methods = &no_copy_methods,
                                                    .get_size = pair_size,
                                                    .footprint = pair_footprint,
                                                    .compare = compare_pairs,
                                                    .pack_data = pack_pair,
                                                    .unpack_data = unpack_pair,
                                                    .interfaceid = STARPU_UNKNOWN_INTERFACE_ID,
                                                    .interface_size = sizeof(struct pair)};

/* ---- tasks: of the given pair, and of one without a home ------------------------------------- */

static int counts_changes; /* which nobody has registered */

static void change(void *buffers[], void *arg)
{
    struct pair *to = buffers[0], *from = buffers[1];

    (void)arg;
    if (counts_changes > 0)
        __atomic_add_fetch(&counts_changes, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < to->items; i++) {
        to->counts[i] = from->counts[i] * 31 + from->marks[(i + 1) % ITEMS] + 1;
        to->marks[i] = (uint8_t)(to->counts[i] >> 17);
    }
}

static struct starpu_codelet change_codelet = {
    .cpu_funcs = {change}, .nbuffers = 2, .modes = {STARPU_W, STARPU_R}, .name = "change"};

static void run(struct pair given, int waits)
{
    struct pair none = {NULL, NULL, ITEMS};
    starpu_data_handle_t home, homeless;

    pair_ops.interfaceid = starpu_data_interface_get_next_id();
    starpu_data_register(&home, STARPU_MAIN_RAM, &given, &pair_ops);
    starpu_data_register(&homeless, -1, &none, &pair_ops);
    for (int number = 0; number < LENGTH; number++) {
        must(starpu_task_insert(&change_codelet, STARPU_W, homeless, STARPU_R, home, 0));
        must(starpu_task_insert(&change_codelet, STARPU_W, home, STARPU_R, homeless, 0));
        submit_step(0, number);
        if (waits && number % 20 == 19)
            must(starpu_task_wait_for_all());
    }
    starpu_data_unregister(homeless);
    starpu_data_unregister(home);
    for (unsigned i = 0; i < ITEMS; i++)
        count(given.counts[i] * (2 * i + 1) + given.marks[i]);
}

static uint64_t own_counts[ITEMS];
static uint8_t own_marks[ITEMS];

void run_custom(void)
{
    run((struct pair){own_counts, own_marks, ITEMS}, 0);
}

void run_custom_waits(void)
{
    run((struct pair){own_counts, own_marks, ITEMS}, 1);
}

static void run_on_heap(void)
{
    static struct pair given; /* leads to the arrays */

    given = (struct pair){calloc(ITEMS, sizeof(*given.counts)), calloc(ITEMS, 1), ITEMS};
    must(given.counts && given.marks ? 0 : -ENOMEM);
    run(given, 1);
    free(given.counts);
    free(given.marks);
}

void run_custom_heap(void)
{
    run_on_heap();
}

void run_custom_beside(void)
{
    counts_changes = 1;
    run_on_heap();
}
