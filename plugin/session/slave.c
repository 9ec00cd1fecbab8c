/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/slave.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "real/since.h"

static bool has_slaves(void)
{
    const char *slaves = getenv("STARPU_TCPIP_MS_SLAVES");

    return TIC_STARPU_1_4 && slaves && atoi(slaves) > 0;
}

const char *tic_slave_master(void)
{
    const char *master = getenv("STARPU_TCPIP_MS_MASTER");

    return master && has_slaves() ? master : "";
}

bool tic_slave_is(void)
{
    return tic_slave_master()[0] != '\0';
}

void tic_slave_prepare_master(struct starpu_conf *conf)
{
    static bool told;

    if (has_slaves() && conf->bus_calibrate <= 0 && !told) {
        told = true;
        tic_log(TIC_LOG_INFO, "StarPU hangs at its start where machines have measured other "
                              "networks; starpu-tic explain calibrate");
    }
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
