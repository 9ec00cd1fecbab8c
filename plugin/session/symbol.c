/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names for functions and data of loaded objects that mean the same in another process. */
#include "session/symbol.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- objects -------------------------------------------------------------------------------- */

struct object {
    const char *name; /* without folders; "" is the program */
    uintptr_t base, begin, end;
    uint64_t build; /* tells builds apart: folded from sizes and addresses of all segments */
};

struct search {
    struct object found;
    uintptr_t address; /* in it, or */
    const char *name;  /* of this name */
    size_t name_length;
};

static struct object describe(const struct dl_phdr_info *info)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    struct object object = {
        .name = slash ? slash + 1 : info->dlpi_name, .base = info->dlpi_addr, .begin = UINTPTR_MAX};

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        object.build = object.build * 1000003 + segment->p_vaddr + segment->p_memsz * 31 +
                       segment->p_filesz * 17 + segment->p_flags;
        if (segment->p_type != PT_LOAD)
            continue;
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        object.begin = begin < object.begin ? begin : object.begin;
        object.end = begin + segment->p_memsz > object.end ? begin + segment->p_memsz : object.end;
    }
    return object;
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *search = arg;
    struct object object = describe(info);

    (void)size;
    bool found = search->name ? strlen(object.name) == search->name_length &&
                                    memcmp(object.name, search->name, search->name_length) == 0
                              : search->address >= object.begin && search->address < object.end;
    if (found)
        search->found = object;
    return found;
}

char *tic_symbol_name(const void *address)
{
    struct search search = {.address = (uintptr_t)address};
    Dl_info info;
    char *name = NULL;

    if (!dl_iterate_phdr(visit, &search))
        return NULL;
    const struct object *object = &search.found;
    bool exported = dladdr(address, &info) && info.dli_sname && info.dli_saddr == address &&
                    dlsym(RTLD_DEFAULT, info.dli_sname) == address;
    int length = exported ? asprintf(&name, "%s:%s", object->name, info.dli_sname)
                          : asprintf(&name, "%s:%llx+0x%llx", object->name,
                                     (unsigned long long)object->build,
                                     (unsigned long long)((uintptr_t)address - object->base));
    return length < 0 ? NULL : name;
}

void *tic_symbol_find(const char *name)
{
    const char *colon = strchr(name, ':');
    struct search search = {.name = name};
    unsigned long long build, offset;

    if (!colon)
        return NULL;
    if (sscanf(colon + 1, "%llx+0x%llx", &build, &offset) != 2)
        return dlsym(RTLD_DEFAULT, colon + 1);
    search.name_length = (size_t)(colon - name);
    if (!dl_iterate_phdr(visit, &search) || search.found.build != build)
        return NULL;
    uintptr_t address = search.found.base + offset;
    return address >= search.found.begin && address < search.found.end ? (void *)address : NULL;
}

/* ---- pointers ------------------------------------------------------------------------------- */

enum { REGION_BITS = 40, REGIONS = 4 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t regions[REGIONS]; /* immutable after find_regions: high parts of addresses */
static uintptr_t low_begin;       /* immutable after find_regions: the program's first byte */

static int note_program(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    low_begin = describe(info).begin;
    return 1;
}

/* Where the kernel puts programs, heaps, stacks and libraries is random in its lower bits only. */
static void find_regions(void)
{
    int here;

    dl_iterate_phdr(note_program, NULL);
    regions[0] = (uint64_t)low_begin >> REGION_BITS;
    regions[1] = (uint64_t)(uintptr_t)sbrk(0) >> REGION_BITS;
    regions[2] = (uint64_t)(uintptr_t)&here >> REGION_BITS;
    regions[3] = (uint64_t)(uintptr_t)&malloc >> REGION_BITS;
}

static bool is_mapped(uint64_t number)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char in_core;

    return mincore((void *)((uintptr_t)number & ~(page - 1)), 1, &in_core) == 0;
}

static bool is_in_region(uint64_t number)
{
    enum { LOWEST = 65536 }; /* no system maps less */

    if (sizeof(void *) == 4) /* they may be anywhere */
        return number >= LOWEST && number <= UINT32_MAX;
    uint64_t high = number >> REGION_BITS;

    pthread_once(&once, find_regions);
    if (high == 0) /* a program at a fixed address, and its heap */
        return low_begin >> REGION_BITS == 0 && number >= low_begin &&
               number < (uint64_t)(uintptr_t)sbrk(0);
    for (int i = 0; i < REGIONS; i++)
        if (high == regions[i] || high == regions[i] - 1)
            return true;
    return high == regions[0] + 1;
}

/* Two small numbers that stand side by side look like the beginning of a region. */
static bool is_pair(uint64_t number)
{
    return (number & UINT32_MAX) < 4096;
}

bool tic_symbol_may_be_pointer(uint64_t number)
{
    return number >> REGION_BITS != 0 && !is_pair(number) && is_in_region(number);
}

bool tic_symbol_is_address(uint64_t number)
{
    return !is_pair(number) && is_in_region(number);
}

bool tic_symbol_is_pointer(uint64_t number)
{
    return tic_symbol_is_address(number) && is_mapped(number);
}

bool tic_symbol_is_in_object(const void *at)
{
    Dl_info object;

    return dladdr(at, &object) != 0;
}

bool tic_symbol_is_mapped(const void *at)
{
    return is_mapped((uintptr_t)at);
}

bool tic_symbol_is_memory(const void *at)
{
    const uint64_t number = (uint64_t)(uintptr_t)at, lowest = 65536; /* no system maps less */

    return number >= lowest && ((sizeof(at) > 4 && is_in_region(number)) || is_mapped(number));
}

/* In packed structures; low addresses look like small numbers that are shifted. */
bool tic_symbol_is_pointer_at(const char *bytes, size_t at)
{
    uintptr_t word;

    memcpy(&word, bytes + at, sizeof(word));
    const uint64_t number = word;
    bool possible = at % sizeof(word) == 0 ? number != 0 : number >> REGION_BITS != 0;
    return possible && tic_symbol_is_pointer(number);
}

bool tic_symbol_has_pointer(const void *bytes, size_t size)
{
    for (size_t i = 0; i + sizeof(uintptr_t) <= size; i++)
        if (tic_symbol_is_pointer_at(bytes, i))
            return true;
    return false;
}
