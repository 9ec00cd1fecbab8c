/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Exit status of a program that uses the fake StarPU in a way that StarPU forbids or the fake
 * lacks. Includes nothing of StarPU. */
#ifndef TIC_REPLAY_FAKE_STATUS_H
#define TIC_REPLAY_FAKE_STATUS_H

enum { TIC_FAKE_EXIT_MISUSE = 90 };

#endif
