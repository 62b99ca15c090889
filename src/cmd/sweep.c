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
    int naxis, axis_cap, random, folds;
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
            c->folds = (int)run_number("--folds", v, 2, SPLIT_MOST_BINS);
        } else if ((v = run_own_value("--random", argc, argv, &i))) {
            c->random = (int)run_number("--random", v, 1, 10000);
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

/* For --folds N, adds DATA.FOLD=1/N,2/N,... as the last axis. */
static void add_folds(struct choice_of_runs *c)
{
    struct strbuf axis = STRBUF_INIT;

    strbuf_addstr(&axis, "DATA.FOLD=");
    for (int k = 1; k <= c->folds; k++)
        strbuf_addf(&axis, "%s%d/%d", k > 1 ? "," : "", k, c->folds);
    GROW(c->axis, c->naxis, c->axis_cap);
    c->axis[c->naxis++] = strbuf_detach(&axis);
}

static void open_sweep(struct sweep *s, struct choice_of_runs *c)
{
    if (!s->output)
        usage("sweep needs --output DIR (the folder for its runs)");
    if (!c->naxis && !c->list && !c->folds)
        usage("sweep needs --grid KEY=VALUE,VALUE ..., --folds N, or --list FILE");
    if (c->folds && (s->halvings || c->random || c->list))
        usage("--folds cannot be combined with --halving, --random, or --list: it runs "
              "every fold of every combination");
    if (c->folds)
        add_folds(c);
    if (c->naxis)
        sweep_grid_add_axes(&s->grid, c->axis, c->naxis);
    if (c->list)
        sweep_grid_add_file(&s->grid, c->list);
    if (c->random && c->random < s->grid.n)
        sweep_grid_sample(&s->grid, c->random, c->seed);
    if (!s->grid.n)
        usage("'%s' has no runs", c->list);
    sweep_grid_check(&s->grid);
    if (!sweep_args_valid(s))
        exit(EXIT_USAGE);
    s->dir = path_join(s->output, "sweep");
    if (dir_make_all(s->dir))
        die("cannot create the folder '%s': %s", s->dir, strerror(errno));
    s->outcome = xcalloc((size_t)s->grid.n, sizeof(*s->outcome));
    s->live = xcalloc((size_t)s->grid.n, sizeof(*s->live));
    for (s->nlive = 0; s->nlive < s->grid.n; s->nlive++) {
        s->live[s->nlive] = s->nlive;
        s->outcome[s->nlive] = (struct outcome){.score = NAN, .value = NAN, .code = -1};
    }
}

static int sweep_main(int argc, char **argv)
{
    struct sweep s = {.jobs = 1};
    struct choice_of_runs c = {0};
    int sig, code;

    parse(&s, &c, argc, argv);
    open_sweep(&s, &c);
    log_info("running %d runs in '%s', %d in parallel", s.grid.n, s.output, s.jobs);
    sig = sweep_run_all(&s);
    code = sweep_report(&s);
    sweep_grid_release(&s.grid);
    return sig ? 128 + sig : code;
}

static const struct cmd_flag sweep_flags[] = {
    {"--output", "DIR",
     "folder for all runs; if it holds finished runs of this sweep, they are kept"},
    {"--grid", "KEY=A,B,... ...",
     "train every combination of these values; KEY=FROM:TO:STEP is a range"},
    {"--folds", "N",
     "cross-validation: train every combination N times (DATA.FOLD 1/N to N/N) and "
     "report "
     "mean and standard deviation over the folds"},
    {"--list", "FILE",
     "read one run per line: KEY=VALUE and flags, quoted as in a shell; # starts a "
     "comment"},
    {"--random", "N", "train only N randomly chosen runs"},
    {"--sample-seed", "N", "seed of --random (0)"},
    {"--jobs", "J", "number of parallel runs, which share the cores (1)"},
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
            "trainc sweep --cfg my.yaml --folds 5 --output folds", NULL},
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
