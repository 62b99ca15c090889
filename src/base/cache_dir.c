#include "base/cache_dir.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"

const char *cache_dir(const char *setting)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char *folder;
    const char *root = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct strbuf s = STRBUF_INIT;

    if (strcmp(setting, "auto") != 0)
        return setting;
    if (root && *root == '/')
        strbuf_addf(&s, "%s/trainc", root);
    else if (home && *home)
        strbuf_addf(&s, "%s/.cache/trainc", home);
    (void)pthread_mutex_lock(&lock);
    if (!folder || strcmp(folder, s.buf ? s.buf : "") != 0) { /* tests change it */
        free(folder);
        folder = xstrdup(s.buf ? s.buf : "");
    }
    (void)pthread_mutex_unlock(&lock);
    strbuf_release(&s);
    return folder;
}
