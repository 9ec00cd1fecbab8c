/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/needed.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/content.h"

struct file {
    const char *bytes; /* mapped */
    size_t size;
};

static const void *at(const struct file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

/* NULL: the file has none. */
static const ElfW(Phdr) * next_segment(const struct file *file, unsigned type, unsigned *i)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)file->bytes;
    const ElfW(Phdr) *segments =
        at(file, header->e_phoff, header->e_phnum * (uint64_t)sizeof(*segments));

    for (; segments && *i < header->e_phnum; (*i)++)
        if (segments[*i].p_type == type)
            return &segments[(*i)++];
    return NULL;
}

/* What will be at an address when the file is loaded. */
static const void *loaded(const struct file *file, uint64_t address, uint64_t size)
{
    const ElfW(Phdr) * segment;
    unsigned i = 0;

    while ((segment = next_segment(file, PT_LOAD, &i)))
        if (address - segment->p_vaddr < segment->p_filesz)
            return at(file, segment->p_offset + (address - segment->p_vaddr), size);
    return NULL;
}

static bool is_wanted(const char *name)
{
    return strncmp(name, "libasan.so", strlen("libasan.so")) == 0 ||
           strncmp(name, "libclang_rt.asan", strlen("libclang_rt.asan")) == 0;
}

static bool find(const struct file *file, char library[NAME_MAX + 1])
{
    unsigned i = 0;
    const ElfW(Phdr) *dynamic = next_segment(file, PT_DYNAMIC, &i);
    const ElfW(Dyn) *entries = dynamic ? at(file, dynamic->p_offset, dynamic->p_filesz) : NULL;
    size_t count = entries ? dynamic->p_filesz / sizeof(*entries) : 0, size = 0;
    uint64_t address = 0;

    for (size_t k = 0; k < count; k++) {
        address = entries[k].d_tag == DT_STRTAB ? entries[k].d_un.d_ptr : address;
        size = entries[k].d_tag == DT_STRSZ ? entries[k].d_un.d_val : size;
    }
    const char *names = size ? loaded(file, address, size) : NULL;
    for (size_t k = 0; names && names[size - 1] == '\0' && k < count; k++) {
        const char *name = names + entries[k].d_un.d_val;
        if (entries[k].d_tag == DT_NEEDED && entries[k].d_un.d_val < size && is_wanted(name))
            return snprintf(library, NAME_MAX + 1, "%s", name) <= NAME_MAX;
    }
    return false;
}

bool tic_needed_first(const char *path, char library[NAME_MAX + 1])
{
    struct file file = {.bytes = NULL};

    file.bytes = tic_content_map(path, &file.size);
    if (!file.bytes)
        return false;
    bool found = file.size >= sizeof(ElfW(Ehdr)) && memcmp(file.bytes, ELFMAG, SELFMAG) == 0 &&
                 file.bytes[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
                 find(&file, library);
    munmap((void *)file.bytes, file.size);
    return found;
}
