#include "io/download_request.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/version.h"

enum {
    REDIRECTS = 10,
    MAX_ERROR_BYTES = 1 << 16, /* of the body of a redirect */
};

/* The reply of one server. */
struct exchange {
    struct request *r;
    struct strbuf *why;
    long status;
    int64_t length, range_start, range_total; /* -1: not announced */
    int64_t limit, total;                     /* of the file; total -1: unknown */
    int64_t passed;                           /* bytes of a discarded body */
    bool begun, hub;                          /* hub: the reply has the first requested
                                               * header */
    curl_off_t seen;                          /* bytes received at `heard` */
    double heard;                             /* time of the last bytes */
    enum download_end end;                    /* reason for aborting, or DOWNLOAD_OK */
};

bool download_url_is_good(const char *url, bool plain)
{
    bool secure = !strncasecmp(url, "https://", 8);
    const char *host = url + (secure ? 8 : 7);
    size_t len;

    if (!secure && !(plain && !strncasecmp(url, "http://", 7)))
        return false;
    for (const char *c = url; *c; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    len = strcspn(host, "/?#");
    return len && *host != ':' && !memchr(host, '@', len);
}

/* Returns the length of "https://host:port". */
static size_t origin_len(const char *url)
{
    const char *host = strstr(url, "://");

    return host ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : 0;
}

bool download_same_origin(const char *src, const char *dst)
{
    size_t len = origin_len(src);

    return len && origin_len(dst) == len && !strncasecmp(src, dst, len);
}

static bool fail(struct exchange *x, enum download_end end, const char *what)
{
    if (x->end == DOWNLOAD_OK)
        strbuf_addstr(x->why, what);
    x->end = end;
    return false;
}

static bool fail_errno(struct exchange *x)
{
    int error = errno;

    strbuf_addf(x->why, "cannot write '%s': %s", x->r->d->file, strerror(error));
    return fail(x, DOWNLOAD_LOCAL, "");
}

/* If the file system does not report its free space, a full disk is noticed when
 * writing. */
static bool has_space(struct exchange *x)
{
    struct statvfs fs;
    double need = (double)(x->total - x->r->written), have;

    if (x->total < 0 || fstatvfs(x->r->fd, &fs) || !fs.f_blocks)
        return true;
    have = (double)fs.f_bavail * (double)fs.f_frsize;
    if (need <= have)
        return true;
    strbuf_addf(x->why, "'%s' needs ", x->r->d->file);
    strbuf_add_bytes(x->why, need);
    strbuf_addstr(x->why, ", and its disk has ");
    strbuf_add_bytes(x->why, have);
    return fail(x, DOWNLOAD_LOCAL, "");
}

/* Keeps the bytes in the file if the server continues after them, else restarts. */
static bool continue_or_restart(struct exchange *x)
{
    struct request *r = x->r;

    if (x->status == 206 && x->range_start != r->offset) {
        r->retry = r->restart = true;
        return fail(x, DOWNLOAD_FAILED, "the server sends another range than asked for");
    }
    if (x->status == 206)
        return true;
    r->written = 0;
    if (ftruncate(r->fd, 0))
        return fail_errno(x);
    if (!r->d->same)
        request_keep_etag(r->d, r->etag);
    return true;
}

static bool begin(struct exchange *x)
{
    const struct download *d = x->r->d;

    x->begun = true;
    if (!continue_or_restart(x))
        return false;
    x->total = x->status == 206 ? x->range_total : x->length;
    if (d->size >= 0 && x->total >= 0 && x->total != d->size)
        return fail(x, DOWNLOAD_FAILED,
                    "the server announces another size than the file has");
    if (x->total < 0)
        x->total = d->size;
    x->limit = x->total >= 0 ? x->total : d->max_size;
    if (x->limit > d->max_size)
        return fail(x, DOWNLOAD_FAILED, "the server announces more than such a file has");
    return has_space(x);
}

static bool write_all(struct exchange *x, const char *data, size_t len)
{
    while (len) {
        ssize_t n = pwrite(x->r->fd, data, len, x->r->written);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(x);
        data += n;
        len -= (size_t)n;
        x->r->written += n;
    }
    return true;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    struct exchange *x = arg;
    const struct download *d = x->r->d;
    size_t len = size * n;

    if (x->status != 200 && x->status != 206) {
        x->passed += (int64_t)len;
        return x->status < 400 && x->passed <= MAX_ERROR_BYTES ? len : 0;
    }
    if (!x->begun && !begin(x))
        return 0;
    if ((int64_t)len > x->limit - x->r->written) {
        (void)fail(x, DOWNLOAD_FAILED, "the server sends more than the file has");
        return 0;
    }
    if (!write_all(x, data, len))
        return 0;
    if (d->progress)
        d->progress(d->arg, x->r->written, x->total);
    return len;
}

/* Returns an unsigned number and moves *text past it, or returns -1. */
static int64_t number(const char **text)
{
    char *end;
    long long v;

    if (!isdigit((unsigned char)**text))
        return -1;
    errno = 0;
    v = strtoll(*text, &end, 10);
    *text = end;
    return errno ? -1 : v;
}

/* Parses "bytes 100-199/200". */
static void read_range(struct exchange *x, const char *text)
{
    if (strncasecmp(text, "bytes ", 6) != 0)
        return;
    text += 6;
    x->range_start = number(&text);
    if (*text == '-' && text++)
        (void)number(&text);
    if (*text == '/' && text++)
        x->range_total = number(&text);
}

static bool is_text(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

static void parse_header(struct exchange *x, const char *name, const char *value)
{
    struct request *r = x->r;
    const char *text = value;

    if (!strcasecmp(name, "content-length"))
        x->length = number(&text);
    else if (!strcasecmp(name, "content-range"))
        read_range(x, value);
    else if (!strcasecmp(name, "retry-after"))
        r->seconds = (int)(number(&text) & 0xffff);
    else if (!strcasecmp(name, "etag") && *value == '"' && is_text(value) &&
             strlen(value) < sizeof(r->etag))
        memcpy(r->etag, value, strlen(value) + 1);
    for (int i = 0; r->head && i < r->d->nheader; i++) {
        struct download_header *h = &r->d->header[i];

        if (strcasecmp(name, h->name) || !is_text(value) ||
            strlen(value) >= sizeof(h->value))
            continue;
        memcpy(h->value, value, strlen(value) + 1);
        x->hub |= i == 0;
    }
}

/* Starts a new reply, possibly after "100 Continue". */
static void parse_status(struct exchange *x, const char *line)
{
    const char *code = line + strcspn(line, " ");

    code += strspn(code, " ");
    x->status = (long)number(&code);
    x->length = x->range_start = x->range_total = -1;
    x->r->etag[0] = '\0';
    x->r->seconds = 0;
}

static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
    struct exchange *x = arg;
    size_t len = size * n;
    char *line = xstrndup(data, len), *value;

    line[strcspn(line, "\r\n")] = '\0';
    value = strchr(line, ':');
    if (!strncasecmp(line, "HTTP/", 5)) {
        parse_status(x, line);
    } else if (value) {
        *value++ = '\0';
        value += strspn(value, " \t");
        for (size_t end = strlen(value); end && value[end - 1] == ' '; end--)
            value[end - 1] = '\0';
        parse_header(x, line, value);
    }
    free(line);
    return len;
}

/* Called about once per second: aborts a transfer that has been silent for too long. */
static int on_time(void *arg, curl_off_t total, curl_off_t now, curl_off_t up_total,
                   curl_off_t up)
{
    struct exchange *x = arg;
    double clock = clock_now();

    (void)total;
    (void)up_total;
    (void)up;
    if (now != x->seen || x->heard <= 0) {
        x->seen = now;
        x->heard = clock;
    }
    return clock - x->heard > x->r->d->timeout;
}

static struct curl_slist *headers(const struct request *r, const char *token)
{
    struct curl_slist *list = r->lib->slist_append(NULL, "Accept-Encoding: identity");
    struct strbuf s = STRBUF_INIT;

    if (token) {
        strbuf_addf(&s, "Authorization: Bearer %s", token);
        list = r->lib->slist_append(list, s.buf);
    }
    if (r->offset > 0) {
        strbuf_reset(&s);
        strbuf_addf(&s, "Range: bytes=%lld-", (long long)r->offset);
        list = r->lib->slist_append(list, s.buf);
    }
    if (r->offset > 0 && r->if_range) {
        strbuf_reset(&s);
        strbuf_addf(&s, "If-Range: %s", r->if_range);
        list = r->lib->slist_append(list, s.buf);
    }
    strbuf_release(&s);
    return list;
}

static void set_up(CURL *curl, struct exchange *x, const char *url, char *message)
{
    const struct request *r = x->r;
    const char *ca = getenv("SSL_CERT_FILE");
    long timeout = r->d->timeout;

    if (!ca || !*ca)
        ca = getenv("CURL_CA_BUNDLE");
    message[0] = '\0';
    r->lib->easy_setopt(curl, CURLOPT_URL, url);
    r->lib->easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    r->lib->easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    r->lib->easy_setopt(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    r->lib->easy_setopt(curl, CURLOPT_USERAGENT, "trainc/" TRAINC_VERSION);
    r->lib->easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    r->lib->easy_setopt(curl, CURLOPT_NOBODY, r->head ? 1L : 0L);
    r->lib->easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, timeout);
    r->lib->easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    r->lib->easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_time);
    r->lib->easy_setopt(curl, CURLOPT_XFERINFODATA, x);
    if (r->head)
        r->lib->easy_setopt(curl, CURLOPT_TIMEOUT, 2 * timeout);
    if (ca && *ca)
        r->lib->easy_setopt(curl, CURLOPT_CAINFO, ca);
    r->lib->easy_setopt(curl, CURLOPT_ERRORBUFFER, message);
    r->lib->easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    r->lib->easy_setopt(curl, CURLOPT_HEADERDATA, x);
    r->lib->easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    r->lib->easy_setopt(curl, CURLOPT_WRITEDATA, x);
}

static void add_host(struct strbuf *s, const char *url)
{
    const char *host = strstr(url, "://");

    strbuf_addf(s, "%.*s", host ? (int)strcspn(host + 3, "/?#") : 0,
                host ? host + 3 : "");
}

static enum download_end of_status(struct exchange *x, const char *url)
{
    static const int again[] = {408, 429, 500, 502, 503, 504, 0};

    add_host(x->why, url);
    strbuf_addf(x->why, " answers with HTTP status %ld", x->status);
    for (int i = 0; again[i]; i++)
        x->r->retry |= x->status == again[i];
    if (x->status == 416 && x->r->offset)
        x->r->retry = x->r->restart = true;
    if (x->status == 404 || x->status == 410)
        return DOWNLOAD_MISSING;
    return x->status == 401 || x->status == 403 ? DOWNLOAD_DENIED : DOWNLOAD_FAILED;
}

/* A request that did not reach a server is not retried: there is no network or no such
 * host. */
static enum download_end of_code(struct exchange *x, CURL *curl, CURLcode code,
                                 const char *message)
{
    curl_off_t sent = 0;

    (void)x->r->lib->easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME_T, &sent);
    x->r->retry = sent > 0 && code != CURLE_WRITE_ERROR;
    if (code == CURLE_ABORTED_BY_CALLBACK ||
        (code == CURLE_OPERATION_TIMEDOUT && sent > 0))
        strbuf_addf(x->why, "no data for %d s", x->r->d->timeout);
    else
        strbuf_addstr(x->why, *message ? message : x->r->lib->easy_strerror(code));
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        strbuf_addstr(x->why, " (SSL_CERT_FILE=FILE names other certificates)");
    return DOWNLOAD_FAILED;
}

static bool is_whole(const struct exchange *x)
{
    return x->r->head || x->total < 0 || x->r->written == x->total;
}

/* Sends the request to one server. Sets *next to the URL of a redirect, a heap string. */
static enum download_end request_url(struct exchange *x, CURL *curl, const char *url,
                                     const char *token, char **next)
{
    const struct request *r = x->r;
    struct curl_slist *list = headers(r, token);
    char message[CURL_ERROR_SIZE];
    char *dst = NULL;
    CURLcode code;

    x->heard = 0;
    set_up(curl, x, url, message);
    r->lib->easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    code = r->lib->easy_perform(curl);
    r->lib->easy_setopt(curl, CURLOPT_HTTPHEADER, NULL);
    r->lib->slist_free_all(list);
    if (x->end != DOWNLOAD_OK)
        return x->end;
    (void)r->lib->easy_getinfo(curl, CURLINFO_REDIRECT_URL, &dst);
    if (x->status >= 300 && x->status < 400 && dst) {
        *next = xstrdup(dst);
        return DOWNLOAD_OK;
    }
    if (x->status >= 300)
        return of_status(x, url);
    if (code != CURLE_OK)
        return of_code(x, curl, code, message);
    if (x->status != 200 && x->status != 206)
        return of_status(x, url);
    if (!r->head && !x->begun && !begin(x))
        return x->end;
    if (is_whole(x))
        return DOWNLOAD_OK;
    x->r->retry = true;
    (void)fail(x, DOWNLOAD_FAILED, "the connection was cut");
    return x->end;
}

/* True if redirects end here. Once the requested headers are present, a redirect to
 * another host leads to the file itself. */
static bool ends_here(const struct exchange *x, const char *url, const char *next)
{
    return !next || (x->r->head && x->hub && !download_same_origin(url, next));
}

enum download_end request_run(struct request *r, struct strbuf *why)
{
    CURL *curl = r->lib->easy_init();
    struct exchange x = {.r = r, .why = why};
    const char *token = r->d->token;
    char *url = xstrdup(r->d->url), *next = NULL;
    enum download_end end = DOWNLOAD_OK;
    bool plain = r->d->plain;

    r->written = r->offset;
    r->retry = r->restart = false;
    for (int hops = 0; curl; hops++) {
        end = request_url(&x, curl, url, token, &next);
        if (end != DOWNLOAD_OK || ends_here(&x, url, next))
            break;
        plain = plain && !strncasecmp(url, "http://", 7);
        if (hops == REDIRECTS)
            strbuf_addf(why, "more than %d redirects", REDIRECTS);
        else if (!download_url_is_good(next, plain))
            strbuf_addstr(why, "the server redirects to what is no https:// address");
        if (why->len) {
            end = DOWNLOAD_FAILED;
            break;
        }
        token = download_same_origin(url, next) ? token : NULL;
        free(url);
        url = next;
        next = NULL;
    }
    if (!curl) {
        strbuf_addstr(why, "libcurl does not start");
        end = DOWNLOAD_FAILED;
    } else {
        r->lib->easy_cleanup(curl);
    }
    free(url);
    free(next);
    return end;
}
