/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unseen/objects.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "real/real.h"
#include "session/kernels.h"
#include "unseen/suppress.h"

enum { MOST_SEGMENTS = 16 };

static struct {
    struct tic_beside segments[MOST_SEGMENTS];
    struct tic_span objects[MOST_SEGMENTS]; /* of each segment */
    unsigned count;
} objects;

struct search {
    const void *code; /* NULL: the program, which comes first */
    struct tic_spans *known;
    int status;
};

/* Where functions of other objects lie: the dynamic linker fills that in at their first calls. */
static int know_calls(const struct dl_phdr_info *info, const ElfW(Phdr) * segment,
                      struct tic_spans *known)
{
    const ElfW(Dyn) *dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + segment->p_vaddr);
    uintptr_t table = 0;
    size_t bytes = 0, entry = sizeof(ElfW(Rela));

    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        table = dynamic->d_tag == DT_PLTGOT ? dynamic->d_un.d_ptr : table;
        bytes = dynamic->d_tag == DT_PLTRELSZ ? dynamic->d_un.d_val : bytes;
        if (dynamic->d_tag == DT_PLTREL && dynamic->d_un.d_val == DT_REL)
            entry = sizeof(ElfW(Rel));
    }
    if (table == 0)
        return 0;
    if (table < info->dlpi_addr) /* it is not relocated on every machine */
        table += info->dlpi_addr;
    return tic_spans_add(known, (const void *)table, (bytes / entry + 3) * sizeof(uintptr_t));
}

static struct tic_span span_of(const struct dl_phdr_info *info)
{
    uintptr_t begin = UINTPTR_MAX, end = 0;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD)
            continue;
        begin = at < begin ? at : begin;
        end = at + segment->p_memsz > end ? at + segment->p_memsz : end;
    }
    return (struct tic_span){(const char *)begin, (const char *)end};
}

/* Is it starpu-tic, or StarPU? */
static bool is_of_others(const struct tic_span *span)
{
    return tic_span_has(span, &objects) ||
           tic_span_has(span, (const void *)(uintptr_t)tic_real.starpu_task_submit);
}

static bool is_suppressed(const struct dl_phdr_info *info)
{
    const char *path = info->dlpi_name[0] ? info->dlpi_name : program_invocation_name;
    const char *slash = strrchr(path, '/');

    return tic_suppress_has_object(slash ? slash + 1 : path);
}

static int add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *search = arg;
    struct tic_span span = span_of(info);

    (void)size;
    if (search->code && !tic_span_has(&span, search->code))
        return 0;
    if (is_of_others(&span) || is_suppressed(info))
        return 1;
    for (int i = 0; i < info->dlpi_phnum && objects.count < MOST_SEGMENTS; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_DYNAMIC && search->status == 0)
            search->status = know_calls(info, segment, search->known);
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W))
            continue;
        const char *begin = (const char *)(info->dlpi_addr + segment->p_vaddr);
        objects.objects[objects.count] = span;
        objects.segments[objects.count++] =
            (struct tic_beside){.kind = TIC_BESIDE_OBJECT,
                                .path = info->dlpi_name,
                                .base = info->dlpi_addr,
                                .zeros = begin + segment->p_filesz,
                                .span = {begin, begin + segment->p_memsz}};
    }
    return 1;
}

int tic_objects_add(const struct starpu_codelet *codelet, struct tic_spans *known)
{
    struct search search = {.known = known};
    const void *codes[TIC_KERNEL_KINDS];

    if (objects.count == 0)
        dl_iterate_phdr(add_object, &search);
    for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS && tic_kernels_of(codelet, i, codes); i++)
        for (unsigned kind = 0; kind < TIC_KERNEL_KINDS; kind++) {
            search.code = codes[kind];
            if (search.code && !tic_objects_have(search.code))
                dl_iterate_phdr(add_object, &search);
        }
    return search.status;
}

bool tic_objects_have(const void *at)
{
    for (unsigned i = objects.count; i-- > 0;)
        if (tic_span_has(&objects.objects[i], at))
            return true;
    return false;
}

unsigned tic_objects_segments(const struct tic_beside **segments)
{
    *segments = objects.segments;
    return objects.count;
}
