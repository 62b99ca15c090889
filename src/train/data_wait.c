#include "train/data_wait.h"

static const double little_share = 0.1, little_seconds = 1;

/* For each stage: a cache to suggest if the run does not use it yet, and other advice. */
static const struct {
    const char *cache, *more;
} advice[STAGES] = {
    [STAGE_READ] = {"DATA.CACHE encoded keeps files in memory",
                    "trainc pack combines many files into a few large ones"},
    [STAGE_DECODE] = {"DATA.CACHE decoded keeps images near the input's size",
                      "trainc pack --size N makes images smaller"},
    [STAGE_RESIZE] = {NULL, "trainc pack --size N makes images smaller"},
    [STAGE_AUGMENT] = {NULL, "AUG.AUTO_AUGMENT and AUG.COLOR_JITTER take the most time"},
    [STAGE_COPY] = {NULL, "DATA.PIN_MEMORY True and smaller images speed up copies"},
};

void data_wait_add(struct strbuf *out, const struct data_wait *w)
{
    double share = w->waited / (w->seconds + 1e-9);

    if (!(share >= little_share) || w->waited < little_seconds)
        return;
    strbuf_addf(out, "waited %.1f s for data, %.0f %% of the time; ", w->waited,
                100 * share);
    data_wait_advice(out, w);
}

void data_wait_advice(struct strbuf *out, const struct data_wait *w)
{
    enum stage stage = stage_slowest(&w->stages);
    bool cache;

    strbuf_addstr(out, "loader time: ");
    stage_times_show(&w->stages, out);
    strbuf_addf(out, "; possible remedies: ");
    if (w->workers < w->cores)
        strbuf_addf(out, "DATA.NUM_WORKERS %d (now %d), ", w->cores, w->workers);
    cache = stage == STAGE_READ ? w->holds_files : w->holds_images;
    if (advice[stage].cache && !cache)
        strbuf_addf(out, "%s, and ", advice[stage].cache);
    strbuf_addstr(out, advice[stage].more);
}
