/*
 * The learning rate schedules, one row each, selected by TRAIN.LR_SCHEDULER.NAME. Their
 * formulas are in ops/schedule_formula.h and count updates; keys in epochs are converted
 * here.
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
    /* Keys that only this schedule reads, ended by NULL; NULL if there are none. */
    const char *const *reads;
    /* Key of its warm-up, instead of TRAIN.WARMUP_EPOCHS; or NULL. */
    const char *warms_up_by;
    /* Called at the end of an epoch; NULL if the schedule is a function of the update. */
    bool (*judge)(struct plateau *p, const struct schedule *s);
    /* Checks its keys against each other; may be NULL. */
    void (*check)(const struct config *cfg, struct problems *p);
    /* Reads its own keys, which are checked; may be NULL. */
    void (*fill)(struct schedule *s, const struct config *cfg, int64_t updates_per_epoch);
};

extern const struct names schedule_names;

/* Checks that the schedule exists, reads the keys that are set, and that these are
 * consistent. For the check() of verbs that have a configuration. */
void schedule_check(const struct config *cfg, struct problems *p);

/* Warns if the run is too short for its warm-up, which is shortened. */
void schedule_note_warmup(const struct config *cfg, struct problems *p);

/* Returns the row of TRAIN.LR_SCHEDULER.NAME, which is checked. */
const struct lr_schedule *schedule_of_config(const struct config *cfg);

/* Returns the updates of the warm-up: TRAIN.WARMUP_EPOCHS, at most TRAIN.WARMUP_SHARE of
 * the run; a tenth of the run if it would fill it. */
int64_t schedule_warmup(const struct config *cfg, int64_t updates_per_epoch);

/* Returns the first epoch, from 0, whose weights TRAIN.SWA averages. */
int64_t schedule_swa_epoch(const struct config *cfg);

/* `factor`: multiplies all rates (session/plan.h). */
struct schedule schedule_fill(const struct config *cfg, int64_t updates_per_epoch,
                              double factor);

#endif
