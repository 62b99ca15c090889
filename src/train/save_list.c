#include "train/save_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "io/input.h"

enum { READ_TRIES = 5 };

/* True if `name` is `start`, digits if `number`, and `ending`. */
static bool is_called(const char *name, const char *start, bool number,
                      const char *ending)
{
    size_t len = strlen(start), digits;

    if (strncmp(name, start, len) != 0)
        return false;
    digits = strspn(name + len, "0123456789");
    return (digits > 0) == number && !strcmp(name + len + digits, ending);
}

bool save_is_named(const char *name, const char *ending, bool *numbered)
{
    *numbered = is_called(name, "ckpt_epoch_", true, ending) ||
                is_called(name, "ckpt_step_", true, ending);
    return *numbered || is_called(name, "last", false, ending) ||
           is_called(name, "best", false, ending);
}

/* Newest first; damaged files come last. */
static int by_age(const void *a, const void *b)
{
    const struct save *x = a, *y = b;

    if (x->damaged != y->damaged)
        return x->damaged ? 1 : -1;
    if (x->mark.done != y->mark.done)
        return x->mark.done < y->mark.done ? 1 : -1;
    if (x->mark.epoch != y->mark.epoch)
        return x->mark.epoch < y->mark.epoch ? 1 : -1;
    if (x->numbered != y->numbered)
        return x->numbered ? -1 : 1;
    return strcmp(x->path, y->path);
}

void save_die_of_machine(const char *why)
{
    die("%s; the checkpoint may be intact: try again, or move it away", why);
}

/* Returns false if the file is damaged or, with *unknown true, cannot be read at the
 * moment. */
static bool read_mark(const char *path, struct checkpoint_mark *mark, bool *unknown,
                      struct strbuf *why)
{
    for (int tries = 0; tries < READ_TRIES; tries++) {
        long failures = input_machine_failures();

        strbuf_reset(why);
        *unknown = false;
        if (!checkpoint_mark(path, mark, why))
            return true;
        *unknown = input_machine_failures() != failures;
        if (!*unknown)
            break;
    }
    return false;
}

static void add_save(struct save_list *l, const char *dir, const char *name,
                     bool numbered, bool verbose)
{
    struct save s = {.path = path_join(dir, name), .numbered = numbered};
    struct strbuf why = STRBUF_INIT;
    struct stat st = {0};
    bool unknown = false;

    s.damaged = stat(s.path, &st) || !read_mark(s.path, &s.mark, &unknown, &why);
    s.dev = st.st_dev;
    s.ino = st.st_ino;
    if (unknown && verbose)
        save_die_of_machine(why.buf);
    if (s.damaged && verbose)
        log_warning("skipping checkpoint: %s", why.len ? why.buf : s.path);
    GROW(l->item, l->n, l->cap);
    l->item[l->n++] = s;
    strbuf_release(&why);
}

struct save_list save_list_read(const char *dir, bool verbose)
{
    struct save_list l = {0};
    int n;
    char **name = dir_list(dir, &n);

    l.unknown = n < 0 && errno != ENOENT ? errno : 0;
    for (int i = 0; i < n; i++) {
        bool numbered;

        if (save_is_named(name[i], SAVE_ENDING, &numbered))
            add_save(&l, dir, name[i], numbered, verbose);
    }
    dir_list_free(name, n);
    if (l.n)
        qsort(l.item, (size_t)l.n, sizeof(*l.item), by_age);
    return l;
}

void save_list_free(struct save_list *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->item[i].path);
    free(l->item);
}

struct save_list save_list_all(const char *dir, bool verbose)
{
    struct save_list l = save_list_read(dir, verbose);

    if (l.unknown)
        die("cannot read the folder '%s': %s", dir, strerror(l.unknown));
    return l;
}
