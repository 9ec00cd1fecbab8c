/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What every unit test includes: cmocka and the headers it wants before it. */
#ifndef TIC_LIB_TESTING_H
#define TIC_LIB_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIC_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
