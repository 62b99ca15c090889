#include "train/beside.h"

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

enum { MOST_FAILURES = 5 }; /* in a row */

#define START  "validate_step_"
#define ENDING ".safetensors"

/* ---- what waits ---- */

static void add_item(struct beside *b, char *path, int64_t step, int64_t epoch)
{
    GROW(b->item, b->n, b->cap);
    b->item[b->n++] = (struct beside_item){.path = path, .step = step, .epoch = epoch};
}

static char *path_of(const struct beside *b, int64_t step)
{
    char *name = xasprintf(START "%lld" ENDING, (long long)step);
    char *path = path_join(b->dir, name);

    free(name);
    return path;
}

static void drop_item(struct beside *b, int i)
{
    if (unlink(b->item[i].path) && errno != ENOENT)
        log_warning("cannot delete '%s': %s", b->item[i].path, strerror(errno));
    free(b->item[i].path);
    memmove(&b->item[i], &b->item[i + 1], (size_t)(b->n - i - 1) * sizeof(*b->item));
    b->n--;
}

static int by_step(const void *a, const void *b)
{
    const struct beside_item *x = a, *y = b;

    return x->step < y->step ? -1 : x->step > y->step;
}

/* The update that a file called so waits for; -1: it is another one, as a backup of
 * one. */
static int64_t step_of(const char *name)
{
    bool starts = !strncmp(name, START, strlen(START));
    long long at = starts ? strtoll(name + strlen(START), NULL, 10) : -1;
    char *whole = xasprintf(START "%lld" ENDING, at);
    bool same = starts && at >= 0 && !strcmp(name, whole);

    free(whole);
    return same ? at : -1;
}

/* Finds the files that an earlier process of the run has left. Those after update `step`,
 * which will be done again, are deleted. */
static void find_items(struct beside *b, int64_t step, int64_t epoch_updates)
{
    int n;
    char **name = dir_list(b->dir, &n);

    for (int i = 0; i < n; i++) {
        int64_t at = step_of(name[i]);
        struct checkpoint_mark mark;
        struct strbuf why = STRBUF_INIT;
        char *path = at < 0 ? NULL : path_of(b, at);

        if (path && !checkpoint_mark(path, &mark, &why))
            add_item(b, path, mark.step, (mark.step - 1) / epoch_updates);
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

void beside_add(struct beside *b, const char *file, int64_t step, int64_t epoch)
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

bool beside_has(const struct beside *b, int64_t step)
{
    for (int i = 0; i < b->n; i++)
        if (b->item[i].step == step)
            return true;
    return false;
}

int beside_left(const struct beside *b)
{
    int n = 0;

    for (int i = 0; i < b->n; i++)
        n += !b->item[i].known;
    return n;
}

void beside_keep(struct beside *b)
{
    for (int i = 0; i < b->n; i++)
        b->item[i].kept = b->item[i].known;
}

void beside_forget(struct beside *b)
{
    while (b->n && b->item[0].kept)
        drop_item(b, 0);
}

void beside_best(const struct beside *b, int64_t step)
{
    char *from = path_of(b, step), *best = path_join(b->dir, "best" ENDING);
    char *tmp = xasprintf("%s" ATOMIC_ENDING, best);

    (void)unlink(tmp);
    if ((link(from, tmp) && file_copy(from, tmp)) || rename(tmp, best))
        log_warning("the best checkpoint is not saved: cannot link '%s' to '%s': %s",
                    best, from, strerror(errno));
    (void)unlink(tmp); /* rename leaves it if both are one file already */
    free(from);
    free(best);
    free(tmp);
}

/* ---- the evaluator ---- */

/* An evaluator is no process of the run's group: it does not get launchers' variables. */
static char **environment(void)
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

static void start(struct beside *b)
{
    char *config = path_join(b->dir, "config.yaml");
    char *where = path_join(b->dir, BESIDE_SOCKET), **env = environment();
    const char *word[] = {
        "trainc",   "eval", "--cfg",       config,
        "--beside", where,  "--device",    b->cfg->train.validate_device,
        "--resume", "",     "--log-level", "warning",
        NULL};
    struct process p = {.words = word,
                        .program = PROCESS_SELF,
                        .env = env,
                        .death = SIGKILL,
                        .nice = 10}; /* training comes first */
    struct strbuf why = STRBUF_INIT;

    b->child = process_start(&p, &why);
    b->heard = clock_now();
    if (!b->child) {
        b->failures++;
        b->not_before = clock_now() + b->failures;
        log_warning("cannot start the background evaluator: %s", why.buf);
    }
    strbuf_release(&why);
    free(config);
    free(where);
    free(env);
}

static void hang_up(struct beside *b)
{
    if (b->peer >= 0)
        (void)close(b->peer);
    b->peer = -1;
    strbuf_reset(&b->said);
    for (int i = 0; i < b->n; i++)
        b->item[i].told = b->item[i].known;
}

/* The evaluator is gone, which is no reason for training to end. */
static void lost(struct beside *b, const char *how)
{
    b->child = 0;
    hang_up(b);
    b->failures++;
    b->not_before = clock_now() + b->failures;
    log_warning("the background evaluator %s: %s", how,
                b->failures < MOST_FAILURES ? "restarting it"
                                            : "giving up; the remaining checkpoints are "
                                              "validated when the run is resumed");
}

static void reap(struct beside *b)
{
    int status;
    char *how;

    if (!b->child || waitpid(b->child, &status, WNOHANG) <= 0)
        return;
    how = xasprintf("ended (%s %d)", WIFSIGNALED(status) ? "signal" : "exit code",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    lost(b, how);
    free(how);
}

/* One that hangs counts as one that has ended. After what it said was heard. */
static void check_life(struct beside *b)
{
    char *how;

    if ((!b->child && b->peer < 0) || !beside_left(b) ||
        clock_now() - b->heard < b->cfg->dist.timeout)
        return;
    if (b->child)
        process_end(b->child, 0);
    how = xasprintf("sent no message for %g seconds (DIST.TIMEOUT) and was killed",
                    b->cfg->dist.timeout);
    lost(b, how);
    free(how);
}

bool beside_gave_up(const struct beside *b)
{
    return b->failures >= MOST_FAILURES && b->peer < 0;
}

static void look_after(struct beside *b)
{
    reap(b);
    if (b->peer < 0) {
        b->peer = accept4(b->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        b->heard = b->peer < 0 ? b->heard : clock_now();
    }
    if (b->peer < 0 && !b->child && b->failures < MOST_FAILURES && beside_left(b) &&
        clock_now() >= b->not_before)
        start(b);
}

/* Tells the evaluator of the first item without a result, if it was not told of it. */
static void tell(struct beside *b)
{
    struct beside_item *i = b->item, *end = b->item + b->n;
    struct strbuf line = STRBUF_INIT;
    struct json_writer w = json_writer(&line);

    while (i < end && i->known)
        i++;
    if (i == end || i->told || b->peer < 0)
        return;
    json_begin_object(&w, NULL);
    json_put_string(&w, "evaluate", i->path);
    json_put_int(&w, "step", i->step);
    json_put_int(&w, "epoch", i->epoch);
    json_end(&w);
    strbuf_addch(&line, '\n');
    i->told = send(b->peer, line.buf, line.len, MSG_NOSIGNAL) == (ssize_t)line.len;
    b->heard = clock_now();
    if (!i->told)
        hang_up(b);
    strbuf_release(&line);
}

/* Takes what the evaluator has sent; waits for nothing. */
static void hear(struct beside *b)
{
    char text[4096];
    ssize_t n = 1;

    while (b->peer >= 0 && n > 0) {
        n = recv(b->peer, text, sizeof(text), MSG_DONTWAIT);
        if (n > 0) {
            strbuf_add(&b->said, text, (size_t)n);
            b->heard = clock_now();
        }
        if (!n || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            hang_up(b);
    }
}

/* Takes the first whole line out of b->said. False: there is none. */
static bool take_line(struct beside *b, struct strbuf *line)
{
    char *end = b->said.len ? memchr(b->said.buf, '\n', b->said.len) : NULL;
    struct strbuf rest = STRBUF_INIT;

    if (!end)
        return false;
    strbuf_reset(line);
    strbuf_add(line, b->said.buf, (size_t)(end - b->said.buf));
    strbuf_add(&rest, end + 1, b->said.len - (size_t)(end + 1 - b->said.buf));
    strbuf_release(&b->said);
    b->said = rest;
    return true;
}

/* Takes lines up to the first result. False: there is none. */
static bool take_result(struct beside *b, struct beside_result *r)
{
    struct strbuf line = STRBUF_INIT;
    bool found = false;

    while (!found && take_line(b, &line)) {
        found = beside_result_get(line.buf, r);
        if (!found && strcmp(line.buf, BESIDE_ALIVE) != 0)
            log_warning("invalid message from the background evaluator: '%.100s'",
                        line.buf);
    }
    strbuf_release(&line);
    return found;
}

bool beside_next(struct beside *b, struct beside_result *r)
{
    look_after(b);
    tell(b);
    hear(b);
    while (take_result(b, r))
        for (int i = 0; i < b->n; i++)
            if (b->item[i].step == r->step && !b->item[i].known) {
                b->item[i].known = true;
                r->epoch = b->item[i].epoch;
                b->failures = 0;
                tell(b);
                return true;
            }
    check_life(b);
    return false;
}

void beside_open(struct beside *b, const struct config *cfg, const char *dir,
                 int64_t step, int64_t epoch_updates)
{
    char *path = path_join(dir, BESIDE_SOCKET);

    *b = (struct beside){.cfg = cfg, .dir = dir, .peer = -1};
    b->listening = beside_listen(path);
    if (b->listening < 0)
        die("TRAIN.VALIDATE beside: cannot make the socket '%s': %s", path,
            strerror(errno));
    find_items(b, step, epoch_updates);
    free(path);
}

/* An evaluator that we did not start leaves by itself when its socket is closed. */
void beside_close(struct beside *b)
{
    char *path;

    if (!b->dir)
        return;
    path = path_join(b->dir, BESIDE_SOCKET);
    hang_up(b);
    if (b->child)
        process_end(b->child, 5);
    (void)close(b->listening);
    (void)unlink(path);
    free(path);
    for (int i = 0; i < b->n; i++)
        free(b->item[i].path);
    free(b->item);
    strbuf_release(&b->said);
    *b = (struct beside){0};
}
