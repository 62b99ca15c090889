/* One request with its redirects. Private to src/io/download*.c. */
#ifndef IO_DOWNLOAD_REQUEST_H
#define IO_DOWNLOAD_REQUEST_H

#include "io/curl_library.h"
#include "io/download.h"

struct request {
    const struct curl_library *lib;
    struct download *d;
    bool head;
    int fd;               /* of the file */
    int64_t from;         /* bytes in the file; more than 0: the rest is asked for */
    const char *if_range; /* ETag under which the bytes in the file count; may be NULL */

    int64_t at;     /* bytes in the file afterwards */
    char etag[128]; /* of the reply with the body, if it is strong */
    bool again;     /* another try may succeed, */
    bool anew;      /* at once, without the bytes in the file, */
    int seconds;    /* or after so many; 0: the server does not say */
};

/* `why` gets the reason if it is not DOWNLOAD_OK. */
enum download_end request_run(struct request *r, struct strbuf *why);

/* Remembers of what the bytes in d->file are a part; "": of nothing. */
void request_keep_etag(const struct download *d, const char *etag);

#endif
