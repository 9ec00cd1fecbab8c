/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pace of checkpoints: what each one costs the program, and the period that is chosen from
 * that. */
#include "snapshot/pace.h"

#include <math.h>

#include "base/error.h"

/* A period that differs by more than this factor is told. */
#define TOLD_FACTOR 2
/* The longest period, s, as of the setting; no checkpoint takes that long. */
#define MOST_SECONDS 1e9

static void publish(struct tic_pace *pace)
{
    const struct tic_adaptive_measured *measured = &pace->measured;

    atomic_store_explicit(&pace->cost_ns, (uint64_t)(measured->t_c * 1e9), memory_order_relaxed);
    atomic_store_explicit(&pace->latency_ns, (uint64_t)(measured->t_l * 1e9), memory_order_relaxed);
}

double tic_pace_init(struct tic_pace *pace, const struct tic_settings *settings)
{
    enum tic_interval_rule rule;

    pace->adaptive = settings->period == TIC_PERIOD_AUTO;
    if (!pace->adaptive && (settings->max_recovery > 0 || settings->max_overhead > 0))
        tic_log(TIC_LOG_INFO, "STARPU_TIC_MAX_RECOVERY and STARPU_TIC_MAX_OVERHEAD have no effect "
                              "without STARPU_TIC_PERIOD=auto");
    if (!pace->adaptive)
        return settings->period;
    pace->bounds =
        (struct tic_adaptive_bounds){.mtbf = settings->mtbf,
                                     .max_recovery = settings->max_recovery,
                                     .max_overhead = (double)settings->max_overhead / 100};
    pace->told = tic_adaptive_period(&pace->measured, &pace->bounds, &rule);
    return pace->told;
}

void tic_pace_resume(struct tic_pace *pace, uint64_t cost_ns, uint64_t latency_ns)
{
    bool is_known =
        latency_ns > 0 && fmax((double)latency_ns, (double)cost_ns) < MOST_SECONDS * 1e9;

    if (!is_known || pace->measured.checkpoints > 0)
        return;
    pace->measured = (struct tic_adaptive_measured){
        .checkpoints = 1, .t_c = (double)cost_ns * 1e-9, .t_l = (double)latency_ns * 1e-9};
    publish(pace);
}

void tic_pace_begin(struct tic_pace *pace, const struct tic_pace_reading *reading)
{
    pace->begun = *reading;
}

static double seconds_between(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) * 1e-9 : 0;
}

/* What a checkpoint took of the processors, and the program did not have for that, s: no more than
 * it had less of them than between the checkpoints. Where tasks wait for a device or sleep, it may
 * have taken what nobody wanted. All of it counts if that cannot be told. */
static double seconds_lost(const struct tic_pace *pace, const struct tic_pace_reading *reading)
{
    const struct tic_pace_reading *begun = &pace->begun, *before = &pace->ended;
    double duration = seconds_between(begun->now, reading->now);
    double apart = before->now > 0 ? seconds_between(before->now, begun->now) : 0;
    double taken = seconds_between(begun->processor, reading->processor);

    if (apart < duration || apart <= 0)
        return taken;
    double usual = seconds_between(before->others, begun->others) / apart * duration;
    double lost = usual - seconds_between(begun->others, reading->others);
    return lost < 0 ? 0 : fmin(lost, taken);
}

/* How long a checkpoint takes, but for tasks of its cut that it waits for: the longest of late. One
 * during which the process was stopped does not count for much. */
static void note_took(struct tic_pace *pace, double took, double period)
{
    double least = pace->took * 7 / 8, most = 2 * pace->took + period;

    atomic_store_explicit(&pace->last_took_ns, (uint64_t)(took > 0 ? took * 1e9 : 0),
                          memory_order_relaxed);
    pace->took = took < least ? least : took > most ? most : took;
}

void tic_pace_end(struct tic_pace *pace, const struct tic_pace_reading *reading, uint64_t cut_ns,
                  uint64_t waited_ns, double period, unsigned workers, unsigned processors)
{
    const struct tic_pace_reading *begun = &pace->begun;
    struct tic_adaptive_sample sample = {.held = seconds_between(begun->held, reading->held),
                                         .workers = workers,
                                         .main_held =
                                             seconds_between(begun->main_held, reading->main_held),
                                         .processor = seconds_lost(pace, reading),
                                         .processors = processors,
                                         .duration = seconds_between(begun->now, reading->now),
                                         .latency = seconds_between(cut_ns, reading->now)};

    if (pace->ended.now > 0 || pace->measured.checkpoints == 0)
        tic_adaptive_measure(&pace->measured, &sample, period);
    pace->ended = *reading;
    publish(pace);
    note_took(pace, sample.duration - (double)waited_ns * 1e-9, period);
}

double tic_checkpoint_wait(double period, double took, double since)
{
    double early = took < period / 2 ? took : period / 2;
    double wait = period - early - since, least = took / 2 < period ? took / 2 : period;

    return wait > least ? wait : least;
}

/* ---- the period ------------------------------------------------------------------------------ */

static void tell_period(struct tic_pace *pace, double period)
{
    const struct tic_adaptive_measured *measured = &pace->measured;

    if (period <= TOLD_FACTOR * pace->told && pace->told <= TOLD_FACTOR * period)
        return;
    tic_log(
        TIC_LOG_DETAIL,
        "the period between checkpoints is %.3g seconds now, it was %.3g: a checkpoint costs the "
        "program %.3g seconds, and is committed %.3g seconds after its cut",
        period, pace->told, measured->t_c, measured->t_l);
    pace->told = period;
}

/* Once. */
static void tell_missed(struct tic_pace *pace, enum tic_interval_rule rule)
{
    const struct tic_adaptive_measured *measured = &pace->measured;
    const struct tic_adaptive_bounds *bounds = &pace->bounds;
    bool hopeless = rule == TIC_INTERVAL_FLOOR && bounds->mtbf <= measured->t_l;

    if (pace->told_missed)
        return;
    if (rule == TIC_INTERVAL_UNMET)
        tic_log(TIC_LOG_WARN,
                "STARPU_TIC_MAX_RECOVERY=%g is not met: it takes %.3g seconds until a recovery "
                "line is committed",
                bounds->max_recovery, measured->t_l);
    else if (rule == TIC_INTERVAL_CONFLICT)
        tic_log(TIC_LOG_WARN,
                "STARPU_TIC_MAX_OVERHEAD=%g is not met: a checkpoint costs %.3g s, and "
                "STARPU_TIC_MAX_RECOVERY=%g",
                100 * bounds->max_overhead, measured->t_c, bounds->max_recovery);
    else if (hopeless)
        tic_log(TIC_LOG_WARN,
                "it takes %.3g seconds until a recovery line is committed, no less than "
                "STARPU_TIC_MTBF=%g",
                measured->t_l, bounds->mtbf);
    pace->told_missed = rule == TIC_INTERVAL_UNMET || rule == TIC_INTERVAL_CONFLICT || hopeless;
}

/* A checkpoint begins before the period is over, for its line to be committed then: by what it
 * takes the period is longer than the time between cuts, which the model means. */
double tic_pace_choose(struct tic_pace *pace, double period)
{
    enum tic_interval_rule rule;

    if (!pace->adaptive || pace->measured.checkpoints == 0)
        return period;
    period = tic_adaptive_period(&pace->measured, &pace->bounds, &rule) + pace->took;
    period = fmin(period, MOST_SECONDS);
    tell_period(pace, period);
    tell_missed(pace, rule);
    return period;
}
