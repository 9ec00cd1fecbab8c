/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Layouts over memory of a test's own. */
#ifndef TIC_LIB_FAKEDATA_H
#define TIC_LIB_FAKEDATA_H

#include "base/layout.h"

/* `count` contiguous elements. */
static inline struct tic_layout tic_fake_vector(void *base, uint32_t element_size, uint64_t count)
{
    return (struct tic_layout){
        .shape = {element_size, 1, {count, 1, 1, 1}}, .base = base, .stride = {1}};
}

/* `columns` columns of `rows` elements, `ld` elements apart. */
static inline struct tic_layout tic_fake_matrix(void *base, uint32_t element_size, uint64_t rows,
                                                uint64_t columns, uint64_t ld)
{
    return (struct tic_layout){
        .shape = {element_size, 2, {rows, columns, 1, 1}}, .base = base, .stride = {1, ld}};
}

#endif
