/*
 * trainc cache: lists or deletes the files that trainc keeps to start faster: indexes of
 * data sets, decoded images, class counts, plans of GPU libraries, and choices of CPU
 * kernels. Only files with
 * their names are touched, so DATA.INDEX_DIR may hold other files, too.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache_dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/say.h"
#include "base/strbuf.h"
#include "cmd/cmd.h"

enum { HASH = 16, PLAN_HASH = 32, HOUR = 3600, DAY = 24 * HOUR, MAX_DAYS = 36500 };

/* Names are KIND-HASHES and an ending; in the folder of a data set, after ".trainc-". */
static const struct kind {
    const char *name;
    int hashes, digits; /* digits of a hash */
    const char *ending, *help;
} kinds[] = {
    {"index", 2, HASH, "", "files and samples of data sets"},
    {"cache", 2, HASH, "", "decoded images (DATA.CACHE mmap)"},
    {"classes", 2, HASH, ".txt", "pixels per class"},
    {"cudnn", 1, PLAN_HASH, ".json", "plans of cuDNN"},
    {"cublaslt", 1, PLAN_HASH, ".json", "algorithms of cuBLASLt"},
    {"cpu", 1, PLAN_HASH, ".json", "kernels chosen by trainc bench --tune"},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

/* Returns the text after "-HASH", or NULL if it does not start so. */
static const char *skip_hash(const char *text, int digits)
{
    int n = 0;

    if (*text++ != '-')
        return NULL;
    while (isxdigit((unsigned char)text[n]) && !isupper((unsigned char)text[n]))
        n++;
    return n == digits ? text + n : NULL;
}

/* Returns the text after "NAME-HASH-HASH", or NULL if it does not start so. */
static const char *skip_name(const char *text, const struct kind *k, int hashes)
{
    size_t len = strlen(k->name);

    if (strncmp(text, k->name, len) != 0)
        return NULL;
    text += len;
    for (int i = 0; text && i < hashes; i++)
        text = skip_hash(text, k->digits);
    return text;
}

/* True for ".HEX.tmp", which atomic_write appends while it writes. */
static bool is_temporary(const char *rest)
{
    size_t n = *rest == '.' ? strspn(rest + 1, "0123456789abcdef") : 0;

    return n && strcmp(rest + 1 + n, ".tmp") == 0;
}

/* Returns the kind of a file name, or NULL. Sets *temporary for an unfinished file. */
static const struct kind *kind_of(const char *name, bool *temporary)
{
    static const char hidden[] = ".trainc-";
    bool in_data = strncmp(name, hidden, sizeof(hidden) - 1) == 0;

    name += in_data ? sizeof(hidden) - 1 : 0;
    for (const struct kind *k = kinds; k < kinds + KINDS; k++) {
        const char *rest = skip_name(name, k, in_data ? 1 : k->hashes);
        size_t end = strlen(k->ending);

        if (!rest || strncmp(rest, k->ending, end) != 0)
            continue;
        *temporary = is_temporary(rest + end);
        if (*temporary || !rest[end])
            return k;
    }
    return NULL;
}

/* The files of a kind. */
struct found {
    int64_t files, bytes;
};

/* Age in seconds since the file was last written or read. */
static double age_of(const struct stat *st, time_t now)
{
    return difftime(now, st->st_mtime > st->st_atime ? st->st_mtime : st->st_atime);
}

/* Counts the files of the folder that are at least `age` seconds old, and deletes them if
 * `remove`. Unfinished files may belong to a running process until they are an hour old. */
static void visit(const char *dir, double age, bool remove, struct found *found)
{
    int n, fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char **name = dir_list(dir, &n);
    time_t now = time(NULL);

    if (fd < 0)
        die("cannot open '%s': %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        bool temporary;
        const struct kind *k = kind_of(name[i], &temporary);
        struct stat st;

        if (!k || fstatat(fd, name[i], &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(st.st_mode) ||
            age_of(&st, now) < (temporary && age < HOUR ? HOUR : age))
            continue;
        if (remove && unlinkat(fd, name[i], 0) < 0) {
            log_warning("cannot delete '%s/%s': %s", dir, name[i], strerror(errno));
            continue;
        }
        found[k - kinds].files++;
        found[k - kinds].bytes += st.st_size;
    }
    dir_list_free(name, n);
    close(fd);
}

static void print_row(const char *name, const struct found *f, const char *help)
{
    struct strbuf size = STRBUF_INIT;

    strbuf_add_bytes(&size, (double)f->bytes);
    say("%-10s %8lld %12s%s%s\n", name, (long long)f->files, size.buf, *help ? "  " : "",
        help);
    strbuf_release(&size);
}

static void print_found(const char *dir, const struct found *found, bool removed)
{
    struct found all = {0};

    say("%s '%s':\n", removed ? "deleted from" : "files in", dir);
    say("%-10s %8s %12s\n", "kind", "files", "size");
    for (int k = 0; k < KINDS; k++) {
        print_row(kinds[k].name, &found[k], kinds[k].help);
        all.files += found[k].files;
        all.bytes += found[k].bytes;
    }
    print_row("total", &all, "");
}

/* Returns the value of --older-than in days, 0 without it, or -1 if it is wrong. */
static int days_of(const struct cmdline *line)
{
    const char *text = cmdline_value(line, "--older-than");
    char *end;
    long days = text ? strtol(text, &end, 10) : 0;

    if (text && (!isdigit((unsigned char)*text) || *end || days < 1 || days > MAX_DAYS))
        return -1;
    return (int)days;
}

static void cache_check(const struct config *cfg, const struct cmdline *line,
                        struct problems *p)
{
    int days = days_of(line);

    (void)cfg;
    if (days < 0)
        problems_error(p, "--older-than", "'%s' is not a number of days from 1 to %d",
                       cmdline_value(line, "--older-than"), MAX_DAYS);
    if (days && cmdline_has(line, "--clear"))
        problems_error(p, "--older-than", "cannot be combined with --clear");
}

static int cache_run(struct config *cfg, const struct cmdline *line)
{
    const char *dir = cache_dir(cfg->data.index_dir);
    struct found found[KINDS] = {0};
    int days = days_of(line);
    bool removes = days || cmdline_has(line, "--clear");

    if (!*dir)
        usage("there is no cache: DATA.INDEX_DIR is empty, or neither XDG_CACHE_HOME nor "
              "HOME is set");
    if (file_is_dir(dir))
        visit(dir, (double)days * DAY, removes, found);
    else if (file_exists(dir))
        usage("DATA.INDEX_DIR: '%s' is not a folder", dir);
    print_found(dir, found, removes);
    return 0;
}

static const struct cmd_flag cache_flags[] = {
    {"--clear", NULL, "delete all of these files"},
    {"--older-than", "DAYS", "delete those that have not been used for DAYS days"},
    {0},
};

static const char *const cache_reads[] = {"DATA.INDEX_DIR", NULL};

const struct verb cmd_cache = {
    .name = "cache",
    .examples = (const char *const[]){"trainc cache", "trainc cache --older-than 30",
                                      "trainc cache --clear", NULL},
    .help = "list or delete what trainc keeps to start faster",
    .about =
        "Lists the number and size of the files in DATA.INDEX_DIR (by default trainc in "
        "XDG_CACHE_HOME or ~/.cache) that trainc wrote to start faster. --clear and "
        "--older-than delete them; trainc makes them again when it needs them. Other "
        "files in the folder, downloaded weights, and runs are not touched. A running "
        "program keeps the files that it has open.",
    .flags = cache_flags,
    .reads = cache_reads,
    .check = cache_check,
    .run = cache_run,
};
