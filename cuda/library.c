#include "cuda/library.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "cuda/python_library.h"

/* The names end with the major version of the toolkit that trainc was built with, whose types
 * and constants it passes. */
#define STRING_(x)   #x
#define STRING(x)    STRING_(x)
#define SONAME(base) base ".so." STRING(CUDA_MAJOR)

_Static_assert(CUDART_VERSION >= 12040 && CUDART_VERSION / 1000 == CUDA_MAJOR,
               "trainc needs the toolkit of CUDA 12.4 or newer, or 13; make CUDA=0 builds "
               "without");

static const struct known {
    const char *name, *soname, *variable, *version;
} known[CUDA_LIBRARIES] = {
    [CUDA_LIBRARY_CUDNN] = {"cuDNN", "libcudnn.so.9", "TRAINC_CUDNN", "cudnnGetVersion"},
    [CUDA_LIBRARY_CUBLASLT] = {"cuBLASLt", SONAME("libcublasLt"), "TRAINC_CUBLASLT",
                               "cublasLtGetVersion"},
    [CUDA_LIBRARY_NCCL] = {"NCCL", "libnccl.so.2", "TRAINC_NCCL", "ncclGetVersion"},
    [CUDA_LIBRARY_NVJPEG] = {"nvJPEG", SONAME("libnvjpeg"), "TRAINC_NVJPEG",
                             "nvjpegGetProperty"},
};

static struct cuda_library library[CUDA_LIBRARIES];

const char *cuda_library_name(enum cuda_library_id id)
{
    return known[id].name;
}

/*
 * Symbols are bound when they are first called: binding all of cuBLASLt's would take 65
 * ms at startup. The reported reason is from the first path where a file exists, else
 * from the first path.
 */
static void *try_open(const char *path, struct strbuf *reason)
{
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    const char *error = handle ? NULL : dlerror();
    bool found = error && !strstr(error, "No such file");

    if (error && (!reason->len || (found && strstr(reason->buf, "No such file")))) {
        strbuf_reset(reason);
        strbuf_addstr(reason, error);
    }
    return handle;
}

static void *try_folder(const char *dir, const char *sub, const char *soname,
                        struct strbuf *reason)
{
    struct strbuf path = STRBUF_INIT;
    void *handle;

    strbuf_addf(&path, "%s%s/%s", dir, sub, soname);
    handle = try_open(path.buf, reason);
    strbuf_release(&path);
    return handle;
}

static void *try_program_folder(const char *soname, struct strbuf *reason)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    void *handle;
    char *dir;

    if (n < 0)
        return NULL;
    self[n] = '\0';
    dir = path_dirname(self);
    handle = try_folder(dir, "", soname, reason);
    if (!handle)
        handle = try_folder(dir, "/lib", soname, reason);
    free(dir);
    return handle;
}

static void *try_python(const char *soname, struct strbuf *reason)
{
    char *path = python_library(soname);
    void *handle = path ? try_open(path, reason) : NULL;

    free(path);
    return handle;
}

static void *find_library(const struct known *k, struct strbuf *reason)
{
    const char *given = getenv(k->variable), *home = getenv("CUDA_HOME");
    void *handle;

    if (given && *given)
        return try_open(given, reason);
    if (!home || !*home)
        home = "/usr/local/cuda";
    handle = try_open(k->soname, reason);
    if (!handle)
        handle = try_folder(home, "/lib64", k->soname, reason);
    if (!handle)
        handle = try_folder(home, "/lib", k->soname, reason);
    if (!handle)
        handle = try_program_folder(k->soname, reason);
    if (!handle)
        handle = try_python(k->soname, reason);
    return handle;
}

/* cuDNN and cuBLASLt return a number, NCCL writes one, nvJPEG each component. */
static int read_version(enum cuda_library_id id, void *function)
{
    size_t (*get)(void);
    int (*put)(int *), (*part)(int which, int *value);
    int version = 0, value[3] = {0};

    if (id == CUDA_LIBRARY_NCCL) {
        memcpy(&put, &function, sizeof(put));
        (void)put(&version);
        return version;
    }
    if (id == CUDA_LIBRARY_NVJPEG) {
        memcpy(&part, &function, sizeof(part));
        for (int i = 0; i < 3; i++)
            (void)part(i, &value[i]);
        return value[0] * 10000 + value[1] * 100 + value[2];
    }
    memcpy(&get, &function, sizeof(get));
    return (int)get();
}

static void describe(struct cuda_library *l, enum cuda_library_id id)
{
    void *function = cuda_library_symbol(l, known[id].version);
    Dl_info info;

    if (dladdr(function, &info) && info.dli_fname && *info.dli_fname) {
        free(l->path);
        l->path = xstrdup(info.dli_fname);
    }
    l->version = read_version(id, function);
    (void)snprintf(l->text, sizeof(l->text), "%s %d.%d.%d (%s)", l->name,
                   l->version / 10000, l->version / 100 % 100, l->version % 100, l->path);
}

static const struct cuda_library *open_once(enum cuda_library_id id, struct strbuf *why)
{
    const struct known *k = &known[id];
    struct cuda_library *l = &library[id];
    struct strbuf reason = STRBUF_INIT;
    const char *given = getenv(k->variable);
    void *handle = l->handle ? l->handle : find_library(k, &reason);

    if (!handle && given && *given)
        strbuf_addf(why, "cannot open %s, which %s names: %s", k->name, k->variable,
                    reason.buf);
    else if (!handle)
        strbuf_addf(
            why,
            "cannot open %s: %s (looked in the linker's path, CUDA_HOME, "
            "the program's folder, and Python's packages; set %s=/path/to/%s to name "
            "the file)",
            k->name, reason.buf, k->variable, k->soname);
    if (handle && !l->handle) {
        l->name = k->name;
        l->handle = handle;
        l->path = xstrdup(given && *given ? given : k->soname);
        describe(l, id);
    }
    strbuf_release(&reason);
    return handle ? l : NULL;
}

const struct cuda_library *cuda_library_open(enum cuda_library_id id, struct strbuf *why)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const struct cuda_library *l;

    (void)pthread_mutex_lock(&lock);
    l = open_once(id, why);
    (void)pthread_mutex_unlock(&lock);
    return l;
}

void *cuda_library_symbol(const struct cuda_library *l, const char *symbol)
{
    void *ptr = dlsym(l->handle, symbol);

    if (!ptr)
        die("'%s' is not the %s that trainc needs: it has no %s", l->path, l->name,
            symbol);
    return ptr;
}
