/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The HTML of a report: head, style, text, and the frame of a picture with axes. Labels are HTML
 * and marks are SVG whose places are percentages, so that text stays readable at any width. */
#ifndef TIC_TOOLS_PAGE_H
#define TIC_TOOLS_PAGE_H

#include <stdio.h>

#include "tools/scale.h"

enum { TIC_PAGE_COLORS = 8 }; /* classes c0 to c7 of fills; c8: others */

void tic_page_begin(FILE *out, const char *title);
void tic_page_end(FILE *out);
/* Text, escaped. What is no UTF-8 becomes '?'. */
void tic_page_text(FILE *out, const char *text);
void tic_page_section(FILE *out, const char *title, const char *what);
void tic_page_section_end(FILE *out);
/* A number in large type with what it is: in an element of class "tiles". */
void tic_page_tile(FILE *out, const char *number, const char *what);

/* A mark on the axis below, at 0 to 1; of those with an odd index narrow pages show none. */
void tic_page_tick(FILE *out, double place, const char *text, unsigned index);

#endif
