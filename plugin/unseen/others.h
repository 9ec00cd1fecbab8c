/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which bytes of memory belong to registered data, or to structures of StarPU that are known. */
#pragma once

#include <stdint.h>

#include "unseen/spans.h"

struct tic_graph;
struct tic_handle;

struct tic_others {
    struct tic_spans known;  /* structures of StarPU, and what the dynamic linker writes */
    struct tic_spans waited; /* known until main() waits again: memory of data that has left in this
                              * wait, and of data whose interfaces pack it */
    struct tic_graph *graph;
    const void *frame; /* where the stack of main() begins, below which this library is at work */
};

/* main() begins to wait. False: data with an interface of the program's own lies where nobody
 * knows, which is everything but whole blocks of malloc() that the interface points to. */
bool tic_others_begin_wait(struct tic_others *all);
/* Data comes in this wait, or leaves. False as above. */
bool tic_others_add_data(struct tic_others *all, const struct tic_handle *handle);

/* Calls visit for what they have in [begin, end): in any order, some of it more than once. */
void tic_others_visit(const struct tic_others *all, const struct tic_span *span,
                      void (*visit)(const struct tic_span *run, void *arg), void *arg);
/* Calls visit for data that main() has registered and not unregistered, with the lock of the graph.
 */
void tic_others_each_data(const struct tic_others *all,
                          void (*visit)(const struct tic_handle *handle, void *arg), void *arg);
/* An order of bases, as of qsort(3). */
int tic_others_by_base(const void *a, const void *b);
/* Those bases of data that main() has registered and not unregistered, as they are in the list:
 * ascending, and without repetition. The others are taken out of it. */
void tic_others_keep_bases(const struct tic_others *all, const char **bases, unsigned *count);

/* The same for pages of 4 KiB from `begin` on, in grains of 8 bytes. */
enum { TIC_OTHERS_PAGE = 4096, TIC_OTHERS_GRAIN = 8 };

struct tic_others_page {
    uint64_t grains[TIC_OTHERS_PAGE / TIC_OTHERS_GRAIN / 64];
};

/* Of one page, or the beginning of one. */
struct tic_others_page tic_others_page(const struct tic_others *all, const char *begin,
                                       size_t size);
void tic_others_mark(struct tic_others_page *page, size_t first, size_t after);
bool tic_others_has_all(const struct tic_others_page *page);
/* Are all grains of `less` in `more`? */
bool tic_others_covers(const struct tic_others_page *more, const struct tic_others_page *less);
void tic_others_hide(const struct tic_others_page *page, char *bytes, size_t size);
