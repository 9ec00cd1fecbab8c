/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of a store, in memory: to start from them several times. */
#ifndef TIC_REPLAY_IMAGE_H
#define TIC_REPLAY_IMAGE_H

#include <stdint.h>

struct tic_image;

struct tic_image *tic_image_read(const char *directory);
void tic_image_free(struct tic_image *image);
/* The directory holds these files, and no others. */
void tic_image_write(const struct tic_image *image, const char *directory);
void tic_image_clear(const char *directory);
uint64_t tic_image_hash(const struct tic_image *image);

#endif
