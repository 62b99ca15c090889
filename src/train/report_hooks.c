/* The hook that starts the report of a run, and functions that training calls elsewhere:
 * for the last validation, and for the page when the result is known. */
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "dist/group.h"
#include "train/hooks.h"
#include "train/report_hooks.h"
#include "train/run_files.h"

static void failed(const char *error, int code, void *arg)
{
    const struct trainer *t = arg;

    run_files_end(t->output.dir, &t->result, code, error, true);
}

static void begin(struct trainer *t)
{
    if (!dist_is_first() || !t->cfg->log.report)
        return;
    run_files_begin(t->output.dir, &t->session);
    t->result.failed = failed;
    t->result.failed_arg = t;
}

const struct hook hook_report = {.name = "report", .run = {[HOOK_START] = begin}};

/* True if this is probably the run's last validation. */
static bool is_last(const struct trainer *t)
{
    const struct config_train *c = &t->cfg->train;

    return t->state.epoch + 1 >= c->epochs || trainer_out_of_steps(t, t->step) ||
           (c->early_stop && !isnan(t->state.best_score) &&
            t->state.epoch - t->state.best_epoch >= c->early_stop);
}

bool report_evaluate(struct trainer *t)
{
    struct report r;
    bool whole;

    if (!t->cfg->log.report || !is_last(t))
        return evaluate(&t->session, &t->feed, "Val", &t->evaluation);
    report_init(&r, t->feed.val, &t->feed.classes);
    r.model = t->cfg->model.name;
    whole = evaluate_report(&t->session, &t->feed, "Val", &t->evaluation, &r);
    if (whole && dist_is_first())
        run_files_report(t->output.dir, &r, t->cfg);
    report_release(&r);
    return whole;
}

void report_catch_up(struct trainer *t)
{
    char *path = t->output.dir ? path_join(t->output.dir, "report/report.json") : NULL;
    bool missing = dist_is_first() && !file_exists(path);
    struct report r;

    free(path);
    if (!t->cfg->log.report || !t->resumed || t->train_images || t->diverged ||
        trainer_asked_to_stop(t) || !dist_max(missing))
        return;
    log_info("report/ is missing: validating the run to create it");
    report_init(&r, t->feed.val, &t->feed.classes);
    r.model = t->cfg->model.name;
    if (evaluate_report(&t->session, &t->feed, "Val", &t->evaluation, &r) &&
        dist_is_first())
        run_files_report(t->output.dir, &r, t->cfg);
    report_release(&r);
}

void report_end(const struct trainer *t)
{
    if (dist_is_first() && t->cfg->log.report && !feed_failure(&t->feed) && !t->diverged)
        run_files_end(t->output.dir, &t->result, t->code, NULL, t->train_images > 0);
}
