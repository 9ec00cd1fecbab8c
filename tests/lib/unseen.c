/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU programs that read and write registered memory behind StarPU's back, and are right all the
 * same, because they wait, or order their tasks by other means: unseen MODE [N]; N, 0.5 as well,
 * multiplies the number of phases, `unseen list` prints the modes. Prints a hash of what main() has
 * seen and of the data at the end: the same in every run, on any number of workers. */
#include "lib/unseen.h"

static const struct mode modes[] = {
    /* main() reads, and decides, after a wait */
    {"history", run_history},
    {"history-4096", run_history_4096},
    {"history-4104", run_history_4104},
    {"decide", run_decide},
    {"sumlarge", run_sumlarge},
    {"flag", run_flag},
    {"flag-acquire", run_flag_acquire},
    {"flag-decide", run_flag_decide},
    {"flag-many", run_flag_many},
    /* main() and tasks access what is not theirs, between waits */
    {"rescale", run_rescale},
    {"phases50", run_phases50},
    {"phaseread", run_phaseread},
    {"ownwork", run_ownwork},
    {"noacquire-init", run_noacquire_init},
    {"reads-only", run_reads_only},
    {"closed", run_closed},
    /* kernels write what they do not declare, or not as written */
    {"kernelwrite-arg", run_kernelwrite_arg},
    {"kernelwrite-global", run_kernelwrite_global},
    {"kernelwrite-never", run_kernelwrite_never},
    {"kernelwrite-leaves", run_kernelwrite_leaves},
    {"read-kept", run_read_kept},
    {"kernelwrite-token", run_kernelwrite_token},
    {"declared-read", run_declared_read},
    {"padding", run_padding},
    /* kernels write memory that nobody registered */
    {"result-arg", run_result_arg},
    {"result-global", run_result_global},
    {"result-synchronous", run_result_synchronous},
    {"kernel-state", run_kernel_state},
    /* tasks that write no data reach it otherwise; arguments and sizes as results */
    {"readglobal", run_readglobal},
    {"readglobal-large", run_readglobal_large},
    {"readhalo", run_readhalo},
    {"readrows", run_readrows},
    {"argresult", run_argresult},
    {"argstate", run_argstate},
    {"argshared", run_argshared},
    {"argcallback", run_argcallback},
    {"resize", run_resize},
    /* data that only stands for other data */
    {"void-arg", run_void_arg},
    {"void-global", run_void_global},
    {"void-unregistered", run_void_unregistered},
    {"acquiretoken", run_acquiretoken},
    /* main() and callbacks access data while other tasks run */
    {"partialwait", run_partialwait},
    {"partialwait-keep", run_partialwait_keep},
    {"fillsubmit", run_fillsubmit},
    {"callbackread", run_callbackread},
    {"callbackwrite", run_callbackwrite},
    {"callbackwrite-other", run_callbackwrite_other},
    {"callbackread-large", run_callbackread_large},
    {"wokenread", run_wokenread},
    {"finished", run_finished},
    {"finishedmany", run_finishedmany},
    {"callbackworker", run_callbackworker},
    {"condition", run_condition},
    {"asking", run_asking},
    {"joined", run_joined},
    {"paused", run_paused},
    {"polling", run_polling},
    /* parts of data, data registered again */
    {"partition", run_partition},
    {"planned", run_planned},
    {"parted", run_parted},
    {"plannedread", run_plannedread},
    {"rereg", run_rereg},
    {"overlap", run_overlap},
    {"halves", run_halves},
    {"twoplans", run_twoplans},
};
enum { MODES = sizeof(modes) / sizeof(*modes) };

static uint64_t history;
static double scale = 1;

void note(uint64_t value)
{
    history = mix(history, value);
}

unsigned phases(unsigned usual)
{
    unsigned scaled = (unsigned)(usual * scale);

    return scaled > 0 ? scaled : 1;
}

static int list_modes(void)
{
    for (int i = 0; i < MODES; i++)
        puts(modes[i].name);
    return 0;
}

int main(int argc, char **argv)
{
    const struct mode *mode = modes;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: unseen MODE [N] | unseen list\n");
        return 2;
    }
    if (strcmp(argv[1], "list") == 0)
        return list_modes();
    while (mode < modes + MODES && strcmp(mode->name, argv[1]) != 0)
        mode++;
    if (mode == modes + MODES || (argc == 3 && !((scale = atof(argv[2])) > 0))) {
        fprintf(stderr, "unseen: no such mode or number\n");
        return 2;
    }
    if (starpu_init(NULL) != 0)
        return 77;
    mode->run();
    starpu_shutdown();
    printf("%s %016" PRIx64 "\n", mode->name, history);
    return 0;
}
