/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Types of elements: which of their bytes are one number, so that another machine can swap them. A
 * type is what somebody has declared; nothing here guesses. Types are numbers of this process; on
 * disk they have names. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tic_shape;

#define TIC_TYPE_UNKNOWN UINT64_C(0)

/* What a type of one number is, in its number from this bit on; for HDF5. */
enum { TIC_TYPE_KIND_BIT = 32 };
enum tic_type_kind { TIC_TYPE_OTHER, TIC_TYPE_FLOAT, TIC_TYPE_DOUBLE };

static inline enum tic_type_kind tic_type_kind(uint64_t type)
{
    return (enum tic_type_kind)(type >> TIC_TYPE_KIND_BIT);
}

/* "double", "int32,2*float": numbers of C types that have one size everywhere, one after the other,
 * without gaps. TIC_TYPE_UNKNOWN: no such type, or no memory. */
uint64_t tic_type_find(const char *name, size_t length);
/* The same of the name of any type, as a store has it. */
uint64_t tic_type_find_stored(const char *name, size_t length);
/* Its name, for ever; "" of TIC_TYPE_UNKNOWN. */
const char *tic_type_name(uint64_t type);
/* Bytes of one. */
uint64_t tic_type_bytes(uint64_t type);

/* Values that begin with so many indices of uint32_t, then `bytes` of elements of this type, or of
 * those that are in such a type itself. TIC_TYPE_UNKNOWN if it is not known, or numbers of more
 * than one size. */
uint64_t tic_type_sparse(uint64_t indices, uint64_t element, uint64_t bytes);

/* Can a value of this shape be elements of the type, one after the other? */
bool tic_type_fits(uint64_t type, const struct tic_shape *shape);
/* The other byte order; size is a multiple of the type's. */
void tic_type_swap(uint64_t type, char *bytes, uint64_t size);
