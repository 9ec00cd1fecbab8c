/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings from the environment (STARPU_TIC_*), checked completely before anything starts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TIC_SETTING_PREFIX "STARPU_TIC_"

enum tic_protocol { TIC_PROTOCOL_OFF, TIC_PROTOCOL_TIC, TIC_PROTOCOL_SEL, TIC_PROTOCOL_TIC_SEL };
/* As the user writes them. */
extern const char *const tic_protocol_names[];
enum tic_sync { TIC_SYNC_NEVER, TIC_SYNC_COMMIT };
enum tic_inputs { TIC_INPUTS_IGNORE, TIC_INPUTS_CHECK, TIC_INPUTS_SAVE };
enum tic_pointers { TIC_POINTERS_REFUSE, TIC_POINTERS_TRUST };
enum tic_arguments { TIC_ARGUMENTS_COMPARE, TIC_ARGUMENTS_IGNORE };
enum tic_program { TIC_PROGRAM_SAME, TIC_PROGRAM_ANY };
enum tic_unused { TIC_UNUSED_RESTORE, TIC_UNUSED_LEAVE };
enum tic_devices { TIC_DEVICES_TRIED, TIC_DEVICES_ALL };
enum tic_ranks_wanted { TIC_RANKS_REFUSE, TIC_RANKS_TRY };
enum tic_worker_numbers { TIC_WORKERS_RECORDED, TIC_WORKERS_REAL };

/* Signals that STARPU_TIC_STOP names; a set of them has bit i for the i-th. */
enum { TIC_STOP_SIGNALS = 4 };
struct tic_stop_signal {
    const char *name; /* as the user writes it */
    int number;
};
extern const struct tic_stop_signal tic_stop_signals[TIC_STOP_SIGNALS];

/* C types of the kinds that settings.def names. */
typedef const char *tic_kind_string;
typedef const char *tic_kind_path;
typedef double tic_kind_seconds;
typedef double tic_kind_period;
#define TIC_PERIOD_AUTO 0.0
typedef double tic_kind_bound; /* seconds; 0: none */
typedef double tic_kind_patience;
#define TIC_PATIENCE_DEFAULT (-1.0)
typedef unsigned long tic_kind_count;
typedef unsigned long tic_kind_bytes;
typedef unsigned long tic_kind_lines;
typedef unsigned long tic_kind_percent;
typedef int tic_kind_digit;
typedef int tic_kind_level;
typedef bool tic_kind_flag;
typedef enum tic_protocol tic_kind_protocol;
typedef enum tic_sync tic_kind_sync;
typedef enum tic_pointers tic_kind_pointers;
typedef enum tic_arguments tic_kind_arguments;
typedef enum tic_inputs tic_kind_inputs;
typedef enum tic_unused tic_kind_unused;
typedef enum tic_program tic_kind_program;
typedef enum tic_devices tic_kind_devices;
typedef enum tic_ranks_wanted tic_kind_ranks;
typedef enum tic_worker_numbers tic_kind_workers;
typedef unsigned tic_kind_signals;
typedef const char *tic_kind_types; /* type_rules.h */

struct tic_settings {
#define SETTING(field, NAME, kind, fallback, values, help) tic_kind_##kind field;
#include "base/settings.def"
#undef SETTING
};

/* One row of the table, for listing. */
struct tic_setting_row {
    const char *field;
    const char *name; /* whole environment variable */
    const char *kind;
    const char *fallback;
    const char *values;
    const char *help;
};
extern const struct tic_setting_row tic_setting_rows[];
extern const size_t tic_setting_count;

/* Reads all settings from the environment through `get` (getenv, or a test's own).
 * 0, or -EINVAL after writing one sentence about the first bad value into message. Strings point
 * into the environment, paths are absolute (base/path.h). Unknown STARPU_TIC_* variables are an
 * error too: a typing mistake must not silently mean "default". */
int tic_settings_read(struct tic_settings *out, const char *(*get)(const char *name),
                      char *const *environment, char *message, size_t message_size);

/* Is the name one of a list with commas? */
bool tic_settings_list_has(const char *list, const char *name);
