/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stream of calls that recorder.c writes and powerloss.c reads: records of this head, then
 * name_size bytes of name, then `size` bytes if it is a write. */
#ifndef TIC_LIB_STREAM_H
#define TIC_LIB_STREAM_H

#include <stdint.h>

enum tic_call {
    TIC_CALL_CREATE, /* name; file: the new inode */
    TIC_CALL_WRITE,  /* file, offset, size */
    TIC_CALL_RESIZE, /* file, size: the new one; no bytes follow */
    TIC_CALL_SYNC,   /* file; 0: the directory */
    TIC_CALL_RENAME, /* name: from, NUL, to */
    TIC_CALL_UNLINK, /* name */
};

struct tic_call_head {
    uint32_t call;
    uint32_t name_size;
    uint64_t file;
    uint64_t offset;
    uint64_t size;
};

#endif
