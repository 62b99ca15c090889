#include "train/weights_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "train/hub_env.h"
#include "train/weights_places.h"

/* Returns the first weights file of any name in the user's folder, in timm's order of
 * endings, or NULL. */
static char *find_ending(const char *folder)
{
    static const char *const ending[] = {".safetensors", ".pth", ".pth.tar", ".bin",
                                         NULL};
    int n;
    char **name = dir_list(folder, &n), *path = NULL;

    for (int e = 0; ending[e] && !path; e++)
        for (int i = 0; i < n && !path; i++) {
            size_t len = strlen(name[i]), end = strlen(ending[e]);

            if (len > end && !strcmp(name[i] + len - end, ending[e]))
                path = path_join(folder, name[i]);
        }
    if (n >= 0)
        dir_list_free(name, n);
    return path;
}

static char *find_in(const char *folder)
{
    for (int i = 0; weights_hub_file[i]; i++) {
        char *path = path_join(folder, weights_hub_file[i]);

        if (file_exists(path))
            return path;
        free(path);
    }
    return NULL;
}

/* Returns the weights in the only snapshot that has any, or NULL. This is for a download
 * by commit, which writes no refs/main. */
static char *find_alone(const char *folder)
{
    char *snapshots = path_join(folder, "snapshots"), *path = NULL;
    int n, found = 0;
    char **name = dir_list(snapshots, &n);

    for (int i = 0; i < n; i++) {
        char *snapshot = path_join(snapshots, name[i]), *in = find_in(snapshot);

        found += in != NULL;
        free(path ? in : NULL);
        path = path ? path : in;
        free(snapshot);
    }
    if (n >= 0)
        dir_list_free(name, n);
    free(snapshots);
    if (found == 1)
        return path;
    free(path);
    return NULL;
}

static char *find_hub(const struct pretrained_request *r)
{
    char *folder = weights_hub_folder(r);
    char *commit = weights_commit(folder, r->revision ? r->revision : "main");
    char *snapshot = xasprintf("%s/snapshots/%s", folder, commit);
    char *path = find_in(snapshot);

    if (!path && !r->revision && !strcmp(commit, "main"))
        path = find_alone(folder);
    free(snapshot);
    free(commit);
    free(folder);
    return path;
}

static char *find_torch(const struct pretrained_request *r)
{
    char *path = weights_torch_place(r);

    if (path && file_exists(path))
        return path;
    free(path);
    return NULL;
}

bool weights_torch_first(void)
{
    const char *old = getenv("TIMM_USE_OLD_CACHE");

    return old && *old && strcmp(old, "0") != 0;
}

char *weights_cache_find(const struct pretrained_request *r)
{
    bool torch_first = weights_torch_first();
    char *path;

    if (r->dir) {
        path = find_in(r->dir);
        return path ? path : find_ending(r->dir);
    }
    if (r->revision)
        return find_hub(r); /* torch.hub's files have no revisions */
    path = torch_first ? find_torch(r) : find_hub(r);
    return path ? path : torch_first ? find_hub(r) : find_torch(r);
}

char *weights_cache_place(const struct pretrained_request *r, bool hub)
{
    char *folder, *commit, *path;

    if (!hub)
        return weights_torch_place(r);
    folder = weights_hub_folder(r);
    commit = weights_commit(folder, r->revision ? r->revision : "main");
    path = xasprintf("%s/snapshots/%s/%s", folder, commit, weights_hub_file[0]);
    free(commit);
    free(folder);
    return path;
}

char *weights_cache_url(const struct pretrained_request *r, bool hub)
{
    if (!hub)
        return r->row && *r->row->url ? hub_mirrored(r->row->url) : NULL;
    return weights_hub_url(r, r->revision ? r->revision : "main", weights_hub_file[0]);
}

void weights_name(const struct pretrained_request *r, struct strbuf *s)
{
    if (r->row)
        strbuf_addstr(s, r->row->name);
    else
        strbuf_addf(s, "%.*s", r->hub_len, r->hub);
    if (r->revision)
        strbuf_addf(s, "@%s", r->revision);
}

void weights_say_by_hand(const struct pretrained_request *r, struct strbuf *why)
{
    bool hub = !r->row || !*r->row->url || r->revision;
    char *url = weights_cache_url(r, hub), *place = weights_cache_place(r, hub);

    strbuf_addf(why, "download %s and save it as '%s'", url, place);
    free(url);
    free(place);
}

void weights_say_missing(const struct pretrained_request *r, struct strbuf *why)
{
    if (r->dir && !file_is_dir(r->dir)) {
        strbuf_addf(why, "folder '%s' not found", r->dir);
        return;
    }
    if (r->dir) {
        strbuf_addf(why,
                    "the folder '%s' has no weights: %s, or any .safetensors, .pth, "
                    ".pth.tar or .bin",
                    r->dir, weights_hub_file[0]);
        return;
    }
    strbuf_addstr(why, "the weights ");
    weights_name(r, why);
    strbuf_addstr(why, " are not in any cache: ");
    weights_say_by_hand(r, why);
}

char *weights_path(const char *text, const char *model, struct strbuf *why)
{
    struct pretrained_request r;
    char *path = NULL;

    if (pretrained_parse(text, model, &r, why)) {
        path = weights_cache_find(&r);
        if (!path)
            weights_say_missing(&r, why);
    } else if (!why->len && !file_exists(text)) {
        strbuf_addf(why, "file '%s' not found", text);
        pretrained_suggest(text, why);
    } else if (!why->len) {
        path = xstrdup(text);
    }
    return path;
}

/* True if the file's SHA-256, stored in `hex`, starts with the digits in its name, or if
 * the name has none. Dies if the file cannot be read. */
static bool hash_is_right(const char *path, char hex[65])
{
    const char *want;
    size_t len = weights_hash_in_name(path, &want);

    if (!len)
        return true;
    if (sha256_file(path, hex))
        die("cannot read '%s': %s", path, strerror(errno));
    return !strncmp(hex, want, len);
}

char *weights_path_checked(const char *text, const char *model)
{
    struct strbuf why = STRBUF_INIT;
    struct pretrained_request r;
    char *path = weights_path(text, model, &why), hex[65];

    if (!path)
        die("MODEL.PRETRAINED: %s", why.buf);
    if (pretrained_parse(text, model, &r, &why) && !hash_is_right(path, hex))
        die("'%s' is damaged: its SHA-256 starts with %.8s, which does not match its "
            "name: remove it and download it again",
            path, hex);
    strbuf_release(&why);
    return path;
}
