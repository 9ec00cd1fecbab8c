/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpu-tic interval: the models of the checkpoint interval, side by side. */
#include <getopt.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/numbers.h"
#include "interval/models.h"
#include "interval/phi.h"
#include "tools/json_text.h"
#include "tools/draw.h"
#include "tools/tool.h"
#include "tools/waste.h"
#include "tools/arguments.h"
#include "store/store.h"

struct tic_measured {
    uint64_t line;  /* number of the recovery line that tells; 0: the statistics do */
    double cost;    /* s, >= 0: of a checkpoint to the program */
    double latency; /* s, > 0: from cut to commit */
    double period;  /* s, > 0: between checkpoints, as it was set or chosen */
    double between; /* s, > 0: the time between two cuts that this means */
};

/* ---- what a run has measured ----------------------------------------------------------------- */

/* What the checkpoints of a run cost, as its recovery lines or its statistics tell. */

static bool is_complete(const struct tic_measured *measured)
{
    return measured->cost >= 0 && measured->latency > 0 && measured->period > 0;
}

/* Lines come from the newest one on. */
static bool take_line(void *arg, const char *name, int status, struct tic_line *line)
{
    struct tic_measured *measured = arg;
    const struct tic_account *account = &line->account;

    (void)name;
    if (status == 0)
        *measured = (struct tic_measured){.line = line->number,
                                          .cost = (double)account->cost * 1e-9,
                                          .latency = (double)account->latency * 1e-9,
                                          .period = (double)account->period * 1e-9};
    return status == 0 && is_complete(measured);
}

static int read_directory(const char *path, struct tic_measured *measured)
{
    struct tic_store store;
    int status = tic_tool_open_store(&store, path);

    if (status == 0) {
        status = tic_store_walk(&store, take_line, measured);
        tic_store_close(&store);
    }
    if (status)
        tic_arguments_cannot_read(path, status);
    else if (!is_complete(measured))
        fprintf(stderr,
                "starpu-tic: no undamaged recovery line in %s tells what a checkpoint costs: each "
                "run's second line is the first that does\n",
                path);
    return is_complete(measured) ? 0 : -1;
}

static int read_statistics(const char *path, struct tic_measured *measured)
{
    json_error_t error;
    json_t *stats = json_load_file(path, 0, &error);

    measured->cost = json_number_value(json_object_get(stats, "checkpoint_cost_seconds"));
    measured->latency = json_number_value(json_object_get(stats, "checkpoint_latency_seconds"));
    measured->period = json_number_value(json_object_get(stats, "period_seconds"));
    if (!stats)
        fprintf(stderr, "starpu-tic: cannot read %s: %s\n", path, error.text);
    else if (!is_complete(measured))
        fprintf(stderr, "starpu-tic: %s does not tell what a checkpoint costs\n", path);
    json_decref(stats);
    return is_complete(measured) ? 0 : -1;
}

/* path: a directory of recovery lines, or a file of statistics (STARPU_TIC_STATS). 0, or -1 after a
 * message. */
static int tic_measured_read(const char *path, struct tic_measured *measured)
{
    struct tic_measured found = {0};
    struct stat info;
    bool is_file = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    int status = is_file ? read_statistics(path, &found) : read_directory(path, &found);

    if (status)
        return status;
    /* A checkpoint begins so early that its line is committed when the period is over. */
    double early = found.latency < found.period / 2 ? found.latency : found.period / 2;
    found.between = found.period - early;
    *measured = found;
    return 0;
}

/* Bounds on numbers that are not 0: intervals neither overflow nor underflow. */
#define LEAST_NUMBER 1e-12
#define MOST_NUMBER 1e12
#define MOST_PROCESSES 1e9

struct request {
    struct tic_interval_costs costs;
    double processes;             /* number, whole; 0: unknown */
    double work;                  /* s: run time without checkpoints and faults */
    double period;                /* s, > t_c: to be judged as well; 0: none */
    const char *from, *plot;      /* paths, or NULL */
    struct tic_measured measured; /* with `from` */
    bool as_json;
};

/* A model's interval, and its judgement of that interval and of the period of the request. */
struct row {
    const char *name, *source;
    struct tic_interval_choice choice;
    double wall, waste;               /* s, share: at the interval of the model */
    double period_wall, period_waste; /* s, share: at the period of the request */
};

/* ---- options --------------------------------------------------------------------------------- */

enum kind { KIND_TIME, KIND_POSITIVE, KIND_SHARE, KIND_COUNT };
static const char *const kind_words[] = {
    [KIND_TIME] = "0, or a number of seconds from 1e-12 to 1e12",
    [KIND_POSITIVE] = "a number of seconds from 1e-12 to 1e12",
    [KIND_SHARE] = "0, or a number from 1e-12 to 1",
    [KIND_COUNT] = "a whole number from 1 to 1e9",
};

/* Options with a number: its place in the request, and its line of the help. */
static const struct number {
    const char *name;
    size_t offset;
    enum kind kind;
    const char *help;
} numbers[] = {
    {"tc", offsetof(struct request, costs.t_c), KIND_TIME,
     "stop of the program for one checkpoint, storage included; needed"},
    {"mtbf", offsetof(struct request, costs.mtbf), KIND_POSITIVE,
     "mean time between faults of the whole system; needed"},
    {"tl", offsetof(struct request, costs.t_l), KIND_TIME, "loading of one checkpoint (--tc)"},
    {"td", offsetof(struct request, costs.t_d), KIND_TIME, "latency of fault detection (0)"},
    {"phi", offsetof(struct request, costs.phi), KIND_SHARE,
     "mean share of the processes that one fault stalls (1)"},
    {"processes", offsetof(struct request, processes), KIND_COUNT,
     "number N of processes: phi is 1/N at least"},
    {"log-rate", offsetof(struct request, costs.log_rate), KIND_SHARE,
     "share of the time that message logging takes (0)"},
    {"replay", offsetof(struct request, costs.t_replay), KIND_TIME,
     "handling of the message log after a fault (0)"},
    {"least", offsetof(struct request, costs.least), KIND_POSITIVE,
     "shortest interval, such as the longest task (0.001)"},
    {"max-recovery", offsetof(struct request, costs.max_recovery), KIND_POSITIVE,
     "bound on the recovery time of one fault (none)"},
    {"max-overhead", offsetof(struct request, costs.max_overhead), KIND_SHARE,
     "bound on the share of the time that checkpoints take (none)"},
    {"work", offsetof(struct request, work), KIND_POSITIVE,
     "run time without checkpoints and faults (--mtbf)"},
    {"period", offsetof(struct request, period), KIND_POSITIVE,
     "judge this period, too: an interval and --tc"},
};
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]), FIRST_NUMBER = 256 };

static const struct option words[] = {{"help", no_argument, NULL, 'h'},
                                      {"json", no_argument, NULL, 'j'},
                                      {"from", required_argument, NULL, 'f'},
                                      {"plot", required_argument, NULL, 'p'}};
enum { WORDS = sizeof(words) / sizeof(words[0]) };

static bool is_of_kind(double number, enum kind kind)
{
    switch (kind) {
    case KIND_TIME:
        return number >= 0;
    case KIND_POSITIVE:
        return number > 0;
    case KIND_SHARE:
        return number >= 0 && number <= 1;
    default:
        return number >= 1 && number <= MOST_PROCESSES && floor(number) == number;
    }
}

static bool parse_number(const char *text, const struct number *option, struct request *request)
{
    char *end;
    double number = tic_numbers_parse(text, &end);
    bool plain = text[0] >= '.' && text[0] <= '9' && *end == '\0';
    bool good = plain && (number == 0 || number >= LEAST_NUMBER) && number <= MOST_NUMBER &&
                is_of_kind(number, option->kind);

    if (good)
        *(double *)((char *)request + option->offset) = number;
    else
        fprintf(stderr, "starpu-tic: --%s %s: it must be %s\n", option->name, text,
                kind_words[option->kind]);
    return good;
}

static void print_help(void)
{
    tic_tool_usage("interval", TIC_TOOL_OK);
    putchar('\n');
    for (size_t i = 0; i < NUMBERS; i++) {
        const char *argument = numbers[i].kind == KIND_SHARE   ? "SHARE"
                               : numbers[i].kind == KIND_COUNT ? "N"
                                                               : "SECONDS";
        printf("      --%-12s %-8s %s\n", numbers[i].name, argument, numbers[i].help);
    }
    puts("      --from         PATH     measure --tc, --tl and --period in the recovery lines of "
         "this\n"
         "                              directory, or in this file of statistics\n"
         "      --plot         FILE     draw the waste against the period as an SVG picture\n"
         "  -j, --json                  print a JSON object\n\n"
         "Defaults are in parentheses. An interval is useful work between two checkpoints; a\n"
         "period is an interval and --tc. The wall time is expected for --work seconds of work,\n"
         "the waste is its share that is not work. Exit status: 0, or 1 where no interval meets\n"
         "--max-recovery and --max-overhead.");
}

/* What the options do not say. False after a message. */
static bool take_measured(struct request *request)
{
    struct tic_interval_costs *costs = &request->costs;
    struct tic_measured *measured = &request->measured;

    if (!request->from)
        return true;
    if (tic_measured_read(request->from, measured) != 0)
        return false;
    costs->t_c = isnan(costs->t_c) ? measured->cost : costs->t_c;
    costs->t_l = isnan(costs->t_l) ? measured->latency : costs->t_l;
    if (request->period == 0 && measured->between > costs->t_c)
        request->period = measured->between;
    return true;
}

/* Fills in defaults, and checks options against each other. False after a message. */
static bool complete(struct request *request)
{
    struct tic_interval_costs *costs = &request->costs;
    const char *field, *missing = isnan(costs->t_c) ? "tc" : isnan(costs->mtbf) ? "mtbf" : NULL;

    if (missing) {
        fprintf(stderr, "starpu-tic: --%s is needed\n",
                strcmp(missing, "tc") == 0 ? "tc, or --from," : missing);
        return false;
    }
    costs->t_l = isnan(costs->t_l) ? costs->t_c : costs->t_l;
    costs->processes = (unsigned long)request->processes;
    request->work = isnan(request->work) ? costs->mtbf : request->work;
    if (request->period > 0 && request->period <= costs->t_c)
        fprintf(stderr, "starpu-tic: --period %g: it must be longer than --tc\n", request->period);
    else if (costs->phi == 0 && costs->processes == 0)
        fputs("starpu-tic: --phi 0: it must be above 0, or --processes must be given\n", stderr);
    else if (tic_interval_costs_check(costs, &field) != 0)
        fprintf(stderr, "starpu-tic: %s is out of its range\n", field);
    else
        return true;
    return false;
}

/* -1, or an exit status. */
static int parse_options(int argc, char **argv, struct request *request)
{
    struct option options[NUMBERS + WORDS + 1] = {{0}};
    int option;

    memcpy(options, words, sizeof(words));
    for (int i = 0; i < NUMBERS; i++)
        options[i + WORDS] =
            (struct option){numbers[i].name, required_argument, NULL, FIRST_NUMBER + i};
    while ((option = getopt_long(argc, argv, "hj", options, NULL)) != -1) {
        if (option == 'h') {
            print_help();
            return TIC_TOOL_OK;
        }
        if (option == '?')
            return tic_tool_usage("interval", TIC_TOOL_USAGE);
        if (option == 'j')
            request->as_json = true;
        else if (option == 'f')
            request->from = optarg;
        else if (option == 'p')
            request->plot = optarg;
        else if (!parse_number(optarg, &numbers[option - FIRST_NUMBER], request))
            return TIC_TOOL_USAGE;
    }
    if (optind != argc)
        return tic_tool_usage("interval", TIC_TOOL_USAGE);
    if (!isnan(request->costs.mtbf) && !take_measured(request))
        return TIC_TOOL_FAILED;
    return complete(request) ? -1 : TIC_TOOL_USAGE;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const char *const rule_names[] = {
    [TIC_INTERVAL_OPTIMUM] = "optimum",     [TIC_INTERVAL_FLOOR] = "floor",
    [TIC_INTERVAL_CAPPED] = "capped",       [TIC_INTERVAL_UNMET] = "unmet",
    [TIC_INTERVAL_STRETCHED] = "stretched", [TIC_INTERVAL_CONFLICT] = "conflict",
};
static const char *const rule_notes[TIC_INTERVAL_RULES] = {
    [TIC_INTERVAL_FLOOR] = "no optimum of --least or more: the interval is --least",
    [TIC_INTERVAL_CAPPED] = "the optimum breaks --max-recovery: the interval is shortened",
    [TIC_INTERVAL_UNMET] = "no interval meets --max-recovery: the interval is --least",
    [TIC_INTERVAL_STRETCHED] = "the optimum breaks --max-overhead: the interval is lengthened",
    [TIC_INTERVAL_CONFLICT] =
        "no interval meets both bounds: the interval meets --max-recovery only",
};

static struct row judge(enum tic_interval_model model, const struct request *request)
{
    const struct tic_interval_costs *costs = &request->costs;
    struct row row = {.name = tic_interval_names[model],
                      .source = tic_interval_sources[model],
                      .choice = tic_interval_choose(model, costs)};

    row.wall = tic_interval_wall(model, costs, row.choice.interval, request->work);
    row.waste = tic_interval_waste(row.wall, request->work);
    if (request->period > 0) {
        double interval = request->period - costs->t_c;
        row.period_wall = tic_interval_wall(model, costs, interval, request->work);
        row.period_waste = tic_interval_waste(row.period_wall, request->work);
    }
    return row;
}

static json_t *costs_json(const struct request *request)
{
    const struct tic_interval_costs *costs = &request->costs;

    return json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:I, s:f, s:f, s:f, s:o, s:o, s:f}", "tc", costs->t_c, "tl",
        costs->t_l, "td", costs->t_d, "mtbf", costs->mtbf, "phi",
        tic_interval_phi_clamp(costs->phi, costs->processes), "processes",
        (json_int_t)costs->processes, "log_rate", costs->log_rate, "replay", costs->t_replay,
        "least", costs->least, "max_recovery",
        tic_json_real(costs->max_recovery > 0 ? costs->max_recovery : NAN), "max_overhead",
        tic_json_real(costs->max_overhead > 0 ? costs->max_overhead : NAN), "work", request->work);
}

static json_t *measured_json(const struct tic_measured *measured)
{
    return json_pack("{s:I, s:f, s:f, s:f}", "line", (json_int_t)measured->line, "tc",
                     measured->cost, "tl", measured->latency, "period", measured->period);
}

static json_t *row_json(const struct row *row, const struct request *request)
{
    json_t *object =
        json_pack("{s:s, s:s, s:f, s:f, s:s, s:o, s:o}", "model", row->name, "source", row->source,
                  "interval", row->choice.interval, "period",
                  row->choice.interval + request->costs.t_c, "rule", rule_names[row->choice.rule],
                  "wall", tic_json_real(row->wall), "waste", tic_json_real(row->waste));

    if (request->period > 0)
        json_object_set_new(object, "at_period",
                            json_pack("{s:f, s:o, s:o}", "period", request->period, "wall",
                                      tic_json_real(row->period_wall), "waste",
                                      tic_json_real(row->period_waste)));
    return object;
}

static void print_json(const struct row *rows, const struct request *request)
{
    json_t *models = json_array();

    for (int i = 0; i < TIC_INTERVAL_MODELS; i++)
        json_array_append_new(models, row_json(&rows[i], request));
    json_t *answer = json_pack("{s:o, s:o}", "costs", costs_json(request), "models", models);
    if (request->from)
        json_object_set_new(answer, "measured", measured_json(&request->measured));
    tic_json_print(answer, 17);
}

static void print_seconds(int width, double seconds)
{
    if (isnan(seconds))
        printf("%*s", width, "-");
    else if (isinf(seconds))
        printf("%*s", width, "never");
    else
        printf("%*.*f", width, seconds < 1e8 ? 3 : 0, seconds);
}

static void print_wall(double wall, double waste)
{
    print_seconds(15, wall);
    if (isnan(waste))
        printf("%9s", "-");
    else
        printf("%7.2f %%", 100 * waste);
}

static void print_measured(const struct tic_measured *measured)
{
    if (measured->line > 0)
        printf("measured up to line %llu", (unsigned long long)measured->line);
    else
        printf("measured");
    printf(
        ": a checkpoint costs the program %.3g s, and is committed %.3g s after its cut; a period "
        "of %.4g s, in which cuts are %.4g s apart\n",
        measured->cost, measured->latency, measured->period, measured->between);
}

static void print_costs(const struct request *request)
{
    const struct tic_interval_costs *costs = &request->costs;

    if (request->from)
        print_measured(&request->measured);
    printf("checkpoint %g s, loading %g s, detection %g s, MTBF %g s\n", costs->t_c, costs->t_l,
           costs->t_d, costs->mtbf);
    printf("phi %g, message logging %g %% of the time, replay %g s\n",
           tic_interval_phi_clamp(costs->phi, costs->processes), 100 * costs->log_rate,
           costs->t_replay);
    printf("times in seconds; wall times are expected for %g s of work\n\n", request->work);
}

static void print_table(const struct row *rows, const struct request *request)
{
    char at_period[32];
    bool unknown = false;

    print_costs(request);
    snprintf(at_period, sizeof(at_period), "at %g s", request->period);
    printf("%-22s%13s%13s%15s%9s", "model", "interval", "period", "wall time", "waste");
    if (request->period > 0)
        printf("%15s%9s", at_period, "waste");
    putchar('\n');
    for (int i = 0; i < TIC_INTERVAL_MODELS; i++) {
        printf("%-22s", rows[i].name);
        print_seconds(13, rows[i].choice.interval);
        print_seconds(13, rows[i].choice.interval + request->costs.t_c);
        print_wall(rows[i].wall, rows[i].waste);
        if (request->period > 0)
            print_wall(rows[i].period_wall, rows[i].period_waste);
        putchar('\n');
        unknown |= isnan(rows[i].wall) || isnan(rows[i].period_wall);
    }
    for (int i = 0; i < TIC_INTERVAL_MODELS; i++)
        if (rule_notes[rows[i].choice.rule])
            printf("%s: %s\n", rows[i].name, rule_notes[rows[i].choice.rule]);
    if (unknown)
        puts("-: the model does not hold there");
}

static void write_curves(FILE *out, const void *data)
{
    const struct request *request = data;
    json_t *answer = tic_waste_json(&request->costs, request->work, request->period);

    json_object_set_new(answer, "costs", costs_json(request));
    json_dumpf(answer, out, JSON_REAL_PRECISION(17));
    json_decref(answer);
}

int tic_tool_interval(int argc, char **argv)
{
    struct request request = {
        .costs = {.t_c = NAN, .t_l = NAN, .mtbf = NAN, .phi = 1, .least = TIC_INTERVAL_LEAST},
        .work = NAN};
    struct row rows[TIC_INTERVAL_MODELS];
    int status = parse_options(argc, argv, &request);

    if (status >= 0)
        return status;
    status = TIC_TOOL_OK;
    for (int i = 0; i < TIC_INTERVAL_MODELS; i++) {
        rows[i] = judge(i, &request);
        if (rows[i].choice.rule == TIC_INTERVAL_UNMET ||
            rows[i].choice.rule == TIC_INTERVAL_CONFLICT)
            status = TIC_TOOL_FAILED;
    }
    if (request.as_json)
        print_json(rows, &request);
    else
        print_table(rows, &request);
    if (request.plot &&
        tic_draw_put(tic_draw("interval", write_curves, &request), request.plot) != TIC_TOOL_OK)
        status = TIC_TOOL_FAILED;
    return status;
}
