/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* STARPU_TIC_TYPES: types of elements that the user declares for a program that does not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Is the text one? docs: settings.def. */
bool tic_type_rules_are_valid(const char *text);
/* Those of this process, from a valid text, which stays; before other threads ask. False: out of
 * memory. */
bool tic_type_rules_set(const char *text);

/* Types by what a rule names; TIC_TYPE_UNKNOWN: there is none. */
uint64_t tic_type_rule_of_id(uint64_t id);
uint64_t tic_type_rule_of_size(uint64_t element_size);
uint64_t tic_type_rule_of_codelet(const char *name, unsigned buffer);
uint64_t tic_type_rule_of_arguments(const char *name);
/* Is there one of a codelet? */
bool tic_type_rules_name_codelets(void);
