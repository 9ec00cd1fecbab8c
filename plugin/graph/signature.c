/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rolling signature of a submission context: one 32-bit value per submission. */
#include "graph/signature.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

int tic_signature_init(struct tic_signature *signature)
{
    memset(signature, 0, sizeof(*signature));
    signature->compares = true;
    signature->blocks = calloc(TIC_SIGNATURE_BLOCKS, sizeof(*signature->blocks));
    return signature->blocks ? 0 : -ENOMEM;
}

void tic_signature_fini(struct tic_signature *signature)
{
    for (unsigned i = 0; signature->blocks && i < TIC_SIGNATURE_BLOCKS; i++)
        free(atomic_load(&signature->blocks[i]));
    free(signature->blocks);
    signature->blocks = NULL;
}

static int append(struct tic_signature *signature, uint32_t entry)
{
    uint64_t count = atomic_load_explicit(&signature->count, memory_order_relaxed);
    uint64_t at = count - signature->first, block = at / TIC_SIGNATURE_BLOCK;

    if (block >= TIC_SIGNATURE_BLOCKS)
        return -ENOMEM;
    uint32_t *entries = atomic_load_explicit(&signature->blocks[block], memory_order_relaxed);
    if (!entries) {
        entries = malloc(TIC_SIGNATURE_BLOCK * sizeof(*entries));
        if (!entries)
            return -ENOMEM;
        atomic_store_explicit(&signature->blocks[block], entries, memory_order_release);
    }
    entries[at % TIC_SIGNATURE_BLOCK] = entry;
    atomic_store_explicit(&signature->count, count + 1, memory_order_release);
    return 0;
}

int tic_signature_load(struct tic_signature *signature, uint32_t entry)
{
    return append(signature, entry);
}

uint32_t tic_signature_entry(const struct tic_signature *signature, uint64_t index)
{
    uint64_t at = index - signature->first;
    uint32_t *entries =
        atomic_load_explicit(&signature->blocks[at / TIC_SIGNATURE_BLOCK], memory_order_acquire);
    return entries[at % TIC_SIGNATURE_BLOCK];
}

void tic_signature_forget(struct tic_signature *signature, uint64_t position, uint64_t rolling)
{
    uint64_t entries = atomic_load(&signature->count) - signature->first;

    for (uint64_t i = 0; i * TIC_SIGNATURE_BLOCK < entries; i++)
        free(atomic_exchange(&signature->blocks[i], NULL));
    signature->first = signature->in_blocks = signature->position = position;
    signature->rolling = rolling;
    atomic_store(&signature->count, position);
}

uint64_t tic_signature_count(const struct tic_signature *signature)
{
    return atomic_load_explicit(&signature->count, memory_order_acquire);
}

/* Unknown ones are not in `rolling`: what they are is known of each submission for itself. */
static uint32_t next_entry(struct tic_signature *signature, uint64_t content, uint64_t arguments)
{
    const uint32_t mask = signature->compares ? TIC_SIGNATURE_ARGUMENTS : 0;

    signature->rolling = tic_words_hash(&content, 1, signature->rolling);
    return ((uint32_t)signature->rolling & ~mask) | ((uint32_t)arguments & mask);
}

static int compare(const struct tic_signature *signature, uint32_t entry)
{
    const uint32_t mask = signature->compares ? TIC_SIGNATURE_ARGUMENTS : 0;
    uint32_t differ = entry ^ tic_signature_entry(signature, signature->position);

    if (differ & ~mask)
        return -EILSEQ;
    return differ && !signature->ignores && !signature->mixed ? -EINVAL : 0;
}

int tic_signature_submit(struct tic_signature *signature, uint64_t content, uint64_t arguments)
{
    uint32_t entry = next_entry(signature, content, arguments);

    if (signature->position < tic_signature_count(signature)) {
        int differs = compare(signature, entry);
        signature->position += differs == 0;
        return differs;
    }
    int status = append(signature, entry);
    if (status == 0)
        signature->position++;
    return status;
}
