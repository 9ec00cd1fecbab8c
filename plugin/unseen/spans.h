/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets of addresses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct tic_span {
    const char *begin, *end;
};

/* Ascending; no two of them touch. */
struct tic_spans {
    struct tic_span *items;
    unsigned long count, capacity;
};

bool tic_span_has(const struct tic_span *span, const void *at);
bool tic_spans_has(const struct tic_spans *spans, const void *at);
/* The first one that ends after this, or the count of all. */
unsigned long tic_spans_from(const struct tic_spans *spans, const void *at);
/* 0, -ENOMEM, or -ENOSPC after 65536 that do not touch. */
int tic_spans_add(struct tic_spans *spans, const void *begin, size_t size);
