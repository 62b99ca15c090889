#include "train/weights_cache.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"

/* $NAME/UNDER, with ~ as the libraries take it, or NULL. */
static char *below(const char *name, const char *under)
{
    const char *value = getenv(name);
    char *top = value && *value ? path_home(value) : NULL;
    char *path = top && *under ? path_join(top, under) : NULL;

    if (!path)
        return top;
    free(top);
    return path;
}

static char *cache_of(const char *const env[][2], const char *home)
{
    char *path = NULL;

    for (int i = 0; env[i][0] && !path; i++)
        path = below(env[i][0], env[i][1]);
    if (!path)
        path = below("HOME", home);
    return path ? path : xstrdup(home);
}

static char *hub_cache(void)
{
    static const char *const env[][2] = {{"HF_HUB_CACHE", ""},
                                         {"HUGGINGFACE_HUB_CACHE", ""},
                                         {"HF_HOME", "hub"},
                                         {"XDG_CACHE_HOME", "huggingface/hub"},
                                         {NULL, NULL}};

    return cache_of(env, ".cache/huggingface/hub");
}

static char *torch_cache(void)
{
    static const char *const env[][2] = {{"TORCH_HOME", "hub/checkpoints"},
                                         {"XDG_CACHE_HOME", "torch/hub/checkpoints"},
                                         {NULL, NULL}};

    return cache_of(env, ".cache/torch/hub/checkpoints");
}

/* models--OWNER--NAME in the hub's cache. */
static char *hub_folder(const struct pretrained_request *r)
{
    char *cache = hub_cache(), *folder;

    if (r->row) {
        folder = xasprintf("%s/models--timm--%s", cache, r->row->name);
    } else {
        int owner = (int)strcspn(r->hub, "/");

        folder = xasprintf("%s/models--%.*s--%.*s", cache, owner, r->hub,
                           r->hub_len - owner - 1, r->hub + owner + 1);
    }
    free(cache);
    return folder;
}

/* The commit of the revision; a heap string. "main" itself if nothing says. */
static char *commit_of(const char *folder, const char *revision)
{
    char *path = xasprintf("%s/refs/%s", folder, revision), *text;
    size_t len = 0;

    text = file_read_most(path, 256, &len);
    free(path);
    if (!text)
        return xstrdup(revision);
    text[strcspn(text, " \r\n")] = '\0';
    return text;
}

/* timm's order of names in a folder. */
static const char *const hub_file[] = {
    "model.safetensors",           "pytorch_model.bin",
    "pytorch_model.pth",           "model.pth",
    "open_clip_model.safetensors", "open_clip_pytorch_model.safetensors",
    "open_clip_pytorch_model.bin", "open_clip_pytorch_model.pth",
    NULL};

/* In a folder of the user's the first of any other name, too, by ending as timm does. */
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
    for (int i = 0; hub_file[i]; i++) {
        char *path = path_join(folder, hub_file[i]);

        if (file_exists(path))
            return path;
        free(path);
    }
    return NULL;
}

/* In the only snapshot that has weights, where no refs/main says which one counts: so a
 * download by commit leaves it. */
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
    char *folder = hub_folder(r);
    char *commit = commit_of(folder, r->revision ? r->revision : "main");
    char *snapshot = xasprintf("%s/snapshots/%s", folder, commit);
    char *path = find_in(snapshot);

    if (!path && !r->revision && !strcmp(commit, "main"))
        path = find_alone(folder);
    free(snapshot);
    free(commit);
    free(folder);
    return path;
}

static char *torch_place(const struct pretrained_request *r)
{
    const char *last = r->row ? strrchr(r->row->url, '/') : NULL;
    char *cache = torch_cache(), *path = last ? path_join(cache, last + 1) : NULL;

    free(cache);
    return path;
}

static char *find_torch(const struct pretrained_request *r)
{
    char *path = torch_place(r);

    if (path && file_exists(path))
        return path;
    free(path);
    return NULL;
}

char *weights_cache_find(const struct pretrained_request *r)
{
    const char *old = getenv("TIMM_USE_OLD_CACHE");
    bool torch_first = old && *old && strcmp(old, "0") != 0;
    char *path;

    if (r->dir) {
        path = find_in(r->dir);
        return path ? path : find_ending(r->dir);
    }
    if (r->revision)
        return find_hub(r); /* the files of torch.hub have none */
    path = torch_first ? find_torch(r) : find_hub(r);
    return path ? path : torch_first ? find_hub(r) : find_torch(r);
}

char *weights_cache_place(const struct pretrained_request *r, bool hub)
{
    char *folder, *commit, *path;

    if (!hub)
        return torch_place(r);
    folder = hub_folder(r);
    commit = commit_of(folder, r->revision ? r->revision : "main");
    path = xasprintf("%s/snapshots/%s/%s", folder, commit, hub_file[0]);
    free(commit);
    free(folder);
    return path;
}

char *weights_cache_url(const struct pretrained_request *r, bool hub)
{
    const char *revision = r->revision ? r->revision : "main";

    if (!hub)
        return r->row && *r->row->url ? xstrdup(r->row->url) : NULL;
    if (r->row)
        return xasprintf("https://huggingface.co/timm/%s/resolve/%s/%s", r->row->name,
                         revision, hub_file[0]);
    return xasprintf("https://huggingface.co/%.*s/resolve/%s/%s", r->hub_len, r->hub,
                     revision, hub_file[0]);
}

static void say_missing(const char *text, const struct pretrained_request *r,
                        struct strbuf *why)
{
    bool hub = !r->row || !*r->row->url || r->revision;
    char *url, *place;

    if (r->dir && !file_is_dir(r->dir)) {
        strbuf_addf(why, "there is no folder '%s'", r->dir);
        return;
    }
    if (r->dir) {
        strbuf_addf(why,
                    "the folder '%s' has no weights: %s, or any .safetensors, .pth, "
                    ".pth.tar or .bin",
                    r->dir, hub_file[0]);
        return;
    }
    url = weights_cache_url(r, hub);
    place = weights_cache_place(r, hub);
    if (r->row)
        strbuf_addf(why, "the weights %s", r->row->name);
    else
        strbuf_addf(why, "the weights '%s'", text);
    strbuf_addf(why, " are in no cache: %s goes to '%s'", url, place);
    strbuf_addf(why, " (scripts/fetch_weights.sh %s)",
                r->row && !r->revision ? r->row->name : text);
    free(url);
    free(place);
}

char *weights_path(const char *text, const char *model, struct strbuf *why)
{
    struct pretrained_request r;
    char *path = NULL;

    if (pretrained_parse(text, model, &r, why)) {
        path = weights_cache_find(&r);
        if (!path)
            say_missing(text, &r, why);
    } else if (!why->len && !file_exists(text)) {
        strbuf_addf(why, "there is no file '%s'", text);
        pretrained_suggest(text, why);
    } else if (!why->len) {
        path = xstrdup(text);
    }
    return path;
}

/* The digits after the last dash of NAME-14fe96d1.pth; NULL: it has none. */
static const char *hash_in_name(const char *path)
{
    const char *dash = strrchr(path_basename(path), '-');
    int n = 0;

    while (dash && isxdigit((unsigned char)dash[1 + n]))
        n++;
    return n >= 8 && dash && dash[1 + n] == '.' ? dash + 1 : NULL;
}

/* Does a file that has its SHA-256 in its name, the first digits, have it? hex gets it;
 * true if the name has none. Dies if it cannot be read. */
static bool hash_is_right(const char *path, char hex[65])
{
    const char *want = hash_in_name(path);
    size_t len = want ? strcspn(want, ".") : 0;

    if (!want)
        return true;
    if (sha256_file(path, hex))
        die("cannot read '%s': %s", path, strerror(errno));
    return len <= 64 && !strncmp(hex, want, len);
}

char *weights_path_checked(const char *text, const char *model)
{
    struct strbuf why = STRBUF_INIT;
    struct pretrained_request r;
    char *path = weights_path(text, model, &why), hex[65];

    if (!path)
        die("MODEL.PRETRAINED: %s", why.buf);
    if (pretrained_parse(text, model, &r, &why) && !hash_is_right(path, hex))
        die("'%s' is damaged: its SHA-256 begins with %.8s, not as its name says; remove "
            "it and fetch it again",
            path, hex);
    strbuf_release(&why);
    return path;
}
