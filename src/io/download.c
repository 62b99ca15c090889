#include "io/download.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/sha256.h"
#include "io/download_request.h"

enum {
    TRIES = 5,      /* consecutive tries without progress */
    TRIES_MAX = 100 /* per call */
};

/* Ignores SIGPIPE: a TLS library may write to a closed connection. */
static void ignore_pipe(struct sigaction *before)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    (void)sigaction(SIGPIPE, &ignore, before);
}

bool download_available(struct strbuf *why)
{
    return curl_library(why) != NULL;
}

static double pause_after(const struct request *r, int tries)
{
    if (r->restart)
        return 0;
    if (r->seconds > 0)
        return r->seconds > 60 ? 60 : r->seconds;
    return 0.5 * (double)(1 << tries);
}

static void wait_for(double seconds)
{
    struct timespec t = {(time_t)seconds,
                         (long)(1e9 * (seconds - (double)(time_t)seconds))};

    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}

/* Announces a retry, then pauses. */
static void pause_before_retry(const struct request *r, int tries, struct strbuf *why)
{
    double seconds = pause_after(r, tries);

    if (r->d->retry && seconds > 0)
        r->d->retry(r->d->arg, why->buf, seconds);
    strbuf_reset(why);
    wait_for(seconds);
}

enum download_end download_head(struct download *d, struct strbuf *why)
{
    struct request r = {.d = d, .head = true, .fd = -1, .lib = curl_library(why)};
    enum download_end end = DOWNLOAD_FAILED;
    struct sigaction before;

    if (!r.lib)
        return end;
    ignore_pipe(&before);
    for (int tries = 0; tries < TRIES; tries++) {
        for (int i = 0; i < d->nheader; i++)
            d->header[i].value[0] = '\0';
        end = request_run(&r, why);
        if (end == DOWNLOAD_OK || !r.retry || tries + 1 == TRIES)
            break;
        pause_before_retry(&r, tries, why);
    }
    (void)sigaction(SIGPIPE, &before, NULL);
    return end;
}

/* Returns the ETag of the bytes in the file (a heap string), or NULL if unknown. */
static char *read_etag(const struct download *d)
{
    char *path = xasprintf("%s.etag", d->file), *text = file_read_limit(path, 127, NULL);

    free(path);
    if (text && *text != '"') {
        free(text);
        return NULL;
    }
    return text;
}

/* If no ETag is stored, the next call starts from the beginning. */
void request_keep_etag(const struct download *d, const char *etag)
{
    char *path = xasprintf("%s.etag", d->file);
    int fd = -1;

    (void)unlink(path);
    if (*etag)
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
        if (file_write(fd, etag, strlen(etag)))
            (void)unlink(path);
        (void)close(fd);
    }
    free(path);
}

/* Returns how many bytes of the file are valid. */
static int64_t bytes_kept(const struct download *d, int fd, const char *etag)
{
    struct stat st;

    if (fstat(fd, &st) || (!d->same && !etag))
        return 0;
    if (d->size >= 0 && st.st_size > d->size)
        return 0;
    return st.st_size;
}

/* After a try: decides what the next one resumes. */
static void settle(struct request *r, char **etag)
{
    if (!r->d->same && r->written > 0) {
        free(*etag);
        *etag = *r->etag ? xstrdup(r->etag) : NULL;
    }
    r->offset = r->restart || !(r->d->same || *etag) ? 0 : r->written;
    r->if_range = *etag;
}

static enum download_end fetch(struct request *r, struct strbuf *why)
{
    const struct download *d = r->d;
    char *etag = d->same ? NULL : read_etag(d);
    enum download_end end = DOWNLOAD_OK;
    int tries = 0;

    r->offset = r->written = bytes_kept(d, r->fd, etag);
    r->if_range = etag;
    for (int all = 0; !(d->same && r->offset && r->offset == d->size); all++) {
        int64_t before = r->offset;

        end = request_run(r, why);
        settle(r, &etag);
        tries = r->offset > before ? 0 : tries + 1;
        if (end == DOWNLOAD_OK || !r->retry || tries >= TRIES || all >= TRIES_MAX)
            break;
        pause_before_retry(r, tries ? tries - 1 : 0, why);
    }
    free(etag);
    return end;
}

/* Compares the checksum. If it is wrong, empties the file and returns DOWNLOAD_FAILED. */
static enum download_end compare(const struct request *r, struct strbuf *why)
{
    const struct download *d = r->d;
    char hex[65];

    if (!d->sha256)
        return DOWNLOAD_OK;
    if (sha256_file(d->file, hex)) {
        strbuf_addf(why, "cannot read '%s': %s", d->file, strerror(errno));
        return DOWNLOAD_LOCAL;
    }
    if (!strncasecmp(hex, d->sha256, strlen(d->sha256)))
        return DOWNLOAD_OK;
    strbuf_addf(
        why, "what the server sends is damaged: its SHA-256 begins with %.8s, not %.8s",
        hex, d->sha256);
    return ftruncate(r->fd, 0) ? DOWNLOAD_LOCAL : DOWNLOAD_FAILED;
}

static enum download_end fetch_and_compare(struct request *r, struct strbuf *why)
{
    struct stat st;
    bool continued = !fstat(r->fd, &st) && st.st_size > 0;
    enum download_end end = fetch(r, why);

    if (end == DOWNLOAD_OK && fsync(r->fd)) {
        strbuf_addf(why, "cannot write '%s': %s", r->d->file, strerror(errno));
        end = DOWNLOAD_LOCAL;
    }
    if (end != DOWNLOAD_OK)
        return end;
    end = compare(r, why);
    if (end != DOWNLOAD_FAILED || !continued)
        return end;
    strbuf_reset(why);
    end = fetch(r, why);
    return end == DOWNLOAD_OK ? compare(r, why) : end;
}

enum download_end download_file(struct download *d, struct strbuf *why)
{
    struct request r = {.d = d, .lib = curl_library(why)};
    struct sigaction before;
    enum download_end end;
    struct stat st;

    if (!r.lib)
        return DOWNLOAD_FAILED;
    r.fd = open(d->file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (r.fd < 0) {
        strbuf_addf(why, "cannot write '%s': %s", d->file, strerror(errno));
        return DOWNLOAD_LOCAL;
    }
    ignore_pipe(&before);
    end = fetch_and_compare(&r, why);
    (void)sigaction(SIGPIPE, &before, NULL);
    if (end == DOWNLOAD_OK)
        request_keep_etag(d, "");
    else if (!fstat(r.fd, &st) && !st.st_size)
        (void)unlink(d->file);
    (void)close(r.fd);
    return end;
}
