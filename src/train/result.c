#include "train/result.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "dist/group.h"
#include "io/json.h"
#include "io/written.h"
#include "train/signals.h"

static const char *result_path;

static void put_classes(struct json_writer *w, const struct result *r)
{
    json_begin_object(w, "val_iou");
    for (int k = 0; k < r->val_iou.n; k++)
        json_put_double(w, r->classes->name[k], r->val_iou.iou[k]);
    json_end(w);
}

static void put_best(struct json_writer *w, const struct result *r)
{
    char *key = xasprintf("best_%s", score_name(r->best));

    json_put_double(w, key, r->best_score);
    json_put_int(w, "best_epoch", r->best_epoch);
    free(key);
}

static void put_data(struct json_writer *w, const struct result *r)
{
    json_put_double(w, "train_seconds", r->train_seconds);
    json_put_double(w, "data_wait_seconds", r->data_wait_seconds);
    json_begin_object(w, "data_stage_seconds");
    for (int i = 0; i < STAGES; i++)
        json_put_double(w, stage_name((enum stage)i), r->data_stages.seconds[i]);
    json_end(w);
    json_put_known(w, "damaged_train_samples", r->damaged_train, 0);
    json_put_known(w, "damaged_val_samples", r->damaged_val, 0);
    json_put_known(w, "warned_train_samples", r->warned_train, 0);
    json_put_known(w, "warned_val_samples", r->warned_val, 0);
}

void result_add(struct strbuf *text, const struct result *r, int code, const char *error)
{
    struct json_writer w = json_writer(text);

    w.pretty = true;
    written_begin(&w);
    json_put_int(&w, "exit", code);
    json_put_int(&w, "epochs", r->epochs);
    json_put_int(&w, "steps", r->steps);
    json_put_double(&w, "train_loss", r->train_loss);
    scores_put(&w, "val_", &r->val);
    scores_put(&w, "ema_", &r->ema);
    if (r->val_iou.n)
        put_classes(&w, r);
    if (!isnan(r->best_score))
        put_best(&w, r);
    json_put_double(&w, "images_per_second", r->images_per_second);
    put_data(&w, r);
    json_put_double(&w, "device_open_seconds", r->device_open_seconds);
    json_put_double(&w, "first_step_seconds", r->first_step_seconds);
    json_put_known(&w, "peak_memory_bytes", r->peak_memory_bytes, 1);
    json_put_known(&w, "library_memory_bytes", r->library_memory_bytes, 0);
    json_put_known(&w, "device_syncs", r->device_syncs, 0);
    json_put_known(&w, "device_waits", r->device_waits, 0);
    json_put_double(&w, "wall_seconds", clock_now() - r->began);
    if (error)
        json_put_string(&w, "error", error);
    json_end(&w);
    strbuf_addch(text, '\n');
}

static int write_result(const struct result *r, int code, const char *error)
{
    struct strbuf text = STRBUF_INIT;
    int rc;

    if (!result_path || dist_thread())
        return 0;
    result_add(&text, r, code, error);
    rc = atomic_write_out(result_path, text.buf, text.len);
    if (rc)
        warn("cannot write '%s': %s", result_path, strerror(errno));
    strbuf_release(&text);
    return rc;
}

static void on_failure(const char *message, int code, void *arg)
{
    struct result *r = arg;

    log_quiet("error: %s", message);
    (void)write_result(r, code, message);
    if (r->failed)
        r->failed(message, code, r->failed_arg);
}

/*
 * Checks that `path` can be written before the run starts. Deletes an earlier result, so
 * that a killed run does not seem to have its result.
 */
static void make_way(const char *path)
{
    const char *why = file_not_writable(path);
    struct stat st;

    if (why)
        usage("--result %s: cannot be written: %s", path, why);
    why = written_refuse(path, WRITTEN_JSON);
    if (why)
        usage("--result %s: %s", path, why);
    if (!lstat(path, &st) && S_ISREG(st.st_mode))
        (void)unlink(path);
}

static void reset(struct result *r, const char *path)
{
    *r = (struct result){.began = clock_now()};
    r->peak_memory_bytes = r->library_memory_bytes = r->device_syncs = r->device_waits =
        -1;
    r->damaged_train = r->damaged_val = -1;
    r->warned_train = r->warned_val = -1;
    r->train_loss = r->images_per_second = (double)NAN;
    r->device_open_seconds = r->first_step_seconds = (double)NAN;
    r->train_seconds = r->data_wait_seconds = (double)NAN;
    r->val = r->ema = scores_unknown();
    r->best_score = (double)NAN;
    if (!dist_thread())
        result_path = path;
}

void result_write_refused(const char *path, int code, const char *error)
{
    struct result r;

    if (written_refuse(path, WRITTEN_JSON))
        return; /* keep a file that is not a result */
    reset(&r, path);
    (void)write_result(&r, code, error);
}

/* Prepares the result that a signal handler writes before the first batch: a handler can
 * only write text that is ready. */
static void leave_word(struct result r, int signal_code)
{
    bool out = !strcmp(result_path, "-");
    struct signals_word w = {0};

    atomic_names(out ? "/dev/stdout" : result_path, &w.path, &w.tmp);
    r.began = (double)NAN;
    for (int i = 0; i < SIGNALS; i++) {
        struct strbuf text = STRBUF_INIT;
        char *error =
            xasprintf("%s before the first batch", signals_name(signals_all[i]));

        result_add(&text, &r, signal_code ? signal_code : 128 + signals_all[i], error);
        w.len[i] = text.len;
        w.text[i] = strbuf_detach(&text);
        free(error);
    }
    signals_leave_word(&w);
}

void result_begin(struct result *r, const char *path, int signal_code)
{
    reset(r, path);
    if (path) {
        make_way(path);
        leave_word(*r, signal_code);
    }
    if (!dist_thread())
        error_at_exit(on_failure, r);
}

int result_end(const struct result *r, int code)
{
    int rc = write_result(r, code, NULL);

    if (!dist_thread())
        error_at_exit(NULL, NULL);
    return rc && !code ? EXIT_FAILED : code;
}
