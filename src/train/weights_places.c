#include "train/weights_places.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "train/hub_env.h"

/* Returns $NAME/SUFFIX with ~ expanded, or NULL if the variable is empty. */
static char *below(const char *name, const char *suffix)
{
    const char *value = getenv(name);
    char *top = value && *value ? path_home(value) : NULL;
    char *path = top && *suffix ? path_join(top, suffix) : NULL;

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

char *weights_hub_cache(void)
{
    static const char *const env[][2] = {{"HF_HUB_CACHE", ""},
                                         {"HUGGINGFACE_HUB_CACHE", ""},
                                         {"HF_HOME", "hub"},
                                         {"XDG_CACHE_HOME", "huggingface/hub"},
                                         {NULL, NULL}};

    return cache_of(env, ".cache/huggingface/hub");
}

char *weights_hub_home(const char *name)
{
    char *hub_path = xasprintf("huggingface/%s", name);
    char *home = xasprintf(".cache/%s", hub_path);
    const char *const env[][2] = {
        {"HF_HOME", name}, {"XDG_CACHE_HOME", hub_path}, {NULL, NULL}};
    char *path = cache_of(env, home);

    free(home);
    free(hub_path);
    return path;
}

static char *torch_cache(void)
{
    static const char *const env[][2] = {{"TORCH_HOME", "hub/checkpoints"},
                                         {"XDG_CACHE_HOME", "torch/hub/checkpoints"},
                                         {NULL, NULL}};

    return cache_of(env, ".cache/torch/hub/checkpoints");
}

char *weights_hub_folder(const struct pretrained_request *r)
{
    char *cache = weights_hub_cache(), *folder;

    if (r->row) {
        char *name = pretrained_repository(r->row);

        folder = xasprintf("%s/models--timm--%s", cache, name);
        free(name);
    } else {
        int owner = (int)strcspn(r->hub, "/");

        folder = xasprintf("%s/models--%.*s--%.*s", cache, owner, r->hub,
                           r->hub_len - owner - 1, r->hub + owner + 1);
    }
    free(cache);
    return folder;
}

/* Percent-encodes a part of a URL's path. */
static void add_quoted(struct strbuf *s, const char *text, int len)
{
    for (int i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (isalnum(c) || strchr("-._~", c))
            strbuf_addch(s, (char)c);
        else
            strbuf_addf(s, "%%%02X", c);
    }
}

char *weights_hub_page(const struct pretrained_request *r)
{
    struct strbuf s = STRBUF_INIT;
    char *endpoint = hub_endpoint();
    int owner = r->row ? 0 : (int)strcspn(r->hub, "/");

    strbuf_addf(&s, "%s/", endpoint);
    if (r->row) {
        char *name = pretrained_repository(r->row);

        strbuf_addf(&s, "timm/%s", name);
        free(name);
    } else {
        add_quoted(&s, r->hub, owner);
        strbuf_addch(&s, '/');
        add_quoted(&s, r->hub + owner + 1, r->hub_len - owner - 1);
    }
    free(endpoint);
    return strbuf_detach(&s);
}

char *weights_hub_url(const struct pretrained_request *r, const char *revision,
                      const char *file)
{
    struct strbuf s = STRBUF_INIT;
    char *page = weights_hub_page(r);

    strbuf_addf(&s, "%s/resolve/", page);
    add_quoted(&s, revision, (int)strlen(revision));
    strbuf_addf(&s, "/%s", file);
    free(page);
    return strbuf_detach(&s);
}

char *weights_commit(const char *folder, const char *revision)
{
    char *path = xasprintf("%s/refs/%s", folder, revision), *text;
    size_t len = 0;

    text = file_read_limit(path, 256, &len);
    free(path);
    if (!text)
        return xstrdup(revision);
    text[strcspn(text, " \r\n")] = '\0';
    return text;
}

/* In the order in which timm tries them. */
const char *const weights_hub_file[] = {"model.safetensors",
                                        "pytorch_model.bin",
                                        "pytorch_model.pth",
                                        "model.pth",
                                        "open_clip_model.safetensors",
                                        "open_clip_pytorch_model.safetensors",
                                        "open_clip_pytorch_model.bin",
                                        "open_clip_pytorch_model.pth",
                                        NULL};

char *weights_torch_place(const struct pretrained_request *r)
{
    const char *last = r->row ? strrchr(r->row->url, '/') : NULL;
    char *cache = torch_cache(), *path = last ? path_join(cache, last + 1) : NULL;

    free(cache);
    return path;
}

size_t weights_hash_in_name(const char *path, const char **hash)
{
    const char *dash = strrchr(path_basename(path), '-');
    size_t n = 0;

    while (dash && isxdigit((unsigned char)dash[1 + n]))
        n++;
    *hash = dash ? dash + 1 : NULL;
    return n >= 8 && n <= 64 && dash[1 + n] == '.' ? n : 0;
}
