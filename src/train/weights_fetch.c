#include "train/weights_fetch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "base/log.h"
#include "config/problems.h"
#include "dist/launch.h"
#include "train/hub_env.h"
#include "train/progress.h"
#include "train/weights_cache.h"
#include "train/weights_fetch_parts.h"
#include "train/weights_places.h"

enum {
    CONFIG_MAX = 1 << 24,
    PATIENCE_MS = 2000 /* how long others wait for the first process of a machine */
};
static const int64_t max_weights_bytes = (int64_t)1 << 36;

/* Logs one line when the first bytes arrive. */
static void begin(struct fetch *f, int64_t done, int64_t total)
{
    struct strbuf s = STRBUF_INIT;

    f->first = done;
    f->began = clock_now();
    strbuf_addf(&s, "downloading %s", f->url);
    if (total >= 0) {
        strbuf_addstr(&s, " (");
        strbuf_add_bytes(&s, (double)total);
        strbuf_addch(&s, ')');
    }
    log_info("%s to '%s'%s", s.buf, f->place,
             f->checked ? "" : "; cannot verify it (unknown checksum)");
    strbuf_release(&s);
}

static void show_progress(void *arg, int64_t done, int64_t total)
{
    struct fetch *f = arg;

    if (f->first < 0)
        begin(f, done, total);
    progress_show(&(struct progress){.title = f->name,
                                     .done = done,
                                     .total = total > 0 ? total : done,
                                     .initial = f->first,
                                     .seconds = clock_now() - f->began,
                                     .postfix = "",
                                     .bytes = true});
}

static void say_retry(void *arg, const char *why, double seconds)
{
    const struct fetch *f = arg;

    log_warning("%s: %s; retrying in %.3g s", f->name, why, seconds);
}

static void say_waiting(void *arg)
{
    const struct fetch *f = arg;

    log_info("%s: waiting for another process to download it", f->name);
}

int fetch_lock(struct fetch *f, const char *path)
{
    char *dir = path_dirname(path);
    int fd = dir_make_all(dir) ? -1 : file_lock(path, say_waiting, f);

    if (fd < 0)
        strbuf_addf(f->why, "cannot write '%s': %s", path, strerror(errno));
    free(dir);
    return fd;
}

void fetch_prepare(struct fetch *f, struct download *d, const char *url)
{
    d->url = url;
    d->plain = !strncmp(url, "http://", 7);
    d->timeout = hub_timeout();
    d->arg = f;
    d->retry = say_retry;
}

enum download_end fetch_file(struct fetch *f, struct download *d, const char *url,
                             const char *place)
{
    enum download_end end;

    fetch_prepare(f, d, url);
    d->progress = f->quiet ? NULL : show_progress;
    f->first = -1;
    f->url = url;
    f->place = place;
    f->checked = d->sha256 != NULL;
    end = download_file(d, f->why);
    progress_wipe();
    return end;
}

/* Downloads from the URL in the table of public weights. */
static enum download_end fetch_from_url(struct fetch *f, char **path)
{
    char *place = weights_torch_place(f->r), *url = hub_mirrored(f->r->row->url);
    char *part = xasprintf("%s.partial", place), *hash = NULL;
    const char *digits;
    size_t len = weights_hash_in_name(place, &digits);
    int lock = fetch_lock(f, part);
    enum download_end end = lock < 0 ? DOWNLOAD_LOCAL : DOWNLOAD_OK;

    hash = len ? xstrndup(digits, len) : NULL;
    if (lock >= 0 && file_exists(place)) {
        (void)unlink(part); /* another process has already downloaded it */
    } else if (lock >= 0) {
        end = fetch_file(f,
                         &(struct download){.file = part,
                                            .same = hash != NULL,
                                            .sha256 = hash,
                                            .size = -1,
                                            .max_size = max_weights_bytes},
                         url, place);
        if (end == DOWNLOAD_OK && rename(part, place)) {
            strbuf_addf(f->why, "cannot write '%s': %s", place, strerror(errno));
            end = DOWNLOAD_LOCAL;
        }
    }
    if (lock >= 0)
        (void)close(lock);
    *path = end == DOWNLOAD_OK ? xstrdup(place) : NULL;
    free(hash);
    free(part);
    free(url);
    free(place);
    return end;
}

/* Downloads the first of the usual file names that the repository has. */
static enum download_end fetch_weights_of_hub(struct fetch *f, char **path)
{
    struct strbuf first = STRBUF_INIT;
    enum download_end end = DOWNLOAD_MISSING;

    for (int i = 0; weights_hub_file[i] && end == DOWNLOAD_MISSING; i++) {
        if (i == 1)
            strbuf_addstr(&first, f->why->buf);
        strbuf_reset(f->why);
        end = fetch_from_hub(f, weights_hub_file[i], max_weights_bytes, path);
    }
    if (end == DOWNLOAD_MISSING) {
        strbuf_reset(f->why);
        strbuf_addstr(f->why, first.buf);
    }
    strbuf_release(&first);
    return end;
}

typedef enum download_end fetch_function(struct fetch *f, char **path);

/* Fills the sources in the order in which they are tried, ended by NULL. */
static void list_fetchers(const struct pretrained_request *r, fetch_function *fetchers[3])
{
    bool url = r->row && *r->row->url && !r->revision;
    bool first = url && weights_torch_first();
    int n = 0;

    fetchers[1] = fetchers[2] = NULL;
    if (first)
        fetchers[n++] = fetch_from_url;
    fetchers[n++] = fetch_weights_of_hub;
    if (url && !first)
        fetchers[n] = fetch_from_url;
}

/* Gives the first process of this machine a head start, after which the lock decides.
 * Returns the file if it is in a cache, else NULL. */
static char *wait_for_first(const struct pretrained_request *r)
{
    const struct timespec pause = {0, 50000000};
    char *path = weights_cache_find(r);

    for (int ms = 0; !path && dist_launched().local_rank > 0 && ms < PATIENCE_MS;
         ms += 50) {
        (void)nanosleep(&pause, NULL);
        path = weights_cache_find(r);
    }
    return path;
}

static void explain(const struct fetch *f, const char *reason, struct strbuf *why)
{
    strbuf_addf(why, "cannot download the weights %s: %s", f->name, reason);
    if (f->r->row || f->failed) {
        strbuf_addstr(why, "; to do it manually, ");
        weights_say_by_hand(f->r, why);
    }
}

char *weights_fetch(const struct config *cfg, const struct pretrained_request *r,
                    struct strbuf *why)
{
    struct strbuf name = STRBUF_INIT, reason = STRBUF_INIT;
    char *token = hub_token(), *path = wait_for_first(r);
    struct fetch f = {.r = r, .token = token};
    enum download_end end = DOWNLOAD_OK;
    fetch_function *fetchers[3];

    weights_name(r, &name);
    f.name = name.buf;
    list_fetchers(r, fetchers);
    progress_init(hub_is_set("HF_HUB_DISABLE_PROGRESS_BARS") ? PROGRESS_OFF
                                                             : (int)cfg->log.progress);
    for (int i = 0; !path && fetchers[i] && end != DOWNLOAD_LOCAL; i++) {
        struct strbuf other = STRBUF_INIT;

        f.why = i ? &other : &reason;
        end = fetchers[i](&f, &path);
        f.failed |= end == DOWNLOAD_FAILED;
        if (i && path)
            log_warning("%s: %s; using another file with the same weights", f.name,
                        reason.buf);
        else if (i && end == DOWNLOAD_LOCAL)
            strbuf_addf(&reason, "; %s", other.buf);
        strbuf_release(&other);
    }
    if (!path)
        explain(&f, reason.buf, why);
    strbuf_release(&reason);
    strbuf_release(&name);
    free(token);
    return path;
}

char *weights_fetch_config(const struct config *cfg, const struct pretrained_request *r,
                           struct strbuf *why)
{
    struct strbuf unused = STRBUF_INIT, name = STRBUF_INIT, reason = STRBUF_INIT;
    char *token = hub_token(), *path = NULL;
    struct fetch f = {.r = r, .token = token, .quiet = true, .why = &reason};
    enum download_end end = DOWNLOAD_MISSING;

    weights_name(r, &name);
    f.name = name.buf;
    if (weights_may_fetch(cfg, &unused))
        end = fetch_from_hub(&f, "config.json", CONFIG_MAX, &path);
    f.failed = end == DOWNLOAD_FAILED;
    if (end != DOWNLOAD_OK && end != DOWNLOAD_MISSING)
        explain(&f, reason.buf, why);
    strbuf_release(&reason);
    strbuf_release(&unused);
    strbuf_release(&name);
    free(token);
    return path;
}
