/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/elf.h"

#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/content.h"

struct image {
    const char *bytes; /* the mapped file */
    size_t size;
    const ElfW(Shdr) * sections;
    unsigned count;
};

struct search {
    uintptr_t address, base;
    char path[4096];
    const ElfW(Phdr) * segments;
    unsigned count;
};

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *search = arg;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD ||
            search->address - info->dlpi_addr - segment->p_vaddr >= segment->p_memsz)
            continue;
        search->base = info->dlpi_addr;
        search->segments = info->dlpi_phdr;
        search->count = info->dlpi_phnum;
        snprintf(search->path, sizeof(search->path), "%s",
                 info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe");
        return 1;
    }
    return 0;
}

static bool has(const struct image *image, uint64_t at, uint64_t bytes)
{
    return at <= image->size && bytes <= image->size - at;
}

static bool open_image(const char *path, struct image *image)
{
    *image = (struct image){.bytes = NULL};
    image->bytes = tic_content_map(path, &image->size);
    return image->bytes != NULL;
}

/* It may have been replaced since it was loaded. */
static bool is_loaded(struct image *image, const struct search *search)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image->bytes;

    if (image->size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phnum != search->count || header->e_phentsize != sizeof(ElfW(Phdr)) ||
        header->e_shentsize != sizeof(ElfW(Shdr)) ||
        !has(image, header->e_phoff, header->e_phnum * sizeof(ElfW(Phdr))) ||
        !has(image, header->e_shoff, header->e_shnum * sizeof(ElfW(Shdr))) ||
        memcmp(image->bytes + header->e_phoff, search->segments,
               search->count * sizeof(ElfW(Phdr))) != 0)
        return false;
    image->sections = (const ElfW(Shdr) *)(image->bytes + header->e_shoff);
    image->count = header->e_shnum;
    return true;
}

/* "" if it is not in the file. */
static const char *name_of(const struct image *image, unsigned strings, size_t at)
{
    const ElfW(Shdr) *table = strings < image->count ? &image->sections[strings] : NULL;

    if (!table || at >= table->sh_size || !has(image, table->sh_offset, table->sh_size))
        return "";
    const char *name = image->bytes + table->sh_offset + at;
    return memchr(name, '\0', table->sh_size - at) ? name : "";
}

static void visit_symbols(const struct image *image, const ElfW(Shdr) * table, uintptr_t base,
                          tic_elf_visit *visitor, void *arg)
{
    const ElfW(Sym) *symbol = (const ElfW(Sym) *)(image->bytes + table->sh_offset);

    if (!has(image, table->sh_offset, table->sh_size))
        return;
    for (size_t i = 0; i < table->sh_size / sizeof(*symbol); i++, symbol++)
        if (((1 << (symbol->st_info & 0xf)) & (1 << STT_OBJECT | 1 << STT_FUNC)) &&
            symbol->st_shndx != SHN_UNDEF && symbol->st_size > 0)
            visitor(TIC_ELF_SYMBOL, name_of(image, table->sh_link, symbol->st_name),
                    (const char *)(base + symbol->st_value), symbol->st_size, arg);
}

/* True if the file names more than what it exports. */
static bool visit_tables(const struct image *image, uintptr_t base, tic_elf_visit *visitor,
                         void *arg)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image->bytes;
    const ElfW(Shdr) *exported = NULL, *all = NULL;

    for (unsigned i = 0; i < image->count; i++) {
        const ElfW(Shdr) *section = &image->sections[i];
        all = section->sh_type == SHT_SYMTAB ? section : all;
        exported = section->sh_type == SHT_DYNSYM ? section : exported;
        if ((section->sh_flags & SHF_ALLOC) && !(section->sh_flags & SHF_TLS))
            visitor(TIC_ELF_SECTION, name_of(image, header->e_shstrndx, section->sh_name),
                    (const char *)(base + section->sh_addr), section->sh_size, arg);
    }
    if (all || exported)
        visit_symbols(image, all ? all : exported, base, visitor, arg);
    return all != NULL;
}

static void name_object(const char *path, struct tic_elf_place *place)
{
    char program[4096];
    ssize_t length = path[0] == '/' && strcmp(path, "/proc/self/exe") == 0
                         ? readlink(path, program, sizeof(program) - 1)
                         : -1;

    if (length > 0) {
        program[length] = '\0';
        path = program;
    }
    const char *slash = strrchr(path, '/');
    snprintf(place->object, sizeof(place->object), "%.100s", slash ? slash + 1 : path);
}

bool tic_elf_each(const void *address, struct tic_elf_place *place, tic_elf_visit *visitor,
                  void *arg)
{
    struct search search = {.address = (uintptr_t)address};
    struct image image;

    memset(place, 0, sizeof(*place));
    if (!dl_iterate_phdr(visit, &search))
        return false;
    name_object(search.path, place);
    if (!open_image(search.path, &image))
        return false;
    bool loaded = is_loaded(&image, &search);
    if (loaded)
        place->stripped = !visit_tables(&image, search.base, visitor, arg);
    munmap((void *)(uintptr_t)image.bytes, image.size);
    return loaded;
}

struct finding {
    const char *at;
    struct tic_elf_place *place;
};

static void take_place(enum tic_elf_kind kind, const char *name, const char *begin, size_t size,
                       void *arg)
{
    struct finding *finding = arg;
    struct tic_elf_place *place = finding->place;

    if (finding->at < begin || finding->at >= begin + size ||
        (kind == TIC_ELF_SYMBOL && place->size))
        return;
    if (kind == TIC_ELF_SECTION) {
        snprintf(place->section, sizeof(place->section), "%s", name);
        return;
    }
    snprintf(place->symbol, sizeof(place->symbol), "%s", name);
    place->begin = begin;
    place->size = size;
}

bool tic_elf_find(const void *address, struct tic_elf_place *place)
{
    struct finding finding = {address, place};

    return tic_elf_each(address, place, take_place, &finding);
}
