#include "image/gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { MIN_SHARE = 8 << 20 }; /* minimum share in bytes: enough for camera photographs */

static pthread_mutex_t plan_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lane = PTHREAD_MUTEX_INITIALIZER;
static int planned; /* number of threads */
static atomic_size_t share = SIZE_MAX, max_size = SIZE_MAX;
static _Thread_local bool inside;

void image_gate_plan(int threads, size_t memory)
{
    size_t each = SIZE_MAX;

    pthread_mutex_lock(&plan_lock);
    planned += threads;
    if (planned > 0 && memory < SIZE_MAX) {
        each = memory / 4 / (size_t)planned;
        each = each > MIN_SHARE ? each : MIN_SHARE;
    }
    atomic_store(&share, each);
    atomic_store(&max_size, planned > 0 && memory < SIZE_MAX ? memory / 2 : SIZE_MAX);
    pthread_mutex_unlock(&plan_lock);
}

int image_gate_enter(size_t bytes, struct strbuf *why)
{
    if (bytes > atomic_load(&max_size)) {
        strbuf_addstr(why, "decoding it takes ");
        strbuf_add_bytes(why, (double)bytes);
        strbuf_addstr(why, ", more than half of the memory, which is ");
        strbuf_add_bytes(why, (double)atomic_load(&max_size));
        return -1;
    }
    if (inside || bytes <= atomic_load(&share))
        return 0;
    pthread_mutex_lock(&lane);
    inside = true;
    return 0;
}

bool image_gate_inside(void)
{
    return inside;
}

void image_gate_leave(void)
{
    if (inside)
        pthread_mutex_unlock(&lane);
    inside = false;
}
