#include "cuda/nccl_library.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "cuda/library.h"
#include "cuda/nccl.h"

static struct nccl_library lib;
static const struct cuda_library *opened;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void load(void)
{
    static const struct {
        const char *name;
        size_t offset;
        int since; /* version; 0: as old as NCCL_OLDEST */
    } symbol[] = {
#define SINCE(name, version) {"nccl" #name, offsetof(struct nccl_library, name), version}
#define ROW(name)            SINCE(name, 0)
        ROW(GetUniqueId),       ROW(CommInitRank),          ROW(CommInitAll),
        ROW(CommDestroy),       ROW(AllReduce),             ROW(Reduce),
        ROW(Broadcast),         ROW(GetErrorString),        ROW(CommGetAsyncError),
        ROW(Send),              ROW(Recv),                  ROW(GroupStart),
        ROW(GroupEnd),
        SINCE(CommSplit, 21800), SINCE(GetLastError, 21300),
#undef ROW
#undef SINCE
    };

    for (size_t i = 0; i < sizeof(symbol) / sizeof(symbol[0]); i++) {
        void *function = opened->version >= symbol[i].since
                             ? cuda_library_symbol(opened, symbol[i].name)
                             : NULL;

        memcpy((char *)&lib + symbol[i].offset, &function, sizeof(function));
    }
}

const struct nccl_library *nccl_library(const char *device)
{
    struct strbuf why = STRBUF_INIT;

    (void)pthread_mutex_lock(&lock);
    if (!opened) {
        opened = cuda_library_open(CUDA_LIBRARY_NCCL, &why);
        if (!opened)
            die("%s: several GPUs need NCCL: %s", device, why.buf);
        if (opened->version < NCCL_OLDEST)
            die("%s: trainc needs NCCL 2.10 or later", opened->text);
        load();
    }
    (void)pthread_mutex_unlock(&lock);
    strbuf_release(&why);
    return &lib;
}
