/* A request and its redirects. Private to src/io/download*.c. */
#ifndef IO_DOWNLOAD_REQUEST_H
#define IO_DOWNLOAD_REQUEST_H

#include "io/curl_library.h"
#include "io/download.h"

struct request {
    const struct curl_library *lib;
    struct download *d;
    bool head;
    int fd;               /* of the file */
    int64_t offset;       /* bytes in the file; if > 0, requests only the rest */
    const char *if_range; /* ETag of the bytes in the file, or NULL */

    int64_t written; /* bytes in the file after the request */
    char etag[128];  /* of the reply with the body, if it is strong */
    bool retry;      /* another try may succeed: */
    bool restart;    /* immediately, without the bytes in the file, */
    int seconds;     /* or after this many seconds; 0: not specified */
};

/* Sets `why` to the reason if the result is not DOWNLOAD_OK. */
enum download_end request_run(struct request *r, struct strbuf *why);

/* Stores the ETag of the version that the bytes in d->file belong to; "" removes it. */
void request_keep_etag(const struct download *d, const char *etag);

#endif
