/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A recovery line in memory: what one line file holds. */
#include "store/line.h"

#include <stdlib.h>
#include <string.h>

void tic_line_clear(struct tic_line *line)
{
    void *owned[] = {line->version,    line->starpu,     line->host,      line->program,
                     line->directory,  line->arguments,  line->extents,   line->values,
                     line->done,       line->inputs,     line->events,    line->blocks,
                     line->signatures, line->acquires,   line->spawned,   line->kept,
                     line->buffers,    line->bytes,      line->functions, line->reads,
                     line->callbacks,  line->kept_writes};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        free(owned[i]);
    memset(line, 0, sizeof(*line));
}
