#include "cmd/export_onnx.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/run.h"
#include "config/choice_tables.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "onnx/export.h"
#include "session/model_config.h"
#include "session/optimizer_config.h"
#include "session/schedules.h"
#include "session/session.h"
#include "session/state.h"
#include "train/data_config.h"
#include "train/pretrained.h"

static void put_channels(struct onnx *x, const char *key, const struct config *cfg,
                         double (*channel_value)(const struct config *cfg, int channel))
{
    struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_writer(&text);

    json_begin_array(&w, NULL);
    for (int i = 0; i < cfg->model.in_chans; i++)
        json_put_double(&w, NULL, channel_value(cfg, i));
    json_end(&w);
    onnx_meta(x, key, text.buf);
    strbuf_release(&text);
}

/* Writes the class names in the order of their indices: those of the weights or else, if
 * any, those of the configuration. */
static void put_classes(struct onnx *x, const struct config *cfg, const json_t *saved)
{
    const struct str_list *names = &cfg->data.class_names;
    struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_writer(&text);
    size_t n = saved ? json_array_size(saved) : (size_t)names->n;

    json_begin_array(&w, NULL);
    for (size_t i = 0; i < n; i++)
        json_put_string(&w, NULL,
                        saved ? json_string_value(json_array_get(saved, i))
                              : names->item[i]);
    json_end(&w);
    if (n)
        onnx_meta(x, cfg->model.task == TASK_REGRESSION ? "targets" : "classes",
                  text.buf);
    strbuf_release(&text);
}

/* Writes MODEL.TASK. multilabel: outputs go through a sigmoid, and a label is present if its
 * probability reaches its threshold. regression: outputs are in the targets' units.
 * ordinal: outputs are log probabilities. */
static void put_labels(struct onnx *x, const struct config *cfg, const char *weights)
{
    struct strbuf why = STRBUF_INIT;
    struct safetensors file;

    if (cfg->model.task == TASK_CLASSIFY)
        return;
    onnx_meta(x, "task", choices_tasks[cfg->model.task].name);
    if (cfg->model.task != TASK_MULTILABEL)
        return;
    if (!safetensors_open(&file, weights, &why)) {
        const char *thresholds = safetensors_meta(&file, "thresholds");

        if (thresholds)
            onnx_meta(x, "thresholds", thresholds);
        safetensors_close(&file);
    }
    strbuf_release(&why);
}

/* Writes the preprocessing that the model expects, and its class names. */
static void put_meta(struct onnx *x, const struct session *s, const json_t *classes)
{
    const struct config *cfg = s->cfg;
    struct strbuf text = STRBUF_INIT;

    onnx_meta(x, "model", cfg->model.name);
    strbuf_addf(&text, "[%d,%d,%d]", s->plan.channels, s->plan.height, s->plan.width);
    onnx_meta(x, "input_size", text.buf);
    put_channels(x, "mean", cfg, input_mean);
    put_channels(x, "std", cfg, input_std);
    onnx_meta(x, "interpolation", choices_interpolations[cfg->data.interpolation].name);
    strbuf_reset(&text);
    json_add_double(&text, cfg->data.crop_pct);
    onnx_meta(x, "crop_pct", text.buf);
    put_classes(x, cfg, classes);
    strbuf_release(&text);
}

/* Configures the exported graph: batch 1, fp32, on the CPU. */
static void set_export_keys(struct config *cfg)
{
    static const char *const set[][2] = {
        {"DATA.BATCH_SIZE", "1"},
        {"DATA.VAL_BATCH_SIZE", "1"},
        {"DEVICE", "cpu"},
        {"TRAIN.EMA.ENABLE", "False"},
        {"TRAIN.SWA.ENABLE", "False"},
        {"AMP_OPT_LEVEL", "O0"},
    };

    for (size_t i = 0; i < sizeof(set) / sizeof(*set); i++)
        config_set(cfg, set[i][0], set[i][1]);
}

int export_onnx_run(struct config *cfg, const struct cmdline *line)
{
    char *weights = run_own_weights(cfg, line);
    const char *out = cmdline_value(line, "--onnx");
    const struct onnx_options o = {.fold_bn = cmdline_has(line, "--fold-bn")};
    json_t *classes = run_classes(cfg, line, weights);
    struct strbuf why = STRBUF_INIT;
    struct session s;
    struct build b;
    struct plan plan;
    struct onnx *x;
    float *flat;

    set_export_keys(cfg);
    session_init(&s, cfg, &(struct session_options){.eval = true});
    session_alloc(&s);
    pretrained_load_all(&s, weights, "the configuration", &(struct class_list){0});
    flat = xmalloc((size_t)session_flat(&s)->weights_len * sizeof(*flat));
    session_get(&s, MEMORY_WEIGHTS, flat);
    plan = s.plan;
    plan.batch = plan.val_batch = ONNX_BATCH;
    build_init(&b, &plan, BUILD_EVAL, false);
    x = onnx_export(b.graph, tensor_reader(b.graph, b.pixels, 0)->out[0], b.logits, flat,
                    cfg->model.name, &o);
    put_meta(x, &s, classes);
    put_labels(x, cfg, weights);
    if (onnx_write(x, out, &why))
        die("--onnx: %s", why.buf);
    log_info("wrote %s for images of %d x %d and any batch size to '%s'", cfg->model.name,
             s.plan.width, s.plan.height, out);
    onnx_free(x);
    build_release(&b);
    free(flat);
    free(weights);
    json_decref(classes);
    session_release(&s);
    return EXIT_OK;
}

void export_onnx_check(const struct config *cfg, const struct cmdline *line,
                       struct problems *p)
{
    model_check(cfg, p);
    model_check_answers(cfg, p);
    optimizer_config_check(cfg, p);
    schedule_check(cfg, p);
    if (!strcmp(cmdline_value(line, "--onnx"), "-"))
        problems_error(p, "--onnx", "'-': cannot write to standard output; name a file");
    else
        run_check_writable(line, "--onnx", WRITTEN_ONNX, p);
}
