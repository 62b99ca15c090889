#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/strmap.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum log_level threshold = LOG_INFO;
static FILE *file;
static bool to_stdout;
static void (*wipe_line)(void);
static struct strmap said;
static _Thread_local bool mute;

/* Kept until the first log_open: the start of its file. */
enum { EARLY_MAX = 1 << 16 };
static struct strbuf early = STRBUF_INIT;
static bool opened;

void log_level_set(enum log_level level)
{
    threshold = level;
}

void log_mute(bool muted)
{
    mute = muted;
}

void log_to_stdout(void)
{
    to_stdout = true;
}

void log_before_line(void (*wipe)(void))
{
    wipe_line = wipe;
}

void log_open(const char *path)
{
    log_close();
    file = fopen(path, "ae");
    if (!file)
        die("cannot open log '%s': %s", path, strerror(errno));
    pthread_mutex_lock(&lock);
    if (early.len)
        (void)fwrite(early.buf, 1, early.len, file);
    strbuf_release(&early);
    opened = true;
    pthread_mutex_unlock(&lock);
}

void log_close(void)
{
    if (file)
        (void)fclose(file);
    file = NULL;
}

/* Requires the lock. */
static void emit_file(const char *prefix, const char *text)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm tm;

    if (!file && (opened || early.len >= EARLY_MAX))
        return;
    (void)strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", localtime_r(&now, &tm));
    if (!file) {
        strbuf_addf(&early, "%s %s%s\n", stamp, prefix, text);
        return;
    }
    (void)fprintf(file, "%s %s%s\n", stamp, prefix, text);
    (void)fflush(file);
}

/* Requires the lock. If both are one terminal, earlier output on stderr comes first. */
static void show_stdout(const char *prefix, const char *text)
{
    static bool told;

    (void)fflush(stderr);
    errno = 0;
    if (fprintf(stdout, "%s%s\n", prefix, text) >= 0 && !fflush(stdout))
        return;
    clearerr(stdout);
    if (!told)
        (void)fprintf(stderr,
                      "trainc: warning: the log cannot be written to stdout: %s\n",
                      strerror(errno));
    told = true;
}

/* Requires the lock. */
static void emit(enum log_level level, const char *text)
{
    static const char *const prefix[] = {"error: ", "warning: ", "", ""};

    if (level <= threshold) {
        if (wipe_line)
            wipe_line();
        if (to_stdout)
            show_stdout(prefix[level], text);
        else
            (void)fprintf(stderr, "%s%s\n", prefix[level], text);
    }
    if (level <= LOG_INFO)
        emit_file(prefix[level], text);
}

__attribute__((format(printf, 2, 0))) static void
vlog(enum log_level level, const char *fmt, va_list ap, int once)
{
    char text[4096];

    if (mute && level > LOG_ERROR)
        return;
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    one_line(text);
    pthread_mutex_lock(&lock);
    if (!once || !strmap_has(&said, text)) {
        if (once)
            strmap_put(&said, text, NULL);
        emit(level, text);
    }
    pthread_mutex_unlock(&lock);
}

#define LOG_FUNCTION(name, level, once)                                                  \
    void name(const char *fmt, ...)                                                      \
    {                                                                                    \
        va_list ap;                                                                      \
                                                                                         \
        va_start(ap, fmt);                                                               \
        vlog(level, fmt, ap, once);                                                      \
        va_end(ap);                                                                      \
    }

LOG_FUNCTION(log_info, LOG_INFO, 0)
LOG_FUNCTION(log_warning, LOG_WARNING, 0)
LOG_FUNCTION(log_debug, LOG_DEBUG, 0)
LOG_FUNCTION(log_once, LOG_INFO, 1)

void log_quiet(const char *fmt, ...)
{
    char text[4096];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    one_line(text);
    pthread_mutex_lock(&lock);
    emit_file("", text);
    pthread_mutex_unlock(&lock);
}
