/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A false word here ends protection of a right program: whatever is not sure is no word. */
#include "unseen/extent.h"

#include <stdio.h>
#include <unwind.h>

#include "session/elf.h"
#include "session/symbol.h"
#include "unseen/heap.h"
#include "unseen/spans.h"

enum { MOST_STACK = 1 << 30 };

static char words[512]; /* these two: owner thread only */
static unsigned long long number;

static const char *tell(const struct tic_span *data, const char *what, const char *name,
                        const char *end)
{
    snprintf(
        words, sizeof(words),
        "data of %llu bytes at %p (number of registration %llu) reaches %llu bytes beyond %s%s. "
        "A restart would write there: register no more than the program has",
        (unsigned long long)(data->end - data->begin), (const void *)data->begin, number,
        (unsigned long long)(data->end - end), what, name);
    return words;
}

static const char *beyond_variable(const struct tic_span *data)
{
    static struct tic_elf_place place; /* arrays are often registered piece by piece */
    static char name[sizeof(place.symbol) + 2];
    bool known =
        place.size > 0 && data->begin >= place.begin && data->begin < place.begin + place.size;

    if (!known && (!tic_elf_find(data->begin, &place) || place.size == 0)) {
        place.size = 0;
        return NULL;
    }
    snprintf(name, sizeof(name), "\"%s\"", place.symbol);
    const char *end = place.begin + place.size;
    return data->end > end ? tell(data, "the variable ", name, end) : NULL;
}

static const char *beyond_block(const struct tic_span *data)
{
    size_t bytes;
    const char *block = tic_heap_around(data->begin, &bytes);

    return block && data->end > block + bytes
               ? tell(data, "its block of malloc()", "", block + bytes)
               : NULL;
}

/* ---- the stack ------------------------------------------------------------------------------ */

struct frame {
    const struct tic_span *data;
    const char *begin; /* of a frame, then of the one of its caller */
    bool found;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *arg)
{
    struct frame *frame = arg;
    const char *next = (const char *)_Unwind_GetCFA(context);

    if (next < frame->begin) /* our own, at first */
        return _URC_NO_REASON;
    frame->found = frame->data->begin >= frame->begin && frame->data->begin < next;
    frame->begin = next;
    return frame->found ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

/* A variable is in one frame, and does not reach into the one of the caller. */
static const char *beyond_frame(const struct tic_span *data)
{
    const char *here = __builtin_frame_address(0);
    struct frame frame = {.data = data, .begin = here};

    if (data->begin < here || data->begin - here > MOST_STACK)
        return NULL;
    _Unwind_Backtrace(visit, &frame);
    return frame.found && data->end > frame.begin
               ? tell(data, "the variables of the function that has it on its stack", "",
                      frame.begin)
               : NULL;
}

/* What is not mapped is nobody's. */
static const char *beyond_mapping(const struct tic_span *data)
{
    if (!tic_symbol_is_mapped(data->begin) || tic_symbol_is_mapped(data->end - 1))
        return NULL;
    const uintptr_t page = 4096;
    const char *mapped = data->begin, *not = data->end - 1;

    while ((uintptr_t) not / page - (uintptr_t)mapped / page > 1) { /* one place where it ends */
        const char *half = mapped + (not -mapped) / 2;
        if (tic_symbol_is_mapped(half))
            mapped = half;
        else
            not = half;
    }
    return tell(data, "what is mapped there", "", (const char *)((uintptr_t) not &~(page - 1)));
}

const char *tic_extent_beyond(uint64_t id, const struct tic_layout *layout)
{
    const struct tic_span data = {layout->base, layout->base + tic_layout_span(layout)};

    if (data.end <= data.begin)
        return NULL;
    number = id;
    if (tic_symbol_is_in_object(data.begin)) {
        const char *why = beyond_variable(&data);
        return why ? why : beyond_mapping(&data);
    }
    const char *why = beyond_frame(&data);
    if (!why)
        why = beyond_block(&data);
    return why ? why : beyond_mapping(&data);
}
