/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a report knows. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "store/store.h"
#include "tools/saved.h"
#include "tools/traced.h"

struct tic_report {
    struct tic_traced traced; /* of the trace, or what the event log has of it */
    bool has_trace;
    struct tic_store store;
    bool is_open;
    const char *directory; /* NULL: it is not there */
    struct tic_saved_lines lines;
    json_t *stats;   /* or NULL */
    json_t *writers; /* by number of a datum: the last codelet that writes it, as the log says */
    double mtbf;     /* s, as asked for; 0: not */
};

/* All that the page needs, as JSON. */
void tic_report_print_json(FILE *out, const struct tic_report *report);
/* Runs, checkpoints and recovery lines, as tables. */
void tic_report_print_text(FILE *out, const struct tic_report *report);
