/* TRAIN.FREEZE_EPOCHS: the head is trained alone first, then everything. */
#include "base/log.h"
#include "train/trainer_run.h"

/* Logs what this process trains from here on. */
static void log_phase(const struct trainer *t, bool hold)
{
    const struct plan *p = &t->session.plan;
    const struct build *all = &t->session.build[SESSION_TRAIN];
    const struct build *head = &t->session.build[SESSION_HEAD];

    if (hold)
        log_info(
            "TRAIN.FREEZE_EPOCHS: training %d of %d parameter tensors (the head) until "
            "the end of epoch %lld, learning rate %.6g",
            head->nsegment, all->nsegment, epoch_shown(t->cfg->train.freeze_epochs - 1),
            p->schedule.frozen_rate);
    else
        log_info("TRAIN.FREEZE_EPOCHS: training all %d parameter tensors from epoch %lld "
                 "on, learning rate %.6g",
                 all->nsegment, epoch_shown(t->state.epoch), p->schedule.base);
}

void trainer_hold(struct trainer *t)
{
    bool hold = t->state.epoch < t->cfg->train.freeze_epochs;
    bool changes = t->session.phases && (!hold || !t->session.holds);

    if (changes)
        log_phase(t, hold);
    if (changes && hold && !*t->cfg->model.pretrained &&
        !*t->cfg->model.pretrained_backbone && !t->resumed)
        log_warning(
            "TRAIN.FREEZE_EPOCHS without MODEL.PRETRAINED: the frozen weights are "
            "random");
    session_hold(&t->session, hold);
}
