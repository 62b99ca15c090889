#include "cmd/ensemble.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/run.h"
#include "io/weights_file.h"
#include "session/job.h"
#include "session/model_config.h"
#include "train/data_config.h"
#include "train/pretrained.h"
#include "train/probabilities.h"

bool ensemble_has(const struct cmdline *line, int i)
{
    static const char *const ends[] = {".safetensors", ".pth", ".pt", ".bin", ".tar"};
    const char *end = path_extension(line->arg[i].text);

    for (size_t k = 0; k < sizeof(ends) / sizeof(*ends); k++)
        if (!strcmp(end, ends[k]))
            return cmdline_value(line, "--weights") != NULL;
    return false;
}

static void check_one(const struct cmdline *line, const char *path, struct problems *p)
{
    struct strbuf why = STRBUF_INIT;
    struct weights_file f;

    if (!file_exists(path)) {
        problems_error(p, "--weights", "there is no file '%s'", path);
        return;
    }
    if (weights_file_open(&f, path, true, &why) || weights_file_verify(&f, &why))
        problems_error(p, "--weights", "%s", why.buf);
    else if (!line->ncfg &&
             !weights_file_meta(&f, f.by_trainc ? "config" : RUN_CONFIG_META))
        problems_error(p, "--weights",
                       "'%s' does not say of which model its weights are: give --cfg "
                       "FILE for all of them",
                       path);
    weights_file_close(&f);
    strbuf_release(&why);
}

void ensemble_check(const struct cmdline *line, struct problems *p)
{
    for (int i = 0; i < line->narg; i++)
        if (ensemble_has(line, i))
            check_one(line, line->arg[i].text, p);
}

struct cmdline ensemble_others(const struct cmdline *line)
{
    struct cmdline others = *line;

    others.arg = xcalloc((size_t)line->narg + 1, sizeof(*others.arg));
    others.narg = 0;
    for (int i = 0; i < line->narg; i++)
        if (!ensemble_has(line, i))
            others.arg[others.narg++] = line->arg[i];
    return others;
}

void ensemble_config(const char *path, const struct cmdline *line,
                     const struct config *first, struct cmdline *member,
                     struct config *cfg)
{
    struct problems p = {0};

    *member = *line;
    member->mem = (struct arena){0};
    member->saved = member->saved_name = NULL;
    run_use_saved_config_of(path, member);
    (void)config_load(cfg, member, &p);
    run_reset_start_keys(cfg, member);
    pretrained_preset(cfg);
    model_preset(cfg);
    if (!p.nerror && job_decides(cfg))
        job_preset_input(cfg);
    input_preset(cfg);
    model_check(cfg, &p);
    if (p.nerror) {
        problems_print(&p);
        usage("--weights: '%s' does not fit the command line", path);
    }
    problems_release(&p);
    if (cfg->model.task != first->model.task)
        usage("--weights: '%s' has another MODEL.TASK than the first: members of an "
              "ensemble have the same task",
              path);
}

static void check_classes(const struct ensemble_member *m, int classes,
                          const json_t *list, const json_t *member)
{
    if (m->cfg.model.num_classes != classes)
        die("--weights: '%s' has %lld classes, and the first has %d: members of an "
            "ensemble have the same classes",
            m->path, (long long)m->cfg.model.num_classes, classes);
    for (size_t c = 0; list && member && c < (size_t)classes; c++) {
        const char *x = json_string_value(json_array_get(list, c));
        const char *y = json_string_value(json_array_get(member, c));

        if (x && y && strcmp(x, y) != 0)
            die("--weights: '%s': class %zu is '%s', and '%s' in the first: members of "
                "an ensemble have the same classes",
                m->path, c, y, x);
    }
}

static int64_t logits_len(const struct infer *v)
{
    return tensor_len(v->session.build[SESSION_EVAL].logits);
}

static void open_member(struct ensemble_member *m, const struct cmdline *line,
                        const struct infer *first, int classes, const json_t *list,
                        const struct images *images)
{
    char *batch = xasprintf("%lld", (long long)first->session.plan.val_batch);
    json_t *member;

    ensemble_config(m->path, line, first->session.cfg, &m->line, &m->cfg);
    member = run_classes(&m->cfg, &m->line, m->path);
    check_classes(m, classes, list, member);
    config_set(&m->cfg, "DATA.VAL_BATCH_SIZE", batch);
    m->infer.tta = first->tta;
    infer_open(&m->infer, &m->cfg, images);
    if (logits_len(&m->infer) != logits_len(first))
        die("--weights: '%s' has outputs of another size than the first: label maps of "
            "an ensemble have one size",
            m->path);
    pretrained_load_all(&m->infer.session, m->path, "the configuration",
                        &(struct class_list){0});
    json_decref(member);
    free(batch);
}

void ensemble_open(struct ensemble *e, const struct cmdline *line,
                   const struct infer *first, int classes, const json_t *list,
                   const struct images *images)
{
    e->member = xcalloc((size_t)line->narg + 1, sizeof(*e->member));
    for (int i = 0; i < line->narg; i++) {
        struct ensemble_member *m = &e->member[e->n];

        if (!ensemble_has(line, i))
            continue;
        m->path = line->arg[i].text;
        open_member(m, line, first, classes, list, images);
        e->n++;
    }
    if (!e->n)
        return;
    e->logits = xcalloc((size_t)logits_len(first), sizeof(*e->logits));
    e->sum = xcalloc((size_t)logits_len(first), sizeof(*e->sum));
    log_info("ensemble of %d: %s are averaged", e->n + 1,
             probabilities_name(first->session.plan.task));
}

void ensemble_mean(struct ensemble *e, const struct infer *first, const struct batch *b,
                   float *logits)
{
    int classes = (int)session_classes(&first->session);
    int64_t len = logits_len(first), rows = len / classes;
    enum model_task task = first->session.plan.task;

    if (!e->n)
        return;
    memset(e->sum, 0, (size_t)len * sizeof(*e->sum));
    probabilities_add(e->sum, logits, rows, classes, task);
    for (int k = 0; k < e->n; k++) {
        struct ensemble_member *m = &e->member[k];
        const struct batch *next = infer_next(&m->infer);

        if (!next || next->size != b->size)
            BUG("batches of an ensemble differ");
        for (int i = 0; i < b->size; i++)
            if (infer_is_there(b, i) && !infer_is_there(next, i))
                die("'%s': the member '%s' of the ensemble cannot read it",
                    m->infer.files->name, m->path);
        infer_logits(&m->infer, e->logits);
        probabilities_add(e->sum, e->logits, rows, classes, task);
    }
    probabilities_to_logits(logits, e->sum, len, e->n + 1, task);
}

void ensemble_close(struct ensemble *e)
{
    for (int k = 0; k < e->n; k++) {
        (void)infer_close(&e->member[k].infer);
        config_release(&e->member[k].cfg);
        arena_release(&e->member[k].line.mem);
    }
    free(e->member);
    free(e->logits);
    free(e->sum);
}
