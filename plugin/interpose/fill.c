/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interpose/fill.h"

#include <stdlib.h>

#include "interpose/release.h"
#include "real/real.h"

struct fill {
    starpu_data_handle_t data;
    void (*write)(void *arg, void *interface);
    void *arg;
};

static void granted(void *arg)
{
    struct fill *fill = arg;

    if (fill->write)
        fill->write(fill->arg,
                    tic_real.starpu_data_get_interface_on_node(fill->data, STARPU_MAIN_RAM));
    tic_release(fill->data, STARPU_MAIN_RAM);
    free(fill);
}

bool tic_fill_submit(starpu_data_handle_t data, void (*write)(void *arg, void *interface),
                     void *arg)
{
    struct fill *fill = malloc(sizeof(*fill));

    if (!fill)
        return false;
    *fill = (struct fill){data, write, arg};
    tic_guard++;
    int status =
        tic_real.starpu_data_acquire_on_node_cb(data, STARPU_MAIN_RAM, STARPU_W, granted, fill);
    tic_guard--;
    if (status)
        free(fill);
    return status == 0;
}
