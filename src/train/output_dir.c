/*
 * Checks the folder of a run before anything is written into it: who made it, the
 * configuration of the run in it, and that no other process writes to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "config/cmdline.h"
#include "config/config.h"
#include "config/dump.h"
#include "config/print.h"
#include "config/schema.h"
#include "dist/group.h"
#include "models/table.h"
#include "train/output.h"
#include "train/saves.h"

static void add_key(struct strbuf *s, const struct schema *row, const struct config *was,
                    const struct config *is)
{
    const struct value *a = config_get(was, row->key), *b = config_get(is, row->key);

    if (value_equal(a, b))
        return;
    strbuf_addf(s, "%s%s (", s->len ? ", " : "", row->key);
    value_add_yaml(s, a);
    strbuf_addstr(s, " there, ");
    value_add_yaml(s, b);
    strbuf_addstr(s, " here)");
}

/* Appends the keys in which the saved configuration differs; ignores keys that do not
 * change the result, except `also`. */
static void compare_config(struct strbuf *s, const char *path, const struct config *cfg,
                           const char *also)
{
    struct cmd_word file = {.text = path, .origin = path};
    struct cmdline line = {.cfg = &file, .ncfg = 1};
    struct problems p = {0};
    struct config saved;

    if (!config_load(&saved, &line, &p))
        strbuf_addf(s, "'%s' cannot be read: %s", path, p.n ? p.item[0].text : "?");
    else
        for (const struct schema *row = schema_table; row->key; row++)
            if ((!row->neutral && !row->no_effect) || !strcmp(row->key, also))
                add_key(s, row, &saved, cfg);
    problems_release(&p);
    config_release(&saved);
}

bool output_again(const struct output *o, const struct config *cfg)
{
    char *path = path_join(o->dir, "config.yaml");
    struct strbuf keys = STRBUF_INIT;
    bool again = file_exists(path) && saves_exist(o->dir);

    if (again)
        compare_config(&keys, path, cfg, "MODEL.RESUME");
    again = again && !keys.len;
    strbuf_release(&keys);
    free(path);
    return again;
}

static void check_reuse(const struct output *o, const struct config *cfg)
{
    char *path = path_join(o->dir, "config.yaml");
    struct strbuf keys = STRBUF_INIT;

    if (!saves_exist(o->dir) || *cfg->model.resume)
        goto done;
    if (!cfg->train.auto_resume)
        usage("'%s' contains checkpoints of an earlier run: remove it, choose another "
              "--tag, or set TRAIN.AUTO_RESUME True",
              o->dir);
    if (file_exists(path))
        compare_config(&keys, path, cfg, "");
    if (keys.len)
        usage("'%s' contains checkpoints of a run with a different configuration: %s; "
              "choose another --tag, or use --resume FILE to resume anyway",
              o->dir, keys.buf);
done:
    strbuf_release(&keys);
    free(path);
}

void output_compare(const struct config *cfg, const char *checkpoint)
{
    char *dir = path_dirname(checkpoint), *path = path_join(dir, "config.yaml");
    struct strbuf keys = STRBUF_INIT;

    if (file_exists(path))
        compare_config(&keys, path, cfg, "");
    if (keys.len)
        log_warning("'%s' was saved with a different configuration: %s", checkpoint,
                    keys.buf);
    strbuf_release(&keys);
    free(path);
    free(dir);
}

char *output_dir(const struct config *cfg)
{
    const char *name = cfg->model.name;
    const struct model_family *f = model_family_of(name);
    size_t len = strlen(name);

    if (f && f->ending) { /* a path: net of nets/net.pt2 */
        name = path_basename(name);
        len = strlen(name) - strlen(f->ending);
    }
    return xasprintf("%s/%.*s/%s", *cfg->output ? cfg->output : "output", (int)len, name,
                     cfg->tag);
}

/* Dies if config.yaml is the user's own file: there are no checkpoints, and no
 * derived.yaml, which a run writes first. */
static void check_config(const struct output *o)
{
    char *config = path_join(o->dir, "config.yaml");
    char *derived = path_join(o->dir, "derived.yaml");
    char *text = file_read(derived, NULL);

    if (file_exists(config) && !saves_exist(o->dir) &&
        (!text || strncmp(text, OUTPUT_DERIVED_FIRST, strlen(OUTPUT_DERIVED_FIRST)) != 0))
        usage("'%s' was not written by trainc and would be overwritten: choose another "
              "TAG, or move it away",
              config);
    free(text);
    free(config);
    free(derived);
}

/*
 * Returns the locked folder, so that two runs do not overwrite each other's files. Waits
 * for a run that is about to exit, but less long than the other processes of this run
 * wait for this one. Ignores file systems that do not support locks.
 */
static int lock_dir(const char *dir, const struct config *cfg)
{
    double patience = fmin(20, cfg->dist.timeout / 2);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || !file_flock(fd, 0) || errno != EWOULDBLOCK)
        return fd;
    log_warning("another run is writing to '%s': waiting up to %g s for it to end", dir,
                patience);
    if (file_flock(fd, patience) && errno == EWOULDBLOCK)
        busy("another run is writing to '%s': wait for it, or choose another --tag", dir);
    return fd;
}

void output_prepare(struct output *o, const struct config *cfg)
{
    struct strbuf text = STRBUF_INIT;
    char *log;

    *o = (struct output){.dir = output_dir(cfg),
                         .tensorboard = cfg->log.tensorboard,
                         .lock = -1,
                         .silent = !dist_is_first()};
    config_print(&text, cfg, 0);
    o->config = strbuf_detach(&text);
    o->words = xasprintf("%s\n", cfg->words ? cfg->words : "");
    if (o->silent)
        return;
    if (dir_make_all(o->dir))
        die("cannot make the folder '%s': %s", o->dir, strerror(errno));
    o->lock = lock_dir(o->dir, cfg); /* first: the lock's owner may still be writing */
    check_config(o);
    check_reuse(o, cfg);
    log = path_join(o->dir, "log.txt");
    log_open(log);
    free(log);
}
