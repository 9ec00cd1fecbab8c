/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* STARPU_TIC_TYPES: rules, one after the other, with ; between them. */
#include "base/type_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/types.h"

enum kind { OF_ID, OF_SIZE, OF_CODELET, OF_ARGUMENTS };

struct rule {
    enum kind kind;
    uint64_t number;  /* id, or size; of a codelet the buffer, or ANY */
    const char *name; /* of the codelet, not ended by '\0' */
    size_t length;
    uint64_t type;
};
#define ANY UINT64_MAX

/* Immutable after tic_type_rules_set(). */
static struct rule *rules;
static size_t rule_count;
static bool name_codelets;

/* False: there are others than digits, or none. */
static bool parse_number(const char *text, size_t length, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || *number > UINT32_MAX)
            return false;
        *number = *number * 10 + (uint64_t)(text[i] - '0');
    }
    return length > 0;
}

/* codelet, codelet.buffer or codelet:args */
static bool parse_codelet(const char *key, size_t length, struct rule *rule)
{
    static const char arguments[] = ":args";
    const size_t end = sizeof(arguments) - 1;
    const char *dot = memrchr(key, '.', length);

    *rule = (struct rule){OF_CODELET, ANY, key, length, 0};
    if (length >= end && memcmp(key + length - end, arguments, end) == 0) {
        rule->kind = OF_ARGUMENTS;
        rule->length -= end;
    } else if (dot && parse_number(dot + 1, (size_t)(key + length - dot - 1), &rule->number)) {
        rule->length = (size_t)(dot - key);
    } else {
        rule->number = ANY;
    }
    return rule->length > 0;
}

static bool parse_rule(const char *text, size_t length, struct rule *rule)
{
    const char *sign = memrchr(text, '=', length);
    size_t key = sign ? (size_t)(sign - text) : 0;
    bool fine = key > 0;

    *rule = (struct rule){.kind = OF_SIZE};
    if (fine && text[0] == '#') {
        rule->kind = OF_ID;
        fine = parse_number(text + 1, key - 1, &rule->number);
    } else if (fine && !parse_number(text, key, &rule->number)) {
        fine = parse_codelet(text, key, rule);
    }
    rule->type = fine ? tic_type_find(sign + 1, length - key - 1) : TIC_TYPE_UNKNOWN;
    return rule->type != TIC_TYPE_UNKNOWN &&
           (rule->kind != OF_SIZE ||
            (rule->number > 0 && rule->number % tic_type_bytes(rule->type) == 0));
}

/* How many; -1: not valid. to: NULL, or room for them. */
static long parse(const char *text, struct rule *to)
{
    long found = 0;

    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ";");
        struct rule rule;
        if (length > 0 && !parse_rule(at, length, &rule))
            return -1;
        if (length > 0 && to)
            to[found] = rule;
        found += length > 0;
        at += length + (at[length] == ';');
    }
    return found;
}

bool tic_type_rules_are_valid(const char *text)
{
    return parse(text, NULL) >= 0;
}

bool tic_type_rules_set(const char *text)
{
    long found = parse(text, NULL);
    struct rule *parsed = calloc(found > 0 ? (size_t)found : 1, sizeof(*parsed));

    if (!parsed)
        return false;
    free(rules);
    rules = parsed;
    rule_count = found > 0 ? (size_t)found : 0;
    parse(text, rules);
    name_codelets = false;
    for (size_t i = 0; i < rule_count; i++)
        name_codelets |= rules[i].kind == OF_CODELET;
    return true;
}

bool tic_type_rules_name_codelets(void)
{
    return name_codelets;
}

/* A rule with the number comes before one without. */
static uint64_t find(enum kind kind, uint64_t number, const char *name)
{
    uint64_t type = TIC_TYPE_UNKNOWN;

    for (size_t i = 0; i < rule_count; i++) {
        const struct rule *rule = &rules[i];
        if (rule->kind != kind || (rule->number != number && rule->number != ANY) ||
            (name && (strlen(name) != rule->length || memcmp(name, rule->name, rule->length) != 0)))
            continue;
        if (rule->number == number)
            return rule->type;
        type = rule->type;
    }
    return type;
}

uint64_t tic_type_rule_of_id(uint64_t id)
{
    return find(OF_ID, id, NULL);
}

uint64_t tic_type_rule_of_size(uint64_t element_size)
{
    return find(OF_SIZE, element_size, NULL);
}

uint64_t tic_type_rule_of_codelet(const char *name, unsigned buffer)
{
    return find(OF_CODELET, buffer, name);
}

uint64_t tic_type_rule_of_arguments(const char *name)
{
    return find(OF_ARGUMENTS, ANY, name);
}
