#include "train/background.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process.h"
#include "io/json.h"
#include "train/checkpoint.h"

enum { MAX_FAILURES = 5 }; /* in a row */

#define PREFIX "validate_step_"
#define ENDING ".safetensors"

/* ---- checkpoints to evaluate ---- */

static void add_item(struct background *b, char *path, int64_t step, int64_t epoch)
{
    GROW(b->item, b->n, b->cap);
    b->item[b->n++] =
        (struct background_item){.path = path, .step = step, .epoch = epoch};
}

static char *path_of(const struct background *b, int64_t step)
{
    char *name = xasprintf(PREFIX "%lld" ENDING, (long long)step);
    char *path = path_join(b->dir, name);

    free(name);
    return path;
}

static void drop_item(struct background *b, int i)
{
    if (unlink(b->item[i].path) && errno != ENOENT)
        log_warning("cannot delete '%s': %s", b->item[i].path, strerror(errno));
    free(b->item[i].path);
    memmove(&b->item[i], &b->item[i + 1], (size_t)(b->n - i - 1) * sizeof(*b->item));
    b->n--;
}

static int by_step(const void *a, const void *b)
{
    const struct background_item *x = a, *y = b;

    return x->step < y->step ? -1 : x->step > y->step;
}

/* Returns the step in the file name of a checkpoint to evaluate; -1 for other names, such
 * as that of a backup copy. */
static int64_t step_of_name(const char *name)
{
    bool starts = !strncmp(name, PREFIX, strlen(PREFIX));
    long long step = starts ? strtoll(name + strlen(PREFIX), NULL, 10) : -1;
    char *whole = xasprintf(PREFIX "%lld" ENDING, step);
    bool same = starts && step >= 0 && !strcmp(name, whole);

    free(whole);
    return same ? step : -1;
}

/* Finds the files that an earlier process of the run has left. Deletes those after
 * `step`, which will be trained again. */
static void find_items(struct background *b, int64_t step, int64_t epoch_steps)
{
    int n;
    char **name = dir_list(b->dir, &n);

    for (int i = 0; i < n; i++) {
        int64_t file_step = step_of_name(name[i]);
        struct checkpoint_mark mark;
        struct strbuf why = STRBUF_INIT;
        char *path = file_step < 0 ? NULL : path_of(b, file_step);

        if (path && !checkpoint_mark(path, &mark, &why))
            add_item(b, path, mark.step, (mark.step - 1) / epoch_steps);
        else
            free(path);
        strbuf_release(&why);
    }
    dir_list_free(name, n);
    if (b->n)
        qsort(b->item, (size_t)b->n, sizeof(*b->item), by_step);
    while (b->n && b->item[b->n - 1].step > step)
        drop_item(b, b->n - 1);
    if (b->n)
        log_info("%d checkpoint%s of the previous process %s still to be evaluated", b->n,
                 b->n == 1 ? "" : "s", b->n == 1 ? "is" : "are");
}

void background_add(struct background *b, const char *file, int64_t step, int64_t epoch)
{
    char *path = path_of(b, step);

    for (int i = b->n; i-- > 0;)
        if (b->item[i].step == step)
            drop_item(b, i);
    (void)unlink(path);
    if (link(file, path) && file_copy(file, path)) {
        log_warning("epoch %lld is not validated: cannot link '%s' to '%s': %s",
                    epoch_shown(epoch), path, file, strerror(errno));
        free(path);
        return;
    }
    add_item(b, path, step, epoch);
}

bool background_has(const struct background *b, int64_t step)
{
    for (int i = 0; i < b->n; i++)
        if (b->item[i].step == step)
            return true;
    return false;
}

int background_pending(const struct background *b)
{
    int n = 0;

    for (int i = 0; i < b->n; i++)
        n += !b->item[i].known;
    return n;
}

void background_begin_save(struct background *b)
{
    for (int i = 0; i < b->n; i++)
        b->item[i].saved = b->item[i].known;
}

void background_end_save(struct background *b)
{
    while (b->n && b->item[0].saved)
        drop_item(b, 0);
}

void background_link_best(const struct background *b, int64_t step)
{
    char *src = path_of(b, step), *best = path_join(b->dir, "best" ENDING);
    char *tmp = xasprintf("%s" ATOMIC_ENDING, best);

    (void)unlink(tmp);
    if ((link(src, tmp) && file_copy(src, tmp)) || rename(tmp, best))
        log_warning("the best checkpoint is not saved: cannot link '%s' to '%s': %s",
                    best, src, strerror(errno));
    (void)unlink(tmp); /* rename leaves it if both are one file already */
    free(src);
    free(best);
    free(tmp);
}

/* ---- the evaluator ---- */

/* Returns the environment without launchers' variables: an evaluator is not a rank of the
 * run. Free the array only. */
static char **evaluator_environment(void)
{
    char **env;
    int n = 0, kept = 0;

    while (environ[n])
        n++;
    env = xcalloc((size_t)n + 1, sizeof(*env));
    for (int i = 0; i < n; i++)
        if (!process_owns(environ[i]))
            env[kept++] = environ[i];
    return env;
}

static void start_evaluator(struct background *b)
{
    char *config = path_join(b->dir, "config.yaml");
    char *path = path_join(b->dir, BACKGROUND_SOCKET), **env = evaluator_environment();
    const char *word[] = {
        "trainc",   "eval", "--cfg",       config,
        "--watch",  path,   "--device",    b->cfg->train.validate_device,
        "--resume", "",     "--log-level", "warning",
        NULL};
    struct process p = {.words = word,
                        .program = PROCESS_SELF,
                        .env = env,
                        .death = SIGKILL,
                        .nice = 10}; /* training comes first */
    struct strbuf why = STRBUF_INIT;

    b->child = process_start(&p, &why);
    b->last_message = clock_now();
    if (!b->child) {
        b->failures++;
        b->not_before = clock_now() + b->failures;
        log_warning("cannot start the background evaluator: %s", why.buf);
    }
    strbuf_release(&why);
    free(config);
    free(path);
    free(env);
}

static void disconnect(struct background *b)
{
    if (b->peer >= 0)
        (void)close(b->peer);
    b->peer = -1;
    strbuf_reset(&b->received);
    for (int i = 0; i < b->n; i++)
        b->item[i].sent = b->item[i].known;
}

/* Handles the end of the evaluator: it is restarted later, and training continues. */
static void evaluator_ended(struct background *b, const char *how)
{
    b->child = 0;
    disconnect(b);
    b->failures++;
    b->not_before = clock_now() + b->failures;
    log_warning("the background evaluator %s: %s", how,
                b->failures < MAX_FAILURES ? "restarting it"
                                           : "giving up; the remaining checkpoints are "
                                             "validated when the run is resumed");
}

static void reap(struct background *b)
{
    int status;
    char *how;

    if (!b->child || waitpid(b->child, &status, WNOHANG) <= 0)
        return;
    how = xasprintf("ended (%s %d)", WIFSIGNALED(status) ? "signal" : "exit code",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    evaluator_ended(b, how);
    free(how);
}

/* Kills an evaluator that hangs. Received messages must be processed first. */
static void check_timeout(struct background *b)
{
    char *how;

    if ((!b->child && b->peer < 0) || !background_pending(b) ||
        clock_now() - b->last_message < b->cfg->dist.timeout)
        return;
    if (b->child)
        process_end(b->child, 0);
    how = xasprintf("sent no message for %g seconds (DIST.TIMEOUT) and was killed",
                    b->cfg->dist.timeout);
    evaluator_ended(b, how);
    free(how);
}

bool background_gave_up(const struct background *b)
{
    return b->failures >= MAX_FAILURES && b->peer < 0;
}

static void supervise(struct background *b)
{
    reap(b);
    if (b->peer < 0) {
        b->peer = accept4(b->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        b->last_message = b->peer < 0 ? b->last_message : clock_now();
    }
    if (b->peer < 0 && !b->child && b->failures < MAX_FAILURES && background_pending(b) &&
        clock_now() >= b->not_before)
        start_evaluator(b);
}

/* Sends the first item without a result to the evaluator, unless it was already sent. */
static void send_next(struct background *b)
{
    struct background_item *i = b->item, *end = b->item + b->n;
    struct strbuf line = STRBUF_INIT;
    struct json_writer w = json_writer(&line);

    while (i < end && i->known)
        i++;
    if (i == end || i->sent || b->peer < 0)
        return;
    json_begin_object(&w, NULL);
    json_put_string(&w, "evaluate", i->path);
    json_put_int(&w, "step", i->step);
    json_put_int(&w, "epoch", i->epoch);
    json_end(&w);
    strbuf_addch(&line, '\n');
    i->sent = send(b->peer, line.buf, line.len, MSG_NOSIGNAL) == (ssize_t)line.len;
    b->last_message = clock_now();
    if (!i->sent)
        disconnect(b);
    strbuf_release(&line);
}

/* Receives messages from the evaluator without waiting. */
static void receive(struct background *b)
{
    char text[4096];
    ssize_t n = 1;

    while (b->peer >= 0 && n > 0) {
        n = recv(b->peer, text, sizeof(text), MSG_DONTWAIT);
        if (n > 0) {
            strbuf_add(&b->received, text, (size_t)n);
            b->last_message = clock_now();
        }
        if (!n || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            disconnect(b);
    }
}

/* Removes the first complete line from b->received. Returns false if there is none. */
static bool take_line(struct background *b, struct strbuf *line)
{
    char *end = b->received.len ? memchr(b->received.buf, '\n', b->received.len) : NULL;
    struct strbuf rest = STRBUF_INIT;

    if (!end)
        return false;
    strbuf_reset(line);
    strbuf_add(line, b->received.buf, (size_t)(end - b->received.buf));
    strbuf_add(&rest, end + 1, b->received.len - (size_t)(end + 1 - b->received.buf));
    strbuf_release(&b->received);
    b->received = rest;
    return true;
}

/* Removes lines up to and including the first result. Returns false if there is none. */
static bool take_result(struct background *b, struct background_result *r)
{
    struct strbuf line = STRBUF_INIT;
    bool found = false;

    while (!found && take_line(b, &line)) {
        found = background_result_get(line.buf, r);
        if (!found && strcmp(line.buf, BACKGROUND_ALIVE) != 0)
            log_warning("invalid message from the background evaluator: '%.100s'",
                        line.buf);
    }
    strbuf_release(&line);
    return found;
}

bool background_next(struct background *b, struct background_result *r)
{
    supervise(b);
    send_next(b);
    receive(b);
    while (take_result(b, r))
        for (int i = 0; i < b->n; i++)
            if (b->item[i].step == r->step && !b->item[i].known) {
                b->item[i].known = true;
                r->epoch = b->item[i].epoch;
                b->failures = 0;
                send_next(b);
                return true;
            }
    check_timeout(b);
    return false;
}

void background_open(struct background *b, const struct config *cfg, const char *dir,
                     int64_t step, int64_t epoch_steps)
{
    char *path = path_join(dir, BACKGROUND_SOCKET);

    *b = (struct background){.cfg = cfg, .dir = dir, .peer = -1};
    b->listening = background_listen(path);
    if (b->listening < 0)
        die("TRAIN.VALIDATE background: cannot create the socket '%s': %s", path,
            strerror(errno));
    find_items(b, step, epoch_steps);
    free(path);
}

/* An evaluator started by hand exits when its socket is closed. */
void background_close(struct background *b)
{
    char *path;

    if (!b->dir)
        return;
    path = path_join(b->dir, BACKGROUND_SOCKET);
    disconnect(b);
    if (b->child)
        process_end(b->child, 5);
    (void)close(b->listening);
    (void)unlink(path);
    free(path);
    for (int i = 0; i < b->n; i++)
        free(b->item[i].path);
    free(b->item);
    strbuf_release(&b->received);
    *b = (struct background){0};
}
