/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The real StarPU functions behind our wrappers, all resolved together. The plug-in does not
 * link StarPU: preloaded into a shell, it must not drag a runtime in. */
#pragma once

#include <starpu.h>
#include <starpu_scheduler.h>
#include <stdbool.h>

#include "real/versions.h"

#undef starpu_task_submit /* a macro where StarPU traces with FxT */

struct tic_real {
#define REAL(type, name, parameters) type(*name) parameters;
#include "real/real.def"
#undef REAL
#define ANSWER(number, type, name, parameters, arguments, key) type(*name) parameters;
#include "real/answers.def"
#undef ANSWER
#define UNSUPPORTED(type, name, parameters, arguments) type(*name) parameters;
#include "real/unsupported.def"
#undef UNSUPPORTED
#define SWITCH(name, kind, instead, parameters, arguments, all) void(*name) parameters;
#include "real/switches.def"
#undef SWITCH
};

/* Immutable after tic_real_resolve has returned true. */
extern struct tic_real tic_real;
/* Depth of real calls on this thread: nested calls of StarPU's own are not the application's. */
extern __thread int tic_guard __attribute__((tls_model("initial-exec")));

/* Resolves everything, as soon as StarPU is loaded. True when no needed function is missing; else
 * *missing names the first (protection is then impossible, the program itself may be fine). */
bool tic_real_resolve(const char **missing);

/* ---- for wrappers ---------------------------------------------------------------------------- */

#define WRAPPER __attribute__((visibility("default")))
/* The real function even if nobody was called before us. */
#define RESOLVED(name) (tic_real_resolve(NULL), tic_real.name)
