/*
 * A file over HTTP, by libcurl (io/curl_library.h). Blocks; one thread at a time.
 *
 *   struct download d = {.url = url, .file = "x.partial", .timeout = 10, .size = -1,
 *                        .most = 1 << 30};
 *   if (download_file(&d, &why) != DOWNLOAD_OK) ...
 *
 * The replies of servers are not trusted: no name and no path is taken from them, no more
 * than `size` (or the announced size, or `most`) bytes are written, and bodies of errors
 * are not read. The certificates of https:// are verified. A redirect leads to https://,
 * or with `plain` to http://, at most ten times in a row. The token is sent to the
 * scheme, host, and port of `url`, and is dropped at the first redirect to another.
 *
 * A file that is cut off stays and is continued: by the next try of the same call (a cut
 * connection, silence for `timeout` seconds, or a reply of 408, 429, or 5xx is tried
 * again, after a pause), and by the next call. Servers without ranges send it anew.
 * Without `same` the file may have changed on the server: it is continued only if its ETag,
 * kept in FILE.etag, says that it has not. If the SHA-256 of a continued file is wrong, it
 * is sent once more as a whole.
 *
 * Proxies are those of http_proxy, https_proxy, all_proxy, and no_proxy. SSL_CERT_FILE or
 * CURL_CA_BUNDLE names other certificates.
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
    DOWNLOAD_FAILED,  /* the network, the server, or libcurl is missing */
    DOWNLOAD_LOCAL,   /* the disk */
};

/* A header of the reply: printable ASCII, empty if it is missing or too long. */
struct download_header {
    const char *name; /* in lower case */
    char value[128];
};

struct download {
    const char *url;
    const char *token; /* of the header Authorization: Bearer; NULL: none */
    bool plain;        /* `url` may be http:// */
    int timeout;       /* seconds to connect, and without a byte */

    struct download_header *header; /* download_head() fills them */
    int nheader;

    const char *file;
    bool same;          /* bytes in `file` are a part of this very file */
    const char *sha256; /* the first hexadecimal digits; NULL: unknown */
    int64_t size;       /* -1: unknown */
    int64_t most;       /* bytes of a file of unknown size */
    void (*tell)(void *arg, int64_t done, int64_t total); /* total: -1 if unknown */
    void (*retry)(void *arg, const char *why, double seconds);
    void *arg;
};

/* False with the reason if libcurl is missing. */
bool download_available(struct strbuf *why);

/* Asks for the headers alone. Follows redirects until a reply has the first header of
 * the list, and after it those within one host. `why` gets the reason if it fails. */
enum download_end download_head(struct download *d, struct strbuf *why);

/* Writes `file`; its folder exists. Failing, it leaves what has arrived, unless its SHA-256
 * is wrong. */
enum download_end download_file(struct download *d, struct strbuf *why);

/* True if a request to `to` may carry the token of `from`: both have one scheme, host,
 * and port. */
bool download_same_origin(const char *from, const char *to);

/* True if it is https://HOST..., or with `plain` http://HOST..., in printable ASCII and
 * without a user's name. */
bool download_url_is_good(const char *url, bool plain);

#endif
