/*
 * Downloads a file over HTTP with libcurl (io/curl_library.h). Blocks; one thread at a
 * time.
 *
 *   struct download d = {.url = url, .file = "x.partial", .timeout = 10, .size = -1,
 *                       .max_size = 1 << 30};
 *   if (download_file(&d, &why) != DOWNLOAD_OK) ...
 *
 * Replies of servers are not trusted: they supply no name and no path, at most `size` (or
 * the announced size, or `max_size`) bytes are written, and bodies of errors are not read.
 * The certificates of https:// are verified. A redirect leads to https://, or with
 * `plain` to http://, at most ten times in a row. The token is sent to the scheme, host,
 * and port of `url`, and is dropped at the first redirect to another.
 *
 * A partial file is kept and continued: by the next try of the same call (after a pause,
 * if the connection broke, was silent for `timeout` seconds, or the reply was 408, 429,
 * or 5xx), and by the next call. Servers without ranges send the whole file again.
 * Without `same` the file may have changed on the server: it is continued only if its
 * ETag, stored in FILE.etag, is unchanged. If the SHA-256 of a continued file is wrong,
 * the whole file is requested once more.
 *
 * Proxies come from http_proxy, https_proxy, all_proxy, and no_proxy. SSL_CERT_FILE or
 * CURL_CA_BUNDLE selects other certificates.
 */
#ifndef IO_DOWNLOAD_H
#define IO_DOWNLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

enum download_end {
    DOWNLOAD_OK,
    DOWNLOAD_MISSING, /* 404, 410 */
    DOWNLOAD_DENIED,  /* 401, 403 */
    DOWNLOAD_FAILED,  /* network or server error, or libcurl is missing */
    DOWNLOAD_LOCAL,   /* disk error */
};

/* A header of the reply: printable ASCII, "" if it is missing or too long. */
struct download_header {
    const char *name; /* lower case */
    char value[128];
};

struct download {
    const char *url;
    const char *token; /* for the header Authorization: Bearer; or NULL */
    bool plain;        /* `url` may be http:// */
    int timeout;       /* seconds to connect, and without receiving a byte */

    struct download_header *header; /* filled by download_head() */
    int nheader;

    const char *file;
    bool same;          /* the bytes in `file` are known to be part of the requested
                         * file */
    const char *sha256; /* leading hexadecimal digits, or NULL */
    int64_t size;       /* -1: unknown */
    int64_t max_size;   /* maximum bytes if the size is unknown */
    /* total: -1 if unknown */
    void (*progress)(void *arg, int64_t done, int64_t total);
    void (*retry)(void *arg, const char *why, double seconds);
    void *arg;
};

/* Returns false and a reason if libcurl is missing. */
bool download_available(struct strbuf *why);

/* Requests only headers. Follows redirects until a reply has the first header in the
 * list, then only those within a host. Sets `why` to the reason on failure. */
enum download_end download_head(struct download *d, struct strbuf *why);

/* Writes `file`, whose folder must exist. On failure keeps the received bytes, unless the
 * SHA-256 is wrong. */
enum download_end download_file(struct download *d, struct strbuf *why);

/* True if a request to `dst` may carry the token for `src`: scheme, host, and port are
 * equal. */
bool download_same_origin(const char *src, const char *dst);

/* True for https://HOST... (or http://HOST... with `plain`) in printable ASCII and
 * without a user name. */
bool download_url_is_good(const char *url, bool plain);

#endif
