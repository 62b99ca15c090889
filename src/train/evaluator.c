/* The evaluator's side of train/background.h: a process that evaluates the checkpoints
 * that training announces. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "io/json.h"
#include "train/background.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"
#include "train/progress.h"
#include "train/report.h"
#include "train/run_files.h"
#include "train/signals.h"
#include "train/trainer.h"
#include "train/val_images.h"

struct evaluator {
    struct session session;
    struct feed feed;
    struct evaluation evaluation;
    int peer;
};

static int training = -1; /* evaluator.peer, for say_alive */

/* Tells training at most once per second that this process is alive. A line that does not
 * fit into the socket's buffer is dropped. */
static void say_alive(void)
{
    static const char line[] = BACKGROUND_ALIVE "\n";
    static double last;

    if (clock_now() - last < 1)
        return;
    last = clock_now();
    (void)send(training, line, sizeof(line) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void paint(struct evaluator *v, const char *file, int64_t epoch)
{
    char *run = path_dirname(file), *dir = path_join(run, "images");
    char *prefix = val_images_of_epoch(epoch);
    struct val_images p = {
        .dir = dir, .prefix = prefix, .n = (int)v->session.cfg->log.images};

    (void)val_images_write(&p, &v->session, &v->feed);
    free(run);
    free(dir);
    free(prefix);
}

/* Like evaluate(), and replaces report/ of the run with the report on this evaluation. */
static bool evaluate_one(struct evaluator *v, const char *file)
{
    const struct config *cfg = v->session.cfg;
    char *run = path_dirname(file);
    struct report r;
    bool whole;

    report_init(&r, v->feed.val, &v->feed.classes);
    r.model = cfg->model.name;
    whole = evaluate_report(&v->session, &v->feed, "Val", &v->evaluation,
                            cfg->log.report ? &r : NULL);
    if (whole && cfg->log.report)
        run_files_report(run, &r, cfg);
    report_release(&r);
    free(run);
    return whole;
}

/* Evaluates `file` and sends the scores. Returns false if training closed the connection
 * or a signal arrived. */
static bool answer(struct evaluator *v, const char *file, int64_t step, int64_t epoch)
{
    struct background_result r = {.step = step, .epoch = epoch};
    struct strbuf text = STRBUF_INIT;
    struct run_state state = {0};
    bool sent;

    if (checkpoint_read(file, &v->session, &state, &v->feed.classes, &text))
        die("%s", text.buf);
    if (!evaluate_one(v, file))
        return false;
    r.val = evaluate_scores(&v->evaluation, SESSION_RAW);
    r.ema = evaluate_scores(&v->evaluation, SESSION_EMA);
    r.iou = segmentation_iou(v->evaluation.pixels[SESSION_RAW]);
    r.images = v->evaluation.images;
    r.seconds = v->evaluation.seconds;
    paint(v, file, epoch);
    background_result_put(&text, &r);
    strbuf_addch(&text, '\n');
    sent = send(v->peer, text.buf, text.len, MSG_NOSIGNAL) == (ssize_t)text.len;
    strbuf_release(&text);
    return sent;
}

static bool obey(struct evaluator *v, const char *line)
{
    json_t *o = json_loads(line, 0, NULL);
    const json_t *file = json_object_get(o, "evaluate");
    bool goes_on;

    if (!json_is_string(file))
        die("invalid message from the training process: '%.100s'", line);
    goes_on =
        answer(v, json_string_value(file), json_integer_value(json_object_get(o, "step")),
               json_integer_value(json_object_get(o, "epoch")));
    json_decref(o);
    return goes_on;
}

/* Handles one line after the other until training ends. */
static void serve(struct evaluator *v)
{
    struct strbuf line = STRBUF_INIT;
    bool goes_on = true;

    while (goes_on && !signals_pending()) {
        char c;
        ssize_t n = recv(v->peer, &c, 1, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        if (c != '\n') {
            strbuf_addch(&line, c);
            continue;
        }
        goes_on = obey(v, line.buf);
        strbuf_reset(&line);
    }
    strbuf_release(&line);
}

int trainer_eval_watch(struct config *cfg, const char *socket)
{
    struct evaluator v = {.peer = background_connect(socket)};

    if (v.peer < 0)
        die("--watch '%s': no training run listens on this socket: %s", socket,
            strerror(errno));
    signals_install(0);
    (void)signal(SIGINT, SIG_IGN); /* Ctrl-C is for training, which stops this process */
    progress_init(PROGRESS_OFF);
    training = v.peer;
    progress_watch(say_alive);
    feed_open(&v.feed, cfg, false);
    session_init(
        &v.session, cfg,
        &(struct session_options){.eval = true, .factors = feed_factors(&v.feed)});
    session_alloc(&v.session);
    feed_start(&v.feed, &v.session);
    signals_started();
    serve(&v);
    if (feed_failure(&v.feed))
        die("%s", feed_failure(&v.feed));
    session_drain(&v.session);
    feed_close(&v.feed);
    session_release(&v.session);
    evaluate_release(&v.evaluation);
    (void)close(v.peer);
    return signals_pending() ? 128 + signals_pending() : EXIT_OK;
}
