/* Collects the weights that the checks of a run find missing, and downloads them. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "config/problems.h"
#include "io/download.h"
#include "train/hub_env.h"
#include "train/weights_cache.h"
#include "train/weights_fetch.h"

enum { WANTED = 2 }; /* MODEL.PRETRAINED and MODEL.TEACHER */

static struct wanted {
    const char *key;
    struct pretrained_request r;
} wanted[WANTED];
static int nwanted;

bool weights_may_fetch(const struct config *cfg, struct strbuf *why)
{
    const char *variable = hub_offline();
    char *endpoint = hub_endpoint();
    bool good = download_url_is_good(endpoint, true);
    char *mirror = hub_mirrored("https://host/");

    if (cfg->model.offline)
        strbuf_addstr(why, "MODEL.OFFLINE is set");
    else if (variable)
        strbuf_addf(why, "%s is set", variable);
    else if (!good)
        strbuf_addf(why, "HF_ENDPOINT '%s' is not https://HOST", endpoint);
    else if (!download_url_is_good(mirror, true))
        strbuf_addf(why, "TRAINC_MIRROR '%s' is not https://HOST", mirror);
    else
        good = download_available(why);
    free(mirror);
    free(endpoint);
    return good && !why->len;
}

char *weights_wanted(const struct config *cfg, const char *key, const char *text,
                     const char *model, struct strbuf *why)
{
    struct strbuf reason = STRBUF_INIT;
    struct pretrained_request r;
    char *path = weights_path(text, model, why);

    if (!path && pretrained_parse(text, model, &r, &reason) && !r.dir) {
        strbuf_reset(&reason);
        if (weights_may_fetch(cfg, &reason)) {
            strbuf_reset(why);
            if (nwanted < WANTED)
                wanted[nwanted++] = (struct wanted){key, r};
        } else {
            strbuf_addf(why, " (not downloaded: %s)", reason.buf);
        }
    }
    strbuf_release(&reason);
    return path;
}

bool weights_fetch_wanted(const struct config *cfg, struct problems *p)
{
    for (int i = 0; i < nwanted; i++) {
        struct strbuf why = STRBUF_INIT;
        char *path = weights_fetch(cfg, &wanted[i].r, &why);

        if (!path)
            config_blame(cfg, p, KEYS(wanted[i].key), "%s: %s", wanted[i].key, why.buf);
        strbuf_release(&why);
        free(path);
    }
    nwanted = 0;
    return !p->nerror;
}
