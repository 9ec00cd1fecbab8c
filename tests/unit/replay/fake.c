/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The fake StarPU's start and end, messages, and lists. */
#include "fake_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned (*tic_fake_choose_task)(unsigned count);
void (*tic_fake_tell)(const char *event, const char *name);

static unsigned starts;

void fake_stop(const char *what)
{
    fprintf(stderr, "fake StarPU: %s\n", what);
    _exit(TIC_FAKE_EXIT_MISUSE);
}

void fake_note(const char *event, const char *name)
{
    if (tic_fake_tell)
        tic_fake_tell(event, name ? name : "-");
}

void fake_list_add(struct fake_list *list, void *item)
{
    list->items = realloc(list->items, (list->count + 1) * sizeof(void *));
    if (!list->items)
        fake_stop("out of memory");
    list->items[list->count++] = item;
}

void *fake_list_take(struct fake_list *list, unsigned index)
{
    void *item = list->items[index];

    memmove(list->items + index, list->items + index + 1, (--list->count - index) * sizeof(void *));
    return item;
}

void fake_list_remove(struct fake_list *list, const void *item)
{
    for (unsigned i = list->count; i-- > 0;)
        if (list->items[i] == item)
            fake_list_take(list, i);
}

/* ---- life ------------------------------------------------------------------------------------ */

int starpu_conf_init(struct starpu_conf *conf)
{
    memset(conf, 0, sizeof(*conf));
    conf->magic = 42;
    conf->ncpus = -1;
    return 0;
}

int starpu_initialize(struct starpu_conf *conf, int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (starts++ > 0)
        return 0;
    if (!conf || !conf->sched_policy)
        fake_stop("a program for it names tic_fake_policy in starpu_conf");
    fake_policy = *conf->sched_policy;
    fake_workers_start(conf->ncpus > 0 ? (unsigned)conf->ncpus : 1);
    return 0;
}

int starpu_init(struct starpu_conf *conf)
{
    return starpu_initialize(conf, NULL, NULL);
}

void starpu_shutdown(void)
{
    if (--starts > 0)
        return;
    starpu_task_wait_for_all();
    fake_workers_stop();
}

void starpu_get_version(int *major, int *minor, int *release)
{
    *major = STARPU_MAJOR_VERSION;
    *minor = STARPU_MINOR_VERSION;
    *release = STARPU_RELEASE_VERSION;
}

#undef starpu_profiling_status_get
int starpu_profiling_status_get(void)
{
    return STARPU_PROFILING_DISABLE;
}
