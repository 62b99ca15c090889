#include "train/run_files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/file.h"
#include "base/log.h"
#include "config/dump.h"
#include "config/schema.h"
#include "image/encode.h"
#include "image/transformer.h"
#include "io/csv.h"
#include "io/json.h"
#include "models/count.h"
#include "page/page.h"
#include "train/data_config.h"

enum { WORST = 12, QUALITY = 85 };

/* Writes a file; on failure, warns and returns false. */
static bool put_file(const char *dir, const char *name, struct strbuf *s)
{
    char *path = path_join(dir, name);
    bool good = !atomic_write_file(path, s->buf, s->len);

    if (!good)
        log_warning("cannot write '%s': %s", path, strerror(errno));
    strbuf_release(s);
    free(path);
    return good;
}

static void add_value(struct strbuf *s, const struct value *v)
{
    struct strbuf text = STRBUF_INIT;

    value_add_yaml(&text, v);
    csv_add_name(s, text.buf);
    strbuf_release(&text);
}

static void write_settings(const char *dir, const struct config *cfg)
{
    struct strbuf s = STRBUF_INIT;

    strbuf_addstr(&s, "key,value,default,set by\n");
    for (const struct schema *row = schema_table; row->key; row++) {
        const char *origin = config_origin(cfg, row->key);

        strbuf_addf(&s, "%s,", row->key);
        add_value(&s, config_get(cfg, row->key));
        strbuf_addch(&s, ',');
        add_value(&s, config_default(row->key));
        strbuf_addch(&s, ',');
        csv_add_name(&s, origin ? origin : "");
        strbuf_addch(&s, '\n');
    }
    (void)put_file(dir, "settings.csv", &s);
}

static void write_model(const char *dir, const struct session *n)
{
    const struct graph *g = n->build[SESSION_TRAIN].graph;
    struct strbuf s = STRBUF_INIT;
    char shape[TENSOR_TEXT];

    strbuf_addstr(&s, "layer,op,output,parameters,macs\n");
    for (int i = 0; i < g->nnode; i++) {
        const struct node *k = g->node[i];
        int64_t macs = k->op->macs ? k->op->macs(k) / n->plan.batch : 0;

        if (k->phase != PHASE_FORWARD || k->op == g->ops->cast || !k->op->nout)
            continue;
        csv_add_name(&s, k->layer);
        strbuf_addf(&s, ",%s,", node_title(k));
        csv_add_name(&s, tensor_text(k->out[0], shape));
        strbuf_addf(&s, ",%lld,%lld\n", (long long)model_node_params(g, k),
                    (long long)macs);
    }
    (void)put_file(dir, "model.csv", &s);
}

void run_files_begin(const char *dir, const struct session *s)
{
    if (!s->cfg->log.report)
        return;
    write_settings(dir, s->cfg);
    write_model(dir, s);
}

/* ---- the worst images ---- */

struct painter {
    struct transformer transformer;
    struct dataset_bytes bytes;
    struct loader_options o;
    uint8_t *pixel, *rgb;
};

/* Converts the first three channels to RGB, or the first to gray if there are fewer. */
static void paint_rgb(struct painter *p)
{
    int channels = transform_channels(&p->o.transform);
    int64_t n = (int64_t)p->o.transform.w * p->o.transform.h;

    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++)
            p->rgb[3 * i + c] = p->pixel[channels * i + (channels < 3 ? 0 : c)];
}

/* Writes the image as the model sees it, with the transform of validation. */
static void paint_worst(struct painter *p, const struct dataset *d, int64_t sample,
                        const char *path)
{
    struct augment_key key = {0, 0, sample};
    const struct transform *t = &p->o.transform;
    struct strbuf why = STRBUF_INIT;
    unsigned char *jpeg;
    size_t len;

    if (dataset_read(d, sample, p->o.limits.max_bytes, &p->bytes, &why) == 0 &&
        transform_file(&p->transformer, t, &key, p->bytes.data, p->bytes.len, p->pixel,
                       &why) == 0) {
        paint_rgb(p);
        jpeg = jpeg_encode(p->rgb, t->w, t->h, QUALITY, &len);
        if (atomic_write_file(path, jpeg, len))
            log_warning("cannot write '%s': %s", path, strerror(errno));
        free(jpeg);
    }
    strbuf_release(&why);
}

static void write_worst(const char *dir, const struct report *r, const struct config *cfg)
{
    struct painter p = {0};
    size_t size;

    data_loader_options(cfg, DATA_VAL, &p.o);
    p.o.limits = image_limits_or_default(&p.o.limits);
    size = (size_t)p.o.transform.w * (size_t)p.o.transform.h;
    p.pixel = xcalloc(size * (size_t)transform_channels(&p.o.transform) + IMAGE_SLACK, 1);
    p.rgb = xcalloc(size * 3, 1);
    transformer_init(&p.transformer, &p.o.limits);
    for (int i = 0; i < WORST; i++) {
        char *path = xasprintf("%s/worst_%02d.jpg", dir, i);

        (void)unlink(path); /* from an earlier evaluation */
        if (i < r->n)
            paint_worst(&p, r->data, r->item[i].sample, path);
        free(path);
    }
    transformer_release(&p.transformer);
    dataset_bytes_release(&p.bytes);
    free(p.pixel);
    free(p.rgb);
}

void run_files_report(const char *dir, struct report *r, const struct config *cfg)
{
    char *path = path_join(dir, "report");

    report_write(r, path); /* sorts the items by loss */
    if (r->n)
        write_worst(path, r, cfg);
    free(path);
}

/* ---- the page ---- */

static void write_page(const char *dir)
{
    struct strbuf s = STRBUF_INIT, why = STRBUF_INIT;
    char *parent = path_dirname(dir), *name;
    struct page_run r;

    name = xasprintf("%s/%s", path_basename(parent), path_basename(dir));
    if (page_run_read(&r, dir, name, &why)) {
        page_add_run(&s, &r);
        page_run_release(&r);
        if (put_file(dir, "report.html", &s))
            log_info("report page: %s/report.html", dir);
    } else {
        log_warning("no report.html: %s", why.buf);
    }
    strbuf_release(&s);
    strbuf_release(&why);
    free(name);
    free(parent);
}

/* True if the number `key` is x, or if it is absent and x is NaN. */
static bool is_number(const json_t *o, const char *key, double x)
{
    const json_t *v = json_object_get(o, key);

    return json_is_number(v) ? json_number_value(v) == x : isnan(x);
}

/* True if the result file has the same step, scores, and exit code. */
static bool is_current(const char *path, const struct result *r, int code)
{
    json_t *o = json_load_file(path, 0, NULL);
    bool same = is_number(o, "exit", code) && is_number(o, "steps", (double)r->steps) &&
                is_number(o, "val_loss", r->val.value[SCORE_LOSS]) &&
                is_number(o, "best_epoch",
                          isnan(r->best_score) ? (double)NAN : (double)r->best_epoch);

    json_decref(o);
    return same;
}

void run_files_end(const char *dir, const struct result *r, int code, const char *error,
                   bool trained)
{
    char *path = path_join(dir, "result.json");
    struct strbuf s = STRBUF_INIT;

    if (trained || !is_current(path, r, code)) {
        result_add(&s, r, code, error);
        (void)put_file(dir, "result.json", &s);
    }
    write_page(dir);
    free(path);
}
