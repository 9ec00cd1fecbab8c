/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The real StarPU functions behind our wrappers, all resolved together, once. */
#include "real/real.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

struct tic_real tic_real;

/* The tables agree with the headers of the StarPU that this is built for. */
#define REAL(type, name, parameters)                                                               \
    _Static_assert(__builtin_types_compatible_p(__typeof__(name), type parameters),                \
                   "StarPU declares " #name " differently");
#define UNSUPPORTED(type, name, parameters, arguments) REAL(type, name, parameters)
#define SWITCH(name, parameters, arguments) REAL(void, name, parameters)
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
#define SWITCH(name, parameters, arguments) {#name, offsetof(struct tic_real, name), false},
#include "real/switches.def"
#undef SWITCH
};

static const char *first_missing; /* immutable after resolve_all */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Preloaded or linked first, the next definition is StarPU's. As a scheduler library that StarPU
 * itself opened, nothing comes next, and the default scope holds StarPU's. */
static void *find(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found)
        return found;
    Dl_info there, here;
    found = dlsym(RTLD_DEFAULT, name);
    if (found && dladdr(found, &there) && dladdr((void *)&once, &here) &&
        there.dli_fbase == here.dli_fbase)
        return NULL;
    return found;
}

static void resolve_all(void)
{
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        void *found = find(entries[i].name);
        memcpy((char *)&tic_real + entries[i].offset, &found, sizeof(found));
        if (!found && entries[i].needed && !first_missing)
            first_missing = entries[i].name;
    }
}

bool tic_real_resolve(const char **missing)
{
    pthread_once(&once, resolve_all);
    if (missing)
        *missing = first_missing;
    return first_missing == NULL;
}
