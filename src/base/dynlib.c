#include "base/dynlib.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"

static void *open_first(const struct dynlib *lib)
{
    void *handle = NULL;

    for (const char *const *name = lib->names; !handle && *name; name++)
        handle = dlopen(*name, RTLD_LAZY | RTLD_LOCAL);
    return handle;
}

static int load(const struct dynlib *lib, void *dst, struct strbuf *why)
{
    void *handle = open_first(lib);

    if (!handle) {
        strbuf_addf(why, "%s cannot be opened, which Debian's %s has", lib->names[0],
                    lib->package);
        return -1;
    }
    for (const struct dynlib_symbol *s = lib->symbols; s->name; s++) {
        void *symbol = dlsym(handle, s->name);

        if (!symbol) {
            strbuf_addf(why, "%s has no %s: another version is needed", lib->names[0],
                        s->name);
            return -1;
        }
        memcpy((char *)dst + s->offset, &symbol, sizeof(symbol));
    }
    return 0;
}

int dynlib_open(struct dynlib *lib, void *dst, struct strbuf *why)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    bool open;

    pthread_mutex_lock(&lock);
    lib->open = lib->open || load(lib, dst, why) == 0;
    open = lib->open;
    pthread_mutex_unlock(&lock);
    return open ? 0 : -1;
}

void dynlib_need(struct dynlib *lib, void *dst, const char *what)
{
    struct strbuf why = STRBUF_INIT;

    if (dynlib_open(lib, dst, &why) < 0)
        die("%s cannot be read: %s", what, why.buf);
}
