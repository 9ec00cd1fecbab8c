/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/spans.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

enum { MOST = 65536 };

bool tic_span_has(const struct tic_span *span, const void *at)
{
    return (const char *)at >= span->begin && (const char *)at < span->end;
}

unsigned long tic_spans_from(const struct tic_spans *spans, const void *at)
{
    unsigned long low = 0, high = spans->count;

    while (low < high) {
        unsigned long middle = low + (high - low) / 2;
        if (spans->items[middle].end <= (const char *)at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool tic_spans_has(const struct tic_spans *spans, const void *at)
{
    unsigned long i = tic_spans_from(spans, at);

    return i < spans->count && tic_span_has(&spans->items[i], at);
}

int tic_spans_add(struct tic_spans *spans, const void *begin, size_t size)
{
    struct tic_span span = {begin, (const char *)begin + size};
    unsigned long first = tic_spans_from(spans, span.begin), after;

    if (size == 0)
        return 0;
    if (first > 0 && spans->items[first - 1].end == span.begin)
        first--;
    for (after = first; after < spans->count && spans->items[after].begin <= span.end; after++) {
        const struct tic_span *item = &spans->items[after];
        span.begin = item->begin < span.begin ? item->begin : span.begin;
        span.end = item->end > span.end ? item->end : span.end;
    }
    if (after == first)
        return spans->count < MOST
                   ? tic_insert(spans->items, spans->count, spans->capacity, first, &span)
                   : -ENOSPC;
    spans->items[first] = span;
    memmove(&spans->items[first + 1], &spans->items[after], (spans->count - after) * sizeof(span));
    spans->count -= after - first - 1;
    return 0;
}
