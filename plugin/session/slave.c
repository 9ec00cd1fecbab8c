/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/slave.h"

#include <stdlib.h>
#include <string.h>

#include "real/since.h"

const char *tic_slave_master(void)
{
    const char *master = TIC_STARPU_1_4 ? getenv("STARPU_TCPIP_MS_MASTER") : NULL;
    const char *slaves = getenv("STARPU_TCPIP_MS_SLAVES");

    return master && slaves && atoi(slaves) > 0 ? master : "";
}

bool tic_slave_is(void)
{
    return tic_slave_master()[0] != '\0';
}

void tic_slave_prepare_master(struct starpu_conf *conf)
{
#if TIC_STARPU_1_4
    conf->disable_asynchronous_tcpip_ms_copy = 1;
#else
    (void)conf;
#endif
}

bool tic_slave_is_connected(void)
{
    const char *sink = getenv("STARPU_SINK");

    return sink && strcmp(sink, "STARPU_TCPIP_MS") == 0;
}
