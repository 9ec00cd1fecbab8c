/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names for functions and data of loaded objects that mean the same in another process, and what
 * looks like a pointer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "object:symbol", or "object:build+0xoffset" when no exported symbol is there; malloc'ed. NULL:
 * it lies in no loaded object (a codelet on the heap or the stack), or no memory. */
char *tic_symbol_name(const void *address);
/* The address of a name, or NULL when this process has no such object, or another build of it. */
void *tic_symbol_find(const char *name);

/* Could this number be an address of this process: in its program, heap, stacks or libraries? Says
 * the same in every process for a number that is none, but for rare luck. */
bool tic_symbol_is_pointer(uint64_t number);
/* The same, but nothing may be mapped there: costs no system call. */
bool tic_symbol_is_address(uint64_t number);
/* Could it be one of another process that runs the same program? */
bool tic_symbol_may_be_pointer(uint64_t number);
/* Does it lie in the program, or in a library: code, constants, variables? */
bool tic_symbol_is_in_object(const void *at);
/* Is its page mapped? */
bool tic_symbol_is_mapped(const void *at);
/* Is something there? Programs pass small numbers as pointers. */
bool tic_symbol_is_memory(const void *at);
/* Do a pointer's bytes seem to begin at this offset of a struct, packed or not? */
bool tic_symbol_is_pointer_at(const char *bytes, size_t at);
/* Does a pointer seem to be among them? Aligned to their beginning, as compilers lay out structs.
 */
bool tic_symbol_has_pointer(const void *bytes, size_t size);
