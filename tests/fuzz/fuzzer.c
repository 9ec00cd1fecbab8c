/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program that a fuzzer of a reader is. */
#include "fuzz/fuzzer.h"

#include <stdlib.h>
#include <time.h>

#include "lib/random.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzz_start(getenv("TIC_FUZZ_STORE"));
    return 0;
}

#ifndef TIC_LIBFUZZER
int main(int argc, char **argv)
{
    struct tic_random random;
    uint8_t bytes[256];
    unsigned long inputs = 0;

    if (argc != 4)
        return 2;
    fuzz_start(argv[1]);
    tic_random_init(&random, strtoull(argv[2], NULL, 10));
    time_t end = time(NULL) + atol(argv[3]);
    do {
        tic_random_fill(&random, bytes, sizeof(bytes));
        LLVMFuzzerTestOneInput(bytes, sizeof(bytes));
        inputs++;
    } while (time(NULL) < end);
    return fuzz_finish(inputs);
}
#endif
