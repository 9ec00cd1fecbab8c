/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text of a program as JSON, which is UTF-8. */
#pragma once

#include <jansson.h>

/* Bytes that are not UTF-8 are shown as \xHH. */
json_t *tic_json_text(const char *bytes);
/* JSON has neither NaN nor infinity: null. */
json_t *tic_json_real(double number);
/* Prints it, numbers with so many digits, and frees it. */
void tic_json_print(json_t *json, unsigned digits);
