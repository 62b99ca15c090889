#include "train/hub_env.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"
#include "train/weights_places.h"

static const char *env(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static char *without_slash(const char *url)
{
    size_t len = strlen(url);

    while (len && url[len - 1] == '/')
        len--;
    return xstrndup(url, len);
}

char *hub_endpoint(void)
{
    const char *url = env("HF_ENDPOINT");

    return without_slash(url ? url : "https://huggingface.co");
}

char *hub_mirrored(const char *url)
{
    const char *mirror = env("TRAINC_MIRROR"), *host = strstr(url, "://");
    const char *path = host ? strchr(host + 3, '/') : NULL;
    char *top, *there;

    if (!mirror || !path)
        return xstrdup(url);
    top = without_slash(mirror);
    there = xasprintf("%s%s", top, path);
    free(top);
    return there;
}

bool hub_is_set(const char *name)
{
    static const char *const yes[] = {"1", "on", "yes", "true", NULL};
    const char *value = env(name);

    for (int i = 0; value && yes[i]; i++)
        if (!strcasecmp(value, yes[i]))
            return true;
    return false;
}

const char *hub_offline(void)
{
    const char *name = env("HF_HUB_OFFLINE") ? "HF_HUB_OFFLINE" : "TRANSFORMERS_OFFLINE";

    return hub_is_set(name) ? name : NULL;
}

int hub_timeout(void)
{
    const char *text = env("HF_HUB_DOWNLOAD_TIMEOUT");
    long seconds = text ? strtol(text, NULL, 10) : 0;

    return seconds > 0 && seconds < 100000 ? (int)seconds : 10;
}

static char *token_file(void)
{
    const char *path = env("HF_TOKEN_PATH");
    char *place = path ? path_home(path) : weights_hub_home("token");
    char *text = file_read_limit(place, 4096, NULL);

    free(place);
    return text;
}

/* Frees `text` and returns a copy without surrounding white space, or NULL if that is
 * empty or has characters other than printable ASCII. */
static char *clean(char *text)
{
    char *src = text, *token = NULL;
    size_t len;

    while (src && isspace((unsigned char)*src))
        src++;
    len = src ? strlen(src) : 0;
    while (len && isspace((unsigned char)src[len - 1]))
        len--;
    for (size_t i = 0; i < len; i++)
        if (src[i] <= ' ' || src[i] > '~')
            len = 0;
    if (len)
        token = xstrndup(src, len);
    free(text);
    return token;
}

char *hub_token(void)
{
    const char *token = env("HF_TOKEN");

    if (!token)
        token = env("HUGGING_FACE_HUB_TOKEN");
    if (hub_is_set("HF_HUB_DISABLE_IMPLICIT_TOKEN"))
        return NULL;
    return clean(token ? xstrdup(token) : token_file());
}
