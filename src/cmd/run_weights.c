/* Checks of the files of weights that a run reads. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "cmd/run.h"
#include "config/problems.h"
#include "io/safetensors.h"
#include "io/weights_file.h"
#include "session/model_config.h"
#include "train/weights_cache.h"
#include "train/weights_fetch.h"

static bool is_safetensors(const char *path, struct strbuf *why)
{
    struct safetensors f;
    bool is = !safetensors_open(&f, path, why);

    safetensors_close(&f);
    return is;
}

static bool is_weights(const char *path, struct strbuf *why)
{
    struct weights_file f;
    bool is = weights_file_open(&f, path, true, why) >= 0;

    weights_file_close(&f);
    return is;
}

static void check_file(const struct config *cfg, const char *key, const char *path,
                       struct problems *p)
{
    char *last = path_join(path, "last.safetensors");
    bool run = file_exists(last);

    if (*path && !file_exists(path))
        config_blame(cfg, p, KEYS(key), "%s: there is no file '%s'", key, path);
    else if (*path && file_is_dir(path))
        config_blame(cfg, p, KEYS(key), "%s: '%s' is a folder%s%s%s", key, path,
                     run ? "; use '" : "", run ? last : "", run ? "'" : "");
    free(last);
}

/* Reports a file that is not a file of weights. Reads only the header. */
static void check_weights(const struct config *cfg, const char *key, const char *path,
                          struct problems *p)
{
    struct strbuf why = STRBUF_INIT;
    int before = p->nerror;
    bool resume = !strcmp(key, "MODEL.RESUME");

    check_file(cfg, key, path, p);
    if (*path && p->nerror == before &&
        !(resume ? is_safetensors : is_weights)(path, &why))
        config_blame(cfg, p, KEYS(key), "%s: %s", key, why.buf);
    strbuf_release(&why);
}

/* Checks MODEL.PRETRAINED: empty, a file of weights, or a name whose weights are cached or
 * can be downloaded. */
static void check_pretrained(const struct config *cfg, struct problems *p)
{
    int before = p->nerror;
    const char *text = cfg->model.pretrained;
    struct strbuf why = STRBUF_INIT;
    char *path =
        *text ? weights_wanted(cfg, "MODEL.PRETRAINED", text, cfg->model.name, &why)
              : NULL;

    pretrained_check(cfg, p);
    if (path && p->nerror == before && !strcmp(path, text))
        check_weights(cfg, "MODEL.PRETRAINED", path, p);
    else if (path) /* a cached file has been read completely, to check its hash */
        check_file(cfg, "MODEL.PRETRAINED", path, p);
    else if (why.len)
        config_blame(cfg, p, KEYS("MODEL.PRETRAINED"), "MODEL.PRETRAINED: %s", why.buf);
    strbuf_release(&why);
    free(path);
}

/* Checks MODEL.TEACHER in the same way. */
static void check_teacher(const struct config *cfg, struct problems *p)
{
    const char *text = cfg->model.teacher;
    struct strbuf why = STRBUF_INIT;
    const struct model *m = teacher_find(cfg, &why);
    char *path;

    strbuf_reset(&why);
    path = *text && m ? weights_wanted(cfg, "MODEL.TEACHER", text, m->name, &why) : NULL;
    if (path)
        check_weights(cfg, "MODEL.TEACHER", path, p);
    else if (why.len && m)
        config_blame(cfg, p, KEYS("MODEL.TEACHER"), "MODEL.TEACHER: %s", why.buf);
    strbuf_release(&why);
    free(path);
}

/* Checks MODEL.PRETRAINED_BACKBONE in the same way. */
static void check_pretrained_backbone(const struct config *cfg, struct problems *p)
{
    const char *text = cfg->model.pretrained_backbone;
    struct strbuf why = STRBUF_INIT;
    const struct model *m = *text ? backbone_of_config(cfg, &why) : NULL;
    char *path = NULL;

    if (!*text || p->nerror)
        strbuf_reset(&why);
    else if (!m)
        config_blame(cfg, p, KEYS("MODEL.PRETRAINED_BACKBONE", "MODEL.NAME"),
                     "MODEL.PRETRAINED_BACKBONE: %s has no backbone", cfg->model.name);
    else if (*cfg->model.pretrained)
        config_blame(cfg, p, KEYS("MODEL.PRETRAINED_BACKBONE", "MODEL.PRETRAINED"),
                     "MODEL.PRETRAINED has the weights of the whole model: leave out "
                     "MODEL.PRETRAINED_BACKBONE");
    else
        path = weights_wanted(cfg, "MODEL.PRETRAINED_BACKBONE", text, m->name, &why);
    if (path)
        check_weights(cfg, "MODEL.PRETRAINED_BACKBONE", path, p);
    else if (why.len)
        config_blame(cfg, p, KEYS("MODEL.PRETRAINED_BACKBONE"),
                     "MODEL.PRETRAINED_BACKBONE: %s", why.buf);
    strbuf_release(&why);
    free(path);
}

void run_check_own_weights(const struct config *cfg, const struct cmdline *line,
                           struct problems *p)
{
    const char *weights = cmdline_value(line, "--weights");
    bool name = weights && pretrained_find(weights, strlen(weights));
    struct strbuf why = STRBUF_INIT;

    if (weights && !file_exists(weights))
        problems_error(p, "--weights", "there is no file '%s'%s%s%s", weights,
                       name ? " (--pretrained " : "", name ? weights : "",
                       name ? ")" : "");
    else if (weights && file_is_dir(weights))
        problems_error(p, "--weights", "'%s' is a folder, not a file of weights",
                       weights);
    else if (weights && !is_weights(weights, &why))
        problems_error(p, "--weights", "%s", why.buf);
    else if (weights && !line->saved && !config_origin(cfg, "MODEL.NAME") &&
             !config_origin(cfg, "MODEL.TYPE"))
        problems_error(
            p, "--weights",
            "'%s' does not name its model; give --model NAME and --num-classes "
            "N, or --cfg FILE",
            weights);
    else if (!weights && *cfg->model.pretrained)
        check_pretrained(cfg, p);
    else if (!weights)
        problems_error(p, NULL, "no weights: give --weights FILE or --pretrained NAME");
    strbuf_release(&why);
}

void run_check_unread_weights(const struct config *cfg, const struct cmdline *line,
                              struct problems *p)
{
    const char *resume = cmdline_key(line, "MODEL.RESUME"),
               *text = cmdline_key(line, "MODEL.PRETRAINED");
    struct strbuf why = STRBUF_INIT;
    struct pretrained_request r;

    if (resume)
        check_weights(cfg, "MODEL.RESUME", resume, p);
    if (text && *text && !pretrained_parse(text, cfg->model.name, &r, &why) && !why.len)
        check_weights(cfg, "MODEL.PRETRAINED", text, p);
    strbuf_release(&why);
}

const char *run_described_weights(const struct cmdline *line)
{
    const char *weights = cmdline_value(line, "--weights"),
               *resume = cmdline_key(line, "MODEL.RESUME");

    return weights ? weights : resume && *resume ? resume : NULL;
}

char *run_own_weights(const struct config *cfg, const struct cmdline *line)
{
    const char *weights = cmdline_value(line, "--weights");

    if (weights)
        return xstrdup(weights);
    return *cfg->model.pretrained
               ? weights_path_checked(cfg->model.pretrained, cfg->model.name)
               : NULL;
}

void run_check_resume(const struct config *cfg, struct problems *p)
{
    check_weights(cfg, "MODEL.RESUME", cfg->model.resume, p);
}

void run_check_start(const struct config *cfg, bool train, bool fresh, struct problems *p)
{
    if (train)
        check_teacher(cfg, p);
    if (fresh)
        check_pretrained(cfg, p);
    if (train && fresh)
        check_pretrained_backbone(cfg, p);
}
