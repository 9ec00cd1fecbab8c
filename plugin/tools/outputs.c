/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Standard outputs of runs, as lines, and whether they say the same. */
#include "tools/outputs.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

static int split(struct tic_output *output, size_t size)
{
    size_t capacity = 1;

    for (size_t i = 0; i < size; i++)
        capacity += output->bytes[i] == '\n';
    output->lines = calloc(capacity, sizeof(*output->lines));
    if (!output->lines)
        return -ENOMEM;
    for (size_t begin = 0; begin < size;) {
        const char *end = memchr(output->bytes + begin, '\n', size - begin);
        size_t length = end ? (size_t)(end - output->bytes) + 1 - begin : size - begin;
        output->lines[output->count++] = (struct tic_output_line){output->bytes + begin, length};
        begin += length;
    }
    return 0;
}

int tic_output_read(struct tic_output *output, const char *path)
{
    struct tic_output read = {.bytes = NULL};
    size_t size = 0;
    char buffer[65536];
    FILE *file = fopen(path, "re");

    if (!file)
        return -errno;
    FILE *memory = open_memstream(&read.bytes, &size);
    for (size_t got; memory && (got = fread(buffer, 1, sizeof(buffer), file)) > 0;)
        fwrite(buffer, 1, got, memory);
    bool failed = !memory || ferror(file) || ferror(memory);
    failed |= memory && fclose(memory) != 0;
    fclose(file);
    int status = failed ? -EIO : split(&read, size);
    if (status)
        free(read.bytes);
    else
        *output = read;
    return status;
}

void tic_output_free(struct tic_output *output)
{
    free(output->bytes);
    free(output->lines);
    *output = (struct tic_output){.bytes = NULL};
}

/* ---- comparing ------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct tic_output_line *left = a, *right = b;
    size_t shorter = left->length < right->length ? left->length : right->length;
    int order = memcmp(left->text, right->text, shorter);

    return order ? order : tic_order(left->length, right->length);
}

size_t tic_output_difference(const struct tic_output *a, const struct tic_output *b)
{
    size_t i = 0;

    while (i < a->count && i < b->count && compare(&a->lines[i], &b->lines[i]) == 0)
        i++;
    return i;
}

static bool is_equal(const struct tic_output *a, const struct tic_output *b)
{
    return a->count == b->count && tic_output_difference(a, b) == a->count;
}

/* The lines in order; the line that a kill has cut off is none. NULL when out of memory. */
static struct tic_output_line *sort(const struct tic_output *output, bool whole, size_t *count)
{
    struct tic_output_line *lines = calloc(output->count + 1, sizeof(*lines));

    *count = output->count;
    if (!lines)
        return NULL;
    if (output->count > 0)
        memcpy(lines, output->lines, output->count * sizeof(*lines));
    if (!whole && *count > 0 && lines[*count - 1].text[lines[*count - 1].length - 1] != '\n')
        --*count;
    tic_sort(lines, *count, compare);
    return lines;
}

/* How often the line is at *position and after it. */
static size_t count_equal(const struct tic_output_line *lines, size_t count, size_t *position,
                          const struct tic_output_line *line)
{
    size_t begin = *position;

    while (*position < count && compare(&lines[*position], line) == 0)
        ++*position;
    return *position - begin;
}

/* Sorted lines of one run, and how far they have been gone through. */
struct pile {
    struct tic_output_line *lines;
    size_t count, position;
};

/* Goes through the expected lines: a run has each no more often than expected, and all together
 * have it often enough. piles[0] is of the resumed run; the others count if it lacks lines. */
static enum tic_match match_piles(const struct pile *expected, struct pile *piles, unsigned count)
{
    enum tic_match match = TIC_MATCH_ORDER;
    bool killed_wrong = false;

    for (size_t i = 0; i < expected->count;) {
        const struct tic_output_line *line = &expected->lines[i];
        size_t wanted = count_equal(expected->lines, expected->count, &i, line), sum = 0;
        for (unsigned p = 0; p < count; p++) {
            size_t times = count_equal(piles[p].lines, piles[p].count, &piles[p].position, line);
            killed_wrong |= p > 0 && times > wanted;
            if (p == 0 && times < wanted)
                match = TIC_MATCH_UNION;
            if (p == 0 && times > wanted)
                return TIC_MATCH_NONE;
            sum += times;
        }
        if (sum < wanted)
            return TIC_MATCH_NONE;
    }
    for (unsigned p = 1; p < count; p++) /* a line that is not expected stops its pile */
        killed_wrong |= piles[p].position < piles[p].count;
    if (piles[0].position < piles[0].count || (match == TIC_MATCH_UNION && killed_wrong))
        return TIC_MATCH_NONE;
    return match;
}

enum tic_match tic_output_match(const struct tic_output *expected, const struct tic_output *output,
                                const struct tic_output *killed, unsigned killed_count)
{
    struct pile wanted, piles[TIC_OUTPUT_KILLED + 1];
    bool memory = true;

    if (is_equal(expected, output))
        return TIC_MATCH_EXACT;
    wanted.lines = sort(expected, true, &wanted.count);
    for (unsigned p = 0; p <= killed_count; p++) {
        piles[p].position = 0;
        piles[p].lines = sort(p == 0 ? output : &killed[p - 1], p == 0, &piles[p].count);
        memory &= piles[p].lines != NULL;
    }
    enum tic_match match =
        memory && wanted.lines ? match_piles(&wanted, piles, killed_count + 1) : TIC_MATCH_NONE;
    for (unsigned p = 0; p <= killed_count; p++)
        free(piles[p].lines);
    free(wanted.lines);
    return match;
}

const char *tic_output_show(const struct tic_output *output, size_t line, char *text, size_t size)
{
    size_t length = 0;

    if (line >= output->count)
        return "(no such line)";
    for (size_t i = 0; i < output->lines[line].length && length + 4 < size; i++) {
        char c = output->lines[line].text[i];
        if (c != '\n')
            text[length++] = c == '\t'                                               ? ' '
                             : isprint((unsigned char)c) || (unsigned char)c >= 0x80 ? c
                                                                                     : '?';
    }
    text[length] = '\0';
    if (length + 4 >= size)
        strcpy(text + length, "...");
    return text;
}
