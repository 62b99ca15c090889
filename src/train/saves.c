#include "train/saves.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "io/input.h"
#include "session/state.h"
#include "train/save_list.h"

/* The checkpoint being saved, and the thread that writes it. */
struct saves_writer {
    struct checkpoint copy;
    char name[64];       /* name of the numbered file */
    bool best;           /* True if `best` is written, too. */
    bool busy;           /* True until saves_wait(). */
    bool threaded;       /* True if there is a thread to join. */
    int log[SAVES_LOGS]; /* duplicated descriptors, or -1 */
    pthread_t thread;
    atomic_bool done;
    struct saves_end end;
};

static const char last_name[] = "last" SAVE_ENDING, best_name[] = "best" SAVE_ENDING;

bool saves_exist(const char *dir)
{
    struct save_list l = save_list_all(dir, false);
    int n = l.n;

    save_list_free(&l);
    return n > 0;
}

int64_t saves_newest(const char *dir)
{
    struct save_list l = save_list_all(dir, false);
    int64_t done = l.n && !l.item[0].damaged ? l.item[0].mark.done : -1;

    save_list_free(&l);
    return done;
}

void saves_sweep(const char *dir)
{
    int n;
    char **name = dir_list(dir, &n);

    for (int i = 0; i < n; i++) {
        bool numbered;

        if (save_is_named(name[i], SAVE_ENDING ATOMIC_ENDING, &numbered)) {
            char *path = path_join(dir, name[i]);

            if (unlink(path))
                warn("cannot delete '%s': %s", path, strerror(errno));
            free(path);
        }
    }
    dir_list_free(name, n);
}

/* Returns the bytes that deleting all numbered files except the newest would free. */
static double reclaimable(const struct saves *v)
{
    struct save_list l = save_list_read(v->dir, false);
    double bytes = 0;
    int sound = 0;

    for (int i = 0; i < l.n; i++) {
        struct stat st;

        if (!l.item[i].numbered || l.item[i].damaged || !sound++)
            continue;
        if (!stat(l.item[i].path, &st) && st.st_nlink == 1)
            bytes += (double)st.st_size;
    }
    save_list_free(&l);
    return bytes;
}

void saves_check_room(const struct saves *v, const struct session *s)
{
    double size = (double)checkpoint_size(s), room;
    struct strbuf text = STRBUF_INIT;
    struct statvfs fs;

    if (access(v->dir, W_OK))
        die("cannot write to '%s': %s", v->dir, strerror(errno));
    if (statvfs(v->dir, &fs))
        return;
    room = (double)fs.f_bavail * (double)fs.f_frsize;
    strbuf_addf(&text, "a checkpoint needs ");
    strbuf_add_bytes(&text, size);
    strbuf_addf(&text, ", but the free space in '%s' is only ", v->dir);
    strbuf_add_bytes(&text, room);
    if (room < size && room + reclaimable(v) < size)
        die("%s", text.buf);
    if (room < size * (v->keep + 2))
        warn("%s; keeping fewer than %d checkpoints if they do not fit", text.buf,
             v->keep);
    strbuf_release(&text);
}

/*
 * Deletes the oldest numbered file, or returns false if there are fewer than two sound
 * ones. This frees nothing if `best` or `last` is a link to the same file; the caller
 * then tries again.
 */
static bool drop_oldest(const struct saves *v)
{
    struct save_list l = save_list_read(v->dir, false);
    int sound = 0, oldest = -1;

    for (int i = 0; i < l.n; i++)
        if (l.item[i].numbered && !l.item[i].damaged) {
            sound++;
            oldest = i;
        }
    if (sound > 1)
        log_warning("disk full: deleting the oldest checkpoint '%s'",
                    l.item[oldest].path);
    if (sound > 1 && unlink(l.item[oldest].path))
        sound = 0;
    save_list_free(&l);
    return sound > 1;
}

/* Writes `name`; deletes the oldest checkpoints if the disk is full. */
static int store(const struct saves *v, const char *name, struct strbuf *why)
{
    char *path = path_join(v->dir, name);
    int rc;

    while ((rc = checkpoint_store(&v->writer->copy, path, why)) &&
           (errno == ENOSPC || errno == EDQUOT) && drop_oldest(v))
        strbuf_reset(why);
    free(path);
    return rc;
}

/* Atomically makes `name` a hard link to `path`. */
static int link_as(const struct saves *v, const char *path, const char *name)
{
    char *target = path_join(v->dir, name), *tmp = xasprintf("%s" ATOMIC_ENDING, target);
    int rc;

    (void)unlink(tmp);
    rc = link(path, tmp);
    if (!rc) {
        rc = rename(tmp, target);
        (void)unlink(tmp); /* rename keeps it if both are links to the same file */
    }
    if (!rc)
        rc = file_fsync_dir_of(target);
    free(target);
    free(tmp);
    return rc;
}

/* The same, but writes a separate file if hard links are not supported. */
static int also_as(const struct saves *v, const char *path, const char *name,
                   struct strbuf *why)
{
    return link_as(v, path, name) ? store(v, name, why) : 0;
}

void saves_rotate(const struct saves *v)
{
    struct save_list l = save_list_read(v->dir, false);
    char *newest = saves_path(v);
    int kept = 0;

    for (int i = 0; i < l.n; i++) {
        const struct save *s = &l.item[i];

        if (!s->numbered || s->damaged)
            continue;
        if (kept++ < v->keep || (newest && !strcmp(s->path, newest)))
            continue;
        if (unlink(s->path))
            warn("cannot delete '%s': %s", s->path, strerror(errno));
    }
    save_list_free(&l);
    free(newest);
}

/* Recreates the folder if it was removed, so that later checkpoints are not lost, too.
 * Returns true if it was recreated. */
static bool find_folder(const struct saves *v)
{
    if (file_is_dir(v->dir))
        return false;
    if (dir_make_all(v->dir)) {
        log_warning("cannot make the folder '%s': %s", v->dir, strerror(errno));
        return false;
    }
    log_warning(
        "the folder '%s' was removed: recreating it for checkpoints; its logs are lost",
        v->dir);
    return true;
}

/* Call after the first checkpoint: without one, config.yaml would be considered the
 * user's file. */
static void put_config(const struct saves *v)
{
    char *path = path_join(v->dir, "config.yaml");

    if (atomic_write_file(path, v->config, strlen(v->config)))
        log_warning("cannot write '%s': %s", path, strerror(errno));
    free(path);
}

/* Writes `best`, before any checkpoint that records its score. */
static bool write_best(const struct saves *v, bool best)
{
    struct strbuf why = STRBUF_INIT;
    bool written = best && !store(v, best_name, &why);

    if (best && !written) {
        log_warning("cannot save the best checkpoint: %s", why.buf);
        checkpoint_fall_back(&v->writer->copy);
    }
    strbuf_release(&why);
    return written;
}

/* Syncs the logs, so that lines about earlier steps are on disk before the checkpoint. */
static void sync_logs(struct saves_writer *w)
{
    for (int i = 0; i < SAVES_LOGS; i++)
        if (w->log[i] >= 0) {
            if (fsync(w->log[i]))
                log_warning("log lines may be lost after a power failure: %s",
                            strerror(errno));
            (void)close(w->log[i]);
        }
}

static struct saves_end write_all(const struct saves *v)
{
    struct saves_writer *w = v->writer;
    struct saves_end end = {.any = true};
    char *path, *best;
    struct strbuf why = STRBUF_INIT;
    bool linked, made;

    if (!checkpoint_is_finite(&w->copy, &why)) {
        end.failed = true;
        end.diverged = strbuf_detach(&why);
        return end;
    }
    made = find_folder(v);
    path = path_join(v->dir, w->name);
    best = path_join(v->dir, best_name);
    linked = write_best(v, w->best);
    end.best_lost = w->best && !linked;
    end.failed =
        linked ? also_as(v, best, w->name, &why) != 0 : store(v, w->name, &why) != 0;
    if (!end.failed)
        end.failed = also_as(v, path, last_name, &why) != 0;
    if (end.failed)
        log_warning("cannot save a checkpoint: %s", why.buf);
    if (made && !end.failed)
        put_config(v);
    strbuf_release(&why);
    free(path);
    free(best);
    return end;
}

static void *writer_thread(void *arg)
{
    const struct saves *v = arg;

    sync_logs(v->writer);
    v->writer->end = write_all(v);
    atomic_store(&v->writer->done, true);
    return NULL;
}

char *saves_path(const struct saves *v)
{
    return v->writer ? path_join(v->dir, v->writer->name) : NULL;
}

bool saves_ready(const struct saves *v)
{
    return v->writer && v->writer->busy && atomic_load(&v->writer->done);
}

struct saves_end saves_wait(struct saves *v)
{
    struct saves_writer *w = v->writer;

    if (!w || !w->busy)
        return (struct saves_end){.any = false};
    if (w->threaded)
        pthread_join(w->thread, NULL);
    w->busy = false;
    return w->end;
}

/* Duplicates the descriptors of the logs, because the run may replace its files
 * meanwhile. Syncs a file at once if that fails. */
static void take_logs(struct saves *v)
{
    for (int i = 0; i < SAVES_LOGS; i++) {
        int fd = v->log ? v->log(v->log_arg, i) : -1;

        v->writer->log[i] = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (fd >= 0 && v->writer->log[i] < 0)
            (void)fsync(fd);
    }
}

/* Blocks all signals in the thread, so that the main thread handles them. Writes
 * synchronously if no thread can be created. */
static void start_writer(struct saves *v)
{
    struct saves_writer *w = v->writer;
    sigset_t all, before;

    atomic_store(&w->done, false);
    w->busy = true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    w->threaded = !pthread_create(&w->thread, NULL, writer_thread, v);
    if (w->threaded)
        pthread_setname_np(w->thread, "checkpoint");
    else
        (void)writer_thread(v);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void saves_start(struct saves *v, const struct session *s, const struct run_state *state,
                 const struct run_state *before, bool epoch_end)
{
    int64_t number = epoch_end ? state->epoch - 1 : session_control(s).step;
    struct saves_writer *w;

    if (!v->writer)
        v->writer = xcalloc(1, sizeof(*v->writer));
    w = v->writer;
    if (w->busy)
        BUG("a checkpoint while another one is being written");
    take_logs(v);
    checkpoint_copy(&w->copy, s, state, v->classes, v->config);
    w->best = before != NULL;
    if (before)
        checkpoint_copy_before(&w->copy, before);
    (void)snprintf(w->name, sizeof(w->name), "ckpt_%s_%lld" SAVE_ENDING,
                   epoch_end ? "epoch" : "step", (long long)number);
    start_writer(v);
}

void saves_release(struct saves *v)
{
    if (!v->writer)
        return;
    free(saves_wait(v).diverged);
    checkpoint_release(&v->writer->copy);
    free(v->writer);
    v->writer = NULL;
}

/* Makes `last` the resumed checkpoint, for predict, eval, and export: a killed process
 * may not have done so. */
static void name_last(const struct saves *v, const char *path)
{
    char *last = path_join(v->dir, last_name), *tmp = xasprintf("%s" ATOMIC_ENDING, last);

    if (!file_same(path, last) && link_as(v, path, last_name)) {
        (void)unlink(tmp);
        if (file_copy(path, tmp) || rename(tmp, last) || file_fsync_dir_of(last))
            log_warning("'%s' differs from the resumed checkpoint: %s", last,
                        strerror(errno));
    }
    free(last);
    free(tmp);
}

/* True if item i is the same file as an earlier item of the list. */
static bool seen_before(const struct save_list *l, int i)
{
    for (int k = 0; k < i; k++)
        if (l->item[k].ino == l->item[i].ino && l->item[k].dev == l->item[i].dev)
            return true;
    return false;
}

void saves_say_resumed(const char *path, const struct session *s,
                       const struct run_state *state)
{
    log_info("resumed from '%s': %lld epoch%s done, step %lld", path,
             (long long)state->epoch, state->epoch == 1 ? "" : "s",
             (long long)session_control(s).step);
}

bool saves_resume(const struct saves *v, struct session *s, struct run_state *state)
{
    struct save_list l = save_list_all(v->dir, true);
    int loaded = -1, n = l.n;

    for (int i = 0; i < n && loaded < 0; i++) {
        struct strbuf why = STRBUF_INIT;
        long failures = input_machine_failures();

        if (l.item[i].damaged || seen_before(&l, i))
            continue;
        if (!checkpoint_read(l.item[i].path, s, state, v->classes, &why))
            loaded = i;
        else if (input_machine_failures() != failures)
            save_die_of_machine(why.buf);
        else
            log_warning("skipping checkpoint: %s", why.buf);
        strbuf_release(&why);
    }
    if (n && loaded < 0)
        die("cannot load any of the %d checkpoints in '%s': move them away to start "
            "over, or choose another --tag",
            n, v->dir);
    if (loaded >= 0 && !v->reads_only)
        name_last(v, l.item[loaded].path);
    if (loaded >= 0)
        saves_say_resumed(l.item[loaded].path, s, state);
    save_list_free(&l);
    return n > 0;
}
