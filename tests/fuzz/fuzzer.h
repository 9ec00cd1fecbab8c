/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program that a fuzzer of a reader is: with libFuzzer, or by itself, with choices from a seed.
 *
 * PROGRAM STORE SEED SECONDS, or libFuzzer's arguments with TIC_FUZZ_STORE=STORE */
#ifndef TIC_FUZZ_FUZZER_H
#define TIC_FUZZ_FUZZER_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* ---- what a fuzzer defines ------------------------------------------------------------------ */
/* From the store in this directory; ends the process if it cannot. */
void fuzz_start(const char *directory);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* After so many inputs, none of which ended the process: tells what was done; exit status. */
int fuzz_finish(unsigned long inputs);

#endif
