/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Variables and functions of loaded objects, by the tables in their files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct tic_elf_place {
    char object[128];  /* the file's name without folders */
    char section[64];  /* or "" */
    char symbol[256];  /* the variable or function that has the address in it, or "" */
    const char *begin; /* of that */
    size_t size;       /* bytes; 0: no symbol */
    bool stripped;     /* the file names what it exports only */
};

enum tic_elf_kind { TIC_ELF_SECTION, TIC_ELF_SYMBOL };
typedef void tic_elf_visit(enum tic_elf_kind kind, const char *name, const char *begin, size_t size,
                           void *arg);

/* Calls visitor for all sections, variables and functions of the object that has this address in
 * it. Of *place, object and stripped are set. False as below. */
bool tic_elf_each(const void *address, struct tic_elf_place *place, tic_elf_visit *visitor,
                  void *arg);
/* False: it lies in no object, or not in its file as it is now. */
bool tic_elf_find(const void *address, struct tic_elf_place *place);
