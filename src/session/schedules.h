/*
 * The schedules of the learning rate, one row each: TRAIN.LR_SCHEDULER.NAME names one.
 * Their formulas are those of ops/schedule_formula.h, which count updates; what the keys
 * give in epochs becomes updates here.
 *
 * A new schedule is its formula, with an enum schedule_kind, and a row in schedules.c.
 */
#ifndef SESSION_SCHEDULES_H
#define SESSION_SCHEDULES_H

#include "base/names.h"
#include "config/config.h"
#include "config/problems.h"
#include "ops/schedule_formula.h"
#include "session/plateau.h"

struct lr_schedule {
    const char *name;
    const char *help;
    enum schedule_kind kind;
    /* The keys that it reads and others do not, NULL at the end; NULL: none. */
    const char *const *reads;
    /* The key by which it warms up instead of TRAIN.WARMUP_EPOCHS; NULL: none. */
    const char *warms_up_by;
    /* At the end of an epoch; NULL: it is a function of the update. */
    bool (*judge)(struct plateau *p, const struct schedule *s);
    /* Rules between its keys; NULL: none. */
    void (*check)(const struct config *cfg, struct problems *p);
    /* What its own keys say, of a checked configuration; NULL: nothing. */
    void (*fill)(struct schedule *s, const struct config *cfg, int64_t updates_per_epoch);
};

extern const struct names schedule_names;

/* Is there such a schedule, does it read the keys that are set, and do they fit each
 * other? For the check() of verbs that have a configuration. */
void schedule_check(const struct config *cfg, struct problems *p);

/* Warns if a run will shorten its warm-up for want of epochs. */
void schedule_note_warmup(const struct config *cfg, struct problems *p);

/* The row of TRAIN.LR_SCHEDULER.NAME, which is checked. */
const struct lr_schedule *schedule_of_config(const struct config *cfg);

/* Updates of the warm-up: those of TRAIN.WARMUP_EPOCHS, at most TRAIN.WARMUP_SHARE of the
 * run; a tenth of it, if they would be the whole run. */
int64_t schedule_warmup(const struct config *cfg, int64_t updates_per_epoch);

/* `factor`: of all rates (session/plan.h). */
struct schedule schedule_fill(const struct config *cfg, int64_t updates_per_epoch,
                              double factor);

#endif
