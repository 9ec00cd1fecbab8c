/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The real StarPU functions behind our wrappers, all resolved together, once they are there. */
#include "real/real.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

struct tic_real tic_real;
__thread int tic_guard __attribute__((tls_model("initial-exec")));

/* The tables agree with the headers of the StarPU that this is built for. */
#define REAL(type, name, parameters)                                                               \
    _Static_assert(__builtin_types_compatible_p(__typeof__(name), type parameters),                \
                   "StarPU declares " #name " differently");
#define UNSUPPORTED(type, name, parameters, arguments) REAL(type, name, parameters)
#define SWITCH(name, kind, instead, parameters, arguments, all) REAL(void, name, parameters)
#define ANSWER(number, type, name, parameters, arguments, key) REAL(type, name, parameters)
#include "real/real.def"
#include "real/answers.def"
#include "real/switches.def"
#include "real/unsupported.def"
#undef REAL
#undef SWITCH
#undef UNSUPPORTED
#undef ANSWER

struct entry {
    const char *name;
    size_t offset;
    bool needed;
};

static const struct entry entries[] = {
#define REAL(type, name, parameters) {#name, offsetof(struct tic_real, name), true},
#include "real/real.def"
#undef REAL
#define ANSWER(number, type, name, parameters, arguments, key)                                     \
    {#name, offsetof(struct tic_real, name), true},
#include "real/answers.def"
#undef ANSWER
#define UNSUPPORTED(type, name, parameters, arguments)                                             \
    {#name, offsetof(struct tic_real, name), false},
#include "real/unsupported.def"
#undef UNSUPPORTED
#define SWITCH(name, kind, instead, parameters, arguments, all)                                    \
    {#name, offsetof(struct tic_real, name), false},
#include "real/switches.def"
#undef SWITCH
};

static pthread_mutex_t resolving = PTHREAD_MUTEX_INITIALIZER; /* a leaf, but for the loader's */
static _Atomic bool complete;                                 /* release: none is missing */
static const char *first_missing;                             /* guarded by resolving until then */
static unsigned long long loads; /* of objects, at the last try; 0: there was none; the same */

static int open_if_starpu(struct dl_phdr_info *object, size_t size, void *library)
{
    static const char start[] = "libstarpu-" PACKAGE_STARPU_VERSION ".so";
    const char *slash = strrchr(object->dlpi_name, '/');

    (void)size;
    if (slash && strncmp(slash + 1, start, strlen(start)) == 0)
        *(void **)library = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return *(void **)library != NULL;
}

/* Preloaded or linked first, the next definition is StarPU's. As a scheduler library that StarPU
 * itself opened, nothing comes next, and the default scope holds StarPU's. A program that has
 * opened it for itself (RTLD_LOCAL), as Python does, has it in neither. */
static void *find(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name), *library = NULL;
    if (found)
        return found;
    Dl_info there, here;
    found = dlsym(RTLD_DEFAULT, name);
    bool is_ours = found && dladdr(found, &there) && dladdr((void *)&tic_real, &here) &&
                   there.dli_fbase == here.dli_fbase;
    if (found && !is_ours)
        return found;
    dl_iterate_phdr(open_if_starpu, &library);
    return library ? dlsym(library, name) : NULL;
}

static void resolve_all(void)
{
    first_missing = NULL;
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        void *found = find(entries[i].name);
        memcpy((char *)&tic_real + entries[i].offset, &found, sizeof(found));
        if (!found && entries[i].needed && !first_missing)
            first_missing = entries[i].name;
    }
}

static int take_loads(struct dl_phdr_info *object, size_t size, void *count)
{
    (void)size;
    *(unsigned long long *)count = object->dlpi_adds;
    return 1;
}

/* A program may open StarPU later. */
static void try_again(void)
{
    unsigned long long now = 0;

    dl_iterate_phdr(take_loads, &now);
    if (now == loads)
        return;
    loads = now;
    resolve_all();
    atomic_store_explicit(&complete, first_missing == NULL, memory_order_release);
}

bool tic_real_resolve(const char **missing)
{
    bool found = atomic_load_explicit(&complete, memory_order_acquire);

    if (!found) {
        pthread_mutex_lock(&resolving);
        if (!atomic_load(&complete))
            try_again();
        found = first_missing == NULL;
        if (missing)
            *missing = first_missing;
        pthread_mutex_unlock(&resolving);
    } else if (missing) {
        *missing = NULL;
    }
    return found;
}
