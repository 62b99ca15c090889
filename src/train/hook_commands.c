#include "train/hook_commands.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/process.h"
#include "base/words.h"
#include "config/choice_tables.h"
#include "config/problems.h"
#include "config/records.h"
#include "dist/group.h"
#include "train/hooks.h"
#include "train/progress.h"
#include "train/signals.h"
#include "train/trainer_run.h"

static const struct config_hook *item(const struct config *cfg, int i)
{
    return RECORD(cfg->hooks, struct config_hook, i);
}

static const char *moment_name(int moment)
{
    const struct choice *c = choices_hook_moments;

    while (c->value != moment)
        c++;
    return c->name;
}

void hook_commands_check(const struct config *cfg, struct problems *p)
{
    for (int i = 0; i < cfg->hooks.n; i++) {
        const struct config_hook *h = item(cfg, i);
        char **words = words_split(h->run);

        if (!words)
            config_blame(cfg, p, KEYS("HOOKS"),
                         "HOOKS: item %d: a quote of '%s' is not closed", i, h->run);
        else if (!*words)
            config_blame(cfg, p, KEYS("HOOKS"), "HOOKS: item %d has an empty run", i);
        if (h->every > 1 && h->event != HOOK_STEP && h->event != HOOK_EPOCH)
            config_blame(cfg, p, KEYS("HOOKS"),
                         "HOOKS: item %d: every works only at step and epoch, not at %s",
                         i, moment_name(h->event));
        words_free(words);
    }
    if (cfg->hooks.n > COMMANDS_MAX)
        config_blame(cfg, p, KEYS("HOOKS"), "HOOKS has %d items, more than %d",
                     cfg->hooks.n, COMMANDS_MAX);
}

void hook_commands_init(struct hook_commands *h, const struct config *cfg)
{
    h->command = xcalloc((size_t)cfg->hooks.n + 1, sizeof(*h->command));
}

void hook_commands_release(struct hook_commands *h)
{
    free(h->command);
    *h = (struct hook_commands){0};
}

/* --- the environment ---------------------------------------------------------------- */

struct env {
    char **item; /* ended by NULL */
    int n, cap;
};

/* Takes ownership of `text`. */
static void put(struct env *e, char *text)
{
    GROW(e->item, e->n, e->cap);
    e->item[e->n++] = text;
}

/* Adds TRAINC_PREFIXNAME in capitals, unless the value is NaN. */
static void put_number(struct env *e, const char *prefix, const char *name, double value)
{
    char *text;

    if (isnan(value))
        return;
    text = xasprintf("TRAINC_%s%s=%.9g", prefix, name, value);
    for (char *c = text; *c != '='; c++)
        *c = (char)toupper((unsigned char)*c);
    put(e, text);
}

static void put_int(struct env *e, const char *name, int64_t value)
{
    put(e, xasprintf("TRAINC_%s=%lld", name, (long long)value));
}

/* Adds the value as one clean line, because scripts print values and compare lines. */
static void put_text(struct env *e, const char *name, const char *value)
{
    char *text;

    if (!value)
        return;
    text = xasprintf("TRAINC_%s=%s", name, value);
    one_line(text);
    put(e, text);
}

/* Adds a path unchanged, so that the command can open it. */
static void put_path(struct env *e, const char *name, const char *path)
{
    if (path)
        put(e, xasprintf("TRAINC_%s=%s", name, path));
}

static void put_scores(struct env *e, const struct trainer *t)
{
    const struct run_state *s = &t->state;
    enum model_task task = t->session.plan.task;

    for (int i = 0; i < SCORES; i++) {
        if (!score_of_task((enum score)i, task))
            continue;
        put_number(e, "VAL_", score_name((enum score)i), s->val.value[i]);
        put_number(e, "EMA_", score_name((enum score)i), s->ema.value[i]);
    }
    if (isnan(s->best_score))
        return;
    put_number(e, "BEST_", score_name(trainer_best(t)), s->best_score);
    put_int(e, "BEST_EPOCH", s->best_epoch);
}

static void put_training(struct env *e, const struct trainer *t, int moment)
{
    bool epoch = moment == HOOK_EPOCH;
    const struct train_line *l = &t->line;
    bool pixels = t->session.plan.model->family->task == MODEL_SEGMENT;
    const char *right = score_name(pixels ? SCORE_ACC : SCORE_TOP1);

    put_int(e, "EPOCH", t->state.epoch);
    put_int(e, "EPOCHS", t->cfg->train.epochs);
    put_int(e, "STEP", t->step);
    put_int(e, "STEPS", t->session.plan.updates);
    if (t->step > 0)
        put_number(e, "", "LR", trainer_lr(t, t->step - 1));
    if (!l->step && !epoch)
        return;
    put_number(e, "TRAIN_", "LOSS", epoch ? t->epoch_line.train_loss : l->loss);
    put_number(e, "TRAIN_", right, epoch ? t->epoch_line.train_right : l->right);
    put_number(e, "", "GRAD_NORM", l->grad_norm);
    put_number(e, "", "LOSS_SCALE", l->loss_scale);
    for (int k = 0; l->nscale > 1 && k < l->nscale; k++) {
        char *name = xasprintf("LOSS_SCALE_%d", k);

        put_number(e, "", name, l->scale[k]);
        free(name);
    }
    put_number(e, "", "IMAGES_PER_SECOND",
               epoch ? t->epoch_line.images_per_second : l->images_per_second);
}

static struct env environment(const struct trainer *t, int moment)
{
    const char *failure = moment == HOOK_END ? feed_failure(&t->feed) : NULL;
    struct env e = {0};

    for (char **text = environ; *text; text++)
        if (!process_owns(*text))
            put(&e, xstrdup(*text));
    put_text(&e, "HOOK", moment_name(moment));
    put_path(&e, "OUTPUT", t->output.dir);
    put_text(&e, "MODEL", t->cfg->model.name);
    put_text(&e, "TAG", t->cfg->tag);
    put_training(&e, t, moment);
    put_scores(&e, t);
    put_path(&e, "CHECKPOINT", t->checkpoint);
    if (moment == HOOK_END) {
        put_int(&e, "EXIT", t->code);
        put_text(&e, "ERROR", failure ? failure : t->diverged);
    }
    put(&e, NULL);
    return e;
}

static void env_release(struct env *e)
{
    for (int i = 0; i < e->n; i++)
        free(e->item[i]);
    free(e->item);
}

/* --- a command ---------------------------------------------------------------------- */

static void warn_of(const struct config_hook *h, const char *what)
{
    log_warning("hook '%s' at %s %s", h->run, moment_name(h->event), what);
}

static void warn_of_status(const struct config_hook *h, const struct command *c)
{
    struct strbuf s = STRBUF_INIT;

    command_add_status(&s, c);
    if (s.len)
        warn_of(h, s.buf);
    strbuf_release(&s);
}

static bool is_late(const struct config_hook *h, struct command *c)
{
    struct strbuf s = STRBUF_INIT;

    if (clock_now() - c->began < h->timeout)
        return false;
    command_stop(c);
    strbuf_addf(&s, "was killed after its %g seconds", h->timeout);
    warn_of(h, s.buf);
    strbuf_release(&s);
    return true;
}

/* Waits until the command ends, its timeout expires, or the run must stop. */
static void wait_for(const struct config_hook *h, struct command *c)
{
    while (!command_ended(c, fmin(1, fmax(0, c->began + h->timeout - clock_now())))) {
        if (is_late(h, c))
            return;
        if (h->event != HOOK_END && signals_pending()) {
            command_stop(c);
            warn_of(h, "was killed: the run is stopping");
            return;
        }
    }
    warn_of_status(h, c);
}

static void start(const struct config_hook *h, struct command *c, const struct env *e)
{
    const char *shell[] = {"/bin/sh", "-c", h->run, NULL};
    char **words = h->shell ? NULL : words_split(h->run);
    struct strbuf why = STRBUF_INIT;

    progress_wipe();
    if (!command_start(c, h->shell ? shell : (const char *const *)words, e->item, &why))
        warn_of(h, why.buf);
    else if (h->wait || h->event == HOOK_END)
        wait_for(h, c);
    strbuf_release(&why);
    words_free(words);
}

/* Reports background commands that have ended; kills those that exceed their timeout. */
static void look_after(const struct config *cfg, struct hook_commands *all)
{
    for (int i = 0; i < cfg->hooks.n; i++) {
        struct command *c = &all->command[i];

        if (!c->pid)
            continue;
        if (command_ended(c, 0))
            warn_of_status(item(cfg, i), c);
        else
            (void)is_late(item(cfg, i), c);
    }
}

static void stop_all(const struct config *cfg, struct hook_commands *all)
{
    for (int i = 0; i < cfg->hooks.n; i++)
        if (all->command[i].pid) {
            command_stop(&all->command[i]);
            warn_of(item(cfg, i), "was killed: the run is over");
        }
}

static bool is_due(const struct trainer *t, const struct config_hook *h, int moment)
{
    int64_t count = moment == HOOK_STEP ? t->step : t->state.epoch;

    return h->event == moment && count % h->every == 0;
}

static void call(struct trainer *t, int moment)
{
    const struct config *cfg = t->cfg;
    struct hook_commands *all = &t->commands;
    struct env e = {0};

    if (!dist_is_first() || !cfg->hooks.n)
        return;
    look_after(cfg, all);
    for (int i = 0; i < cfg->hooks.n; i++) {
        const struct config_hook *h = item(cfg, i);

        if (!is_due(t, h, moment))
            continue;
        if (!e.n)
            e = environment(t, moment);
        if (all->command[i].pid)
            warn_of(h, "was skipped: the previous one is still running");
        else
            start(h, &all->command[i], &e);
    }
    env_release(&e);
    if (moment == HOOK_END)
        stop_all(cfg, all);
}

const struct hook hook_commands = {.name = "commands", .any = call};
