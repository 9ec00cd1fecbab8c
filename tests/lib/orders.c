/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU programs of a few tasks, each about one order that StarPU promises and that a wrapper or a
 * restart may break: who holds what while others wait, what comes before a callback, a fold or an
 * access. The argument names one; they are in the tables of the files orders_*.c. The result
 * depends on that order and not on the scheduling. */
#include "lib/orders.h"

enum { SCENARIOS = 250 };

static struct mode all[SCENARIOS + 1];
static int many;

static void add(const struct mode *table)
{
    for (; table->name; table++) {
        must(many < SCENARIOS ? 0 : -1);
        all[many++] = *table;
    }
}

int main(int argc, char **argv)
{
    add(orders_access);
    add(orders_alias);
    add(orders_callbacks);
    add(orders_children);
    add(orders_ends);
    add(orders_held);
    add(orders_inside);
    add(orders_late);
    add(orders_looks);
    add(orders_parts);
    add(orders_reductions);
    add(orders_threads);
    return steps_main(argc, argv, all);
}
