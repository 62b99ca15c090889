/* Downloads a file from the Hugging Face hub into the cache of its library. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "train/hub_env.h"
#include "train/weights_fetch_parts.h"
#include "train/weights_places.h"

enum { COMMIT, LINKED_ETAG, ETAG, LINKED_SIZE, ERROR_CODE, HEADERS };

struct hub_file {
    struct fetch *f;
    const char *name, *revision;
    char *folder; /* models--OWNER--NAME */
    struct download_header header[HEADERS];
    const char *commit, *etag; /* hexadecimal digits */
    char *place;               /* path in the snapshot */
};

static bool is_hex(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isxdigit((unsigned char)text[i]))
            return false;
    return !text[len];
}

/* Sets h->commit and h->etag from the headers. They become parts of paths, so returns
 * false unless they are hexadecimal. */
static bool take_names(struct hub_file *h)
{
    char *etag = h->header[*h->header[LINKED_ETAG].value ? LINKED_ETAG : ETAG].value;

    etag += !strncmp(etag, "W/", 2) ? 2 : 0;
    etag += *etag == '"';
    etag[strcspn(etag, "\"")] = '\0';
    h->etag = etag;
    h->commit = h->header[COMMIT].value;
    return is_hex(h->commit, 40) && (is_hex(etag, 40) || is_hex(etag, 64));
}

static void explain_denied(const struct hub_file *h)
{
    char *page = weights_hub_page(h->f->r);

    if (h->f->token)
        strbuf_addf(h->f->why, ": it does not exist, or the token has no access (see %s)",
                    page);
    else
        strbuf_addf(
            h->f->why,
            ": it is private, gated, or does not exist (set HF_TOKEN to a token; see %s)",
            page);
    free(page);
}

static enum download_end request_head(struct hub_file *h)
{
    static const char *const name[HEADERS] = {"x-repo-commit", "x-linked-etag", "etag",
                                              "x-linked-size", "x-error-code"};
    char *endpoint = hub_endpoint();
    char *url = weights_hub_url(h->f->r, h->revision, h->name);
    struct download d = {.token = h->f->token, .header = h->header, .nheader = HEADERS};
    enum download_end end;

    fetch_prepare(h->f, &d, url);
    for (int i = 0; i < HEADERS; i++)
        h->header[i].name = name[i];
    end = download_head(&d, h->f->why);
    if (end == DOWNLOAD_DENIED)
        explain_denied(h);
    if (end == DOWNLOAD_MISSING && strcmp(h->header[ERROR_CODE].value, "EntryNotFound"))
        strbuf_addf(h->f->why, ": there is no such repository, revision, or file");
    if (end == DOWNLOAD_OK && !take_names(h)) {
        strbuf_addf(h->f->why, "%s does not answer as the Hugging Face hub does",
                    endpoint);
        end = DOWNLOAD_FAILED;
    }
    free(url);
    free(endpoint);
    return end;
}

static enum download_end disk_failed(struct hub_file *h, const char *path)
{
    strbuf_addf(h->f->why, "cannot write '%s': %s", path, strerror(errno));
    return DOWNLOAD_LOCAL;
}

static int make_folder_of(const char *path)
{
    char *dir = path_dirname(path);
    int rc = dir_make_all(dir);

    free(dir);
    return rc;
}

/* Writes the commit of a named revision to refs/REVISION. */
static enum download_end write_ref(struct hub_file *h)
{
    char *path = xasprintf("%s/refs/%s", h->folder, h->revision);
    enum download_end end = DOWNLOAD_OK;

    if (strcmp(h->revision, h->commit) != 0 &&
        (make_folder_of(path) || atomic_write_shared(path, h->commit, strlen(h->commit))))
        end = disk_failed(h, path);
    free(path);
    return end;
}

/* Links the blob into the snapshot or, like the library, moves it there if symbolic links
 * are disabled or fail. */
static enum download_end link_blob(struct hub_file *h, const char *blob)
{
    char *target = xasprintf("../../blobs/%s", h->etag);
    enum download_end end = DOWNLOAD_OK;
    bool links = !hub_is_set("HF_HUB_DISABLE_SYMLINKS");

    (void)unlink(h->place); /* a dangling link */
    if (make_folder_of(h->place) ||
        ((!links || (symlink(target, h->place) && !file_exists(h->place))) &&
         rename(blob, h->place)))
        end = disk_failed(h, h->place);
    free(target);
    return end;
}

static enum download_end fetch_blob(struct hub_file *h, const char *blob,
                                    int64_t max_size)
{
    char *part = xasprintf("%s.incomplete", blob);
    char *url = weights_hub_url(h->f->r, h->commit, h->name), *end_of_size;
    long long size = strtoll(h->header[LINKED_SIZE].value, &end_of_size, 10);
    struct download d = {.token = h->f->token,
                         .file = part,
                         .same = true,
                         .sha256 = strlen(h->etag) == 64 ? h->etag : NULL,
                         .size =
                             *h->header[LINKED_SIZE].value && !*end_of_size ? size : -1,
                         .max_size = max_size};
    enum download_end end =
        make_folder_of(part) ? disk_failed(h, part) : fetch_file(h->f, &d, url, h->place);

    if (end == DOWNLOAD_OK && rename(part, blob))
        end = disk_failed(h, blob);
    free(url);
    free(part);
    return end;
}

static enum download_end store(struct hub_file *h, int64_t max_size)
{
    char *cache = weights_hub_cache();
    char *blob = xasprintf("%s/blobs/%s", h->folder, h->etag);
    char *path =
        xasprintf("%s/.locks/%s/%s.lock", cache, path_basename(h->folder), h->etag);
    int lock = fetch_lock(h->f, path);
    enum download_end end = lock < 0 ? DOWNLOAD_LOCAL : DOWNLOAD_OK;

    if (end == DOWNLOAD_OK && !file_exists(h->place)) {
        if (!file_exists(blob))
            end = fetch_blob(h, blob, max_size);
        if (end == DOWNLOAD_OK)
            end = link_blob(h, blob);
    }
    if (lock >= 0)
        (void)close(lock);
    free(path);
    free(blob);
    free(cache);
    return end;
}

/* Returns the commit of a config.json downloaded earlier, so that both files are of the
 * same commit, else the requested revision. */
static char *revision_of(const struct hub_file *h)
{
    const struct pretrained_request *r = h->f->r;
    const char *asked = r->revision ? r->revision : "main";
    char *commit = weights_commit(h->folder, asked);
    char *config = xasprintf("%s/snapshots/%s/config.json", h->folder, commit);
    bool same = !r->row && file_exists(config) && is_hex(commit, 40);

    free(config);
    if (same)
        return commit;
    free(commit);
    return xstrdup(asked);
}

enum download_end fetch_from_hub(struct fetch *f, const char *file, int64_t max_size,
                                 char **path)
{
    struct hub_file h = {.f = f, .name = file, .folder = weights_hub_folder(f->r)};
    char *revision = revision_of(&h);
    enum download_end end;

    h.revision = revision;
    end = request_head(&h);
    if (end == DOWNLOAD_OK) {
        h.place = xasprintf("%s/snapshots/%s/%s", h.folder, h.commit, file);
        end = file_exists(h.place) ? DOWNLOAD_OK : store(&h, max_size);
    }
    if (end == DOWNLOAD_OK)
        end = write_ref(&h);
    if (end == DOWNLOAD_OK)
        *path = h.place;
    else
        free(h.place);
    free(revision);
    free(h.folder);
    return end;
}
