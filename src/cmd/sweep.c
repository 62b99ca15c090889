/* trainc sweep: trains many runs in one folder and ranks them. */
#include "cmd/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/run.h"
#include "cmd/sweep_space.h"
#include "dataset/split.h"

/* True for flags that the sweep sets for each run. */
static bool is_sweep_flag(const char *word)
{
    static const char *const flag[] = {"--tag", "--result", "--progress"};

    for (size_t i = 0; i < sizeof(flag) / sizeof(*flag); i++)
        if (!strncmp(word, flag[i], strlen(flag[i])) &&
            strchr("=", word[strlen(flag[i])]))
            return true;
    return false;
}

struct choice_of_runs {
    char **axis;
    int naxis, axis_cap, random, tpe, folds, seeds;
    uint64_t seed;
    const char *list;
};

static void parse(struct sweep *s, struct choice_of_runs *c, int argc, char **argv)
{
    const char *v;

    for (int i = 0; i < argc; i++) {
        if (!strcmp(argv[i], "--grid")) {
            while (i + 1 < argc && argv[i + 1][0] != '-') {
                GROW(c->axis, c->naxis, c->axis_cap);
                c->axis[c->naxis++] = argv[++i];
            }
        } else if ((v = run_own_value("--list", argc, argv, &i))) {
            c->list = v;
        } else if ((v = run_own_value("--folds", argc, argv, &i))) {
            c->folds = (int)run_number("--folds", v, 2, SPLIT_MAX_BINS);
        } else if ((v = run_own_value("--random", argc, argv, &i))) {
            c->random = (int)run_number("--random", v, 1, 10000);
        } else if ((v = run_own_value("--tpe", argc, argv, &i))) {
            c->tpe = (int)run_number("--tpe", v, 1, 10000);
        } else if ((v = run_own_value("--seeds", argc, argv, &i))) {
            c->seeds = (int)run_number("--seeds", v, 2, 1000);
        } else if ((v = run_own_value("--devices", argc, argv, &i))) {
            s->device = sweep_grid_values(v, &s->ndevice);
        } else if ((v = run_own_value("--sample-seed", argc, argv, &i))) {
            c->seed = (uint64_t)run_number("--sample-seed", v, 0, 1 << 30);
        } else if ((v = run_own_value("--jobs", argc, argv, &i))) {
            s->jobs = (int)run_number("--jobs", v, 1, 1024);
        } else if ((v = run_own_value("--halving", argc, argv, &i))) {
            s->halvings = (int)run_number("--halving", v, 0, SWEEP_HALVINGS);
        } else if ((v = run_own_value("--metric", argc, argv, &i))) {
            s->metric = v;
        } else if ((v = run_own_value("--output", argc, argv, &i))) {
            s->output = v;
        } else if (is_sweep_flag(argv[i])) {
            usage("%s cannot be given: the sweep sets it for each run", argv[i]);
        } else {
            GROW(s->given, s->ngiven, s->given_cap);
            s->given[s->ngiven++] = argv[i];
        }
    }
}

static void add_axis(struct choice_of_runs *c, struct strbuf *axis)
{
    GROW(c->axis, c->naxis, c->axis_cap);
    c->axis[c->naxis++] = strbuf_detach(axis);
}

/* For --folds N, adds DATA.FOLD=1/N,2/N,... as the last axis; for --seeds N, SEED=0,1,... */
static void add_repetitions(struct choice_of_runs *c)
{
    struct strbuf folds = STRBUF_INIT, seeds = STRBUF_INIT;

    for (int k = 1; k <= c->folds; k++)
        strbuf_addf(&folds, "%s%d/%d", k > 1 ? "," : "DATA.FOLD=", k, c->folds);
    for (int k = 0; k < c->seeds; k++)
        strbuf_addf(&seeds, "%s%d", k ? "," : "SEED=", k);
    if (c->folds)
        add_axis(c, &folds);
    if (c->seeds)
        add_axis(c, &seeds);
}

/* True if values are drawn, not enumerated. */
static bool searches(const struct choice_of_runs *c)
{
    bool drawn = false;

    for (int i = 0; i < c->naxis; i++)
        drawn |= space_is_distribution(c->axis[i]);
    return c->tpe || drawn;
}

static void check_choice(const struct sweep *s, const struct choice_of_runs *c)
{
    bool repeats = c->folds || c->seeds;

    if (!s->output)
        usage("sweep needs --output DIR (the folder for its runs)");
    if (!c->naxis && !c->list && !repeats)
        usage("sweep needs --grid KEY=VALUE,VALUE ..., --folds N, --seeds N, or --list "
              "FILE");
    if (repeats && (s->halvings || c->random || c->tpe || c->list))
        usage(
            "--folds and --seeds cannot be combined with --halving, --random, --tpe, or "
            "--list: they run every fold and seed of every combination");
    if (c->tpe && (s->halvings || c->random || c->list || !c->naxis))
        usage("--tpe needs --grid, and cannot be combined with --halving, --random, or "
              "--list");
    if (searches(c) && !c->tpe && !c->random)
        usage("values that are drawn need --random N or --tpe N, the number of runs");
    if (searches(c) && c->list)
        usage("--list cannot be combined with values that are drawn");
    if (s->ndevice && s->jobs && s->jobs != s->ndevice)
        usage("--devices names %d devices, one per parallel run, but --jobs is %d",
              s->ndevice, s->jobs);
}

static void make_folder(struct sweep *s)
{
    if (!sweep_args_valid(s))
        exit(EXIT_USAGE);
    s->dir = path_join(s->output, "sweep");
    if (dir_make_all(s->dir))
        die("cannot create the folder '%s': %s", s->dir, strerror(errno));
}

void sweep_grow(struct sweep *s, int first)
{
    s->outcome = xrealloc(s->outcome, (size_t)s->grid.n * sizeof(*s->outcome));
    s->live = xrealloc(s->live, (size_t)s->grid.n * sizeof(*s->live));
    s->nlive = 0;
    for (int i = first; i < s->grid.n; i++) {
        s->live[s->nlive++] = i;
        s->outcome[i] = (struct outcome){.score = NAN, .value = NAN, .code = -1};
    }
}

/* Enumerates the runs, and runs them. Returns the signal that stopped them, or 0. */
static int run_grid(struct sweep *s, struct choice_of_runs *c)
{
    add_repetitions(c);
    if (c->naxis)
        sweep_grid_add_axes(&s->grid, c->axis, c->naxis);
    if (c->list)
        sweep_grid_add_file(&s->grid, c->list);
    if (c->random && c->random < s->grid.n)
        sweep_grid_sample(&s->grid, c->random, c->seed);
    if (!s->grid.n)
        usage("'%s' has no runs", c->list);
    sweep_grid_check(&s->grid);
    make_folder(s);
    sweep_grow(s, 0);
    log_info("running %d runs in '%s', %d in parallel", s->grid.n, s->output, s->jobs);
    return sweep_run_all(s);
}

/* Draws the runs, and runs them. Returns the signal that stopped them, or 0. */
static int run_search(struct sweep *s, const struct choice_of_runs *c)
{
    int n = c->tpe ? c->tpe : c->random;
    struct space space;

    space_init(&space, c->axis, c->naxis); /* exits if an axis is invalid */
    space_release(&space);
    make_folder(s);
    log_info("running %d runs in '%s', %d in parallel: values are %s", n, s->output,
             s->jobs, c->tpe ? "proposed from the results so far" : "drawn at random");
    return sweep_search(s, c->axis, c->naxis, n, c->seed, c->tpe > 0);
}

static int sweep_main(int argc, char **argv)
{
    struct sweep s = {0};
    struct choice_of_runs c = {0};
    int sig, code;

    parse(&s, &c, argc, argv);
    check_choice(&s, &c);
    if (!s.jobs)
        s.jobs = s.ndevice ? s.ndevice : 1;
    sig = searches(&c) ? run_search(&s, &c) : run_grid(&s, &c);
    code = sweep_report(&s);
    sweep_grid_release(&s.grid);
    return sig ? 128 + sig : code;
}

static const struct cmd_flag sweep_flags[] = {
    {"--output", "DIR",
     "folder for all runs; if it holds finished runs of this sweep, they are kept"},
    {"--grid", "KEY=A,B,... ...",
     "train every combination of these values; KEY=FROM:TO:STEP is a range; with "
     "--random "
     "or --tpe also KEY=log(LOW,HIGH), uniform(LOW,HIGH), or int(LOW,HIGH)"},
    {"--folds", "N",
     "cross-validation: train every combination N times (DATA.FOLD 1/N to N/N) and "
     "report "
     "mean and standard deviation over the folds"},
    {"--list", "FILE",
     "read one run per line: KEY=VALUE and flags, quoted as in a shell; # starts a "
     "comment"},
    {"--seeds", "N",
     "train every combination with SEED 0 to N-1 and report mean and standard deviation"},
    {"--random", "N", "train only N randomly chosen runs"},
    {"--tpe", "N",
     "train N runs whose values are proposed from the results so far (tree-structured "
     "Parzen estimator)"},
    {"--sample-seed", "N", "seed of --random and --tpe (0)"},
    {"--jobs", "J", "number of parallel runs, which share the cores (1)"},
    {"--devices", "A,B,...", "a device for each parallel run: cuda:0,cuda:1"},
    {"--halving", "R",
     "successive halving in R rungs: stop the worse half of the runs after 1/2^R of the "
     "steps, half of the others after twice as many, ..."},
    {"--metric", "NAME",
     "key of the result file to sort by; for a loss, smaller is better (best_top1 or "
     "best_miou)"},
    {0},
};

const struct verb cmd_sweep = {
    .name = "sweep",
    .examples =
        (const char *const[]){
            "trainc sweep --cfg my.yaml --grid TRAIN.BASE_LR=0.01,0.1 --output sweep",
            "trainc sweep --cfg my.yaml --folds 5 --output folds",
            "trainc sweep --cfg my.yaml --grid \"TRAIN.BASE_LR=log(1e-4,1e-1)\" --tpe 30 "
            "--output search",
            NULL},
    .help = "train many runs that differ in some keys, and rank them",
    .about =
        "All other arguments are those of trainc train. Each run has its own folder "
        "below "
        "--output, and its log and result in DIR/sweep. DIR/sweep.csv has one row per "
        "run, "
        "best first. DIR/sweep_mean.csv has the mean and standard deviation of runs that "
        "differ only in fold or seed. A failed run is reported with the last line of its "
        "log; the other runs continue.",
    .flags = sweep_flags,
    .main = sweep_main,
};
