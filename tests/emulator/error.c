/* Settings from the environment, error codes and their texts, counters, the lock. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tests/emulator/host_node.h"
#include "tests/emulator/work.h"

struct settings emulator_settings;
struct emulator_counters emulator_counters;

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local cudaError_t last_error;

void emulator_abort(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)fflush(stdout);
    (void)fputs("emulator: ", stderr);
    (void)vfprintf(stderr, fmt, ap);
    (void)fputc('\n', stderr);
    va_end(ap);
    abort();
}

/* ---- settings ---- */

/* Returns the setting `name` in bytes; `usual` if it is not set. */
static size_t bytes_of(const char *name, size_t usual)
{
    const char *text = getenv(name);
    static const char units[] = "KMGT";
    char *end;
    const char *unit;
    double v;

    if (!text || !*text)
        return usual;
    v = strtod(text, &end);
    unit = strchr(units, *end);
    if (*end && (!unit || end[1]))
        die("%s=%s: bytes, or a number with K, M, G or T", name, text);
    for (const char *u = units; *end && u <= unit; u++)
        v *= 1024;
    return (size_t)v;
}

static void set_order(const char *order)
{
    struct settings *s = &emulator_settings;

    s->ahead = !strcmp(order, "ahead");
    if (!strcmp(order, "forward") || s->ahead)
        s->order = ORDER_FORWARD;
    else if (!strcmp(order, "reverse"))
        s->order = ORDER_REVERSE;
    else if (!strncmp(order, "shuffle:", 8))
        s->order = ORDER_SHUFFLE, s->seed = strtoull(order + 8, NULL, 10);
    else
        die("EMULATOR_ORDER=%s: forward, reverse, ahead or shuffle:SEED", order);
}

static bool flag(const char *name)
{
    const char *v = getenv(name);

    return v && *v && strcmp(v, "0") != 0;
}

static void write_counters(void)
{
    const struct emulator_counters *c = &emulator_counters;
    const struct {
        const char *name;
        int64_t value;
    } row[] = {
        {"synchronisations", c->synchronisations},
        {"pageable", c->pageable},
        {"event_waits", c->event_waits},
        {"allocations", c->allocations},
        {"frees", c->frees},
        {"launches", c->launches},
        {"graph_launches", c->graph_launches},
        {"graph_nodes", c->graph_nodes},
        {"captures", c->captures},
        {"bytes_in", c->bytes_in},
        {"bytes_out", c->bytes_out},
        {"bytes_within", c->bytes_within},
        {"bytes_held", c->bytes_held},
        {"bytes_peak", c->bytes_peak},
    };
    FILE *f = fopen(getenv("EMULATOR_COUNTERS"), "w");

    for (size_t i = 0; f && i < sizeof(row) / sizeof(row[0]); i++)
        (void)fprintf(f, "%s\"%s\": %lld", i ? ",\n " : "{", row[i].name,
                      (long long)row[i].value);
    if (f) {
        (void)fprintf(f, "}\n");
        (void)fclose(f);
    }
}

__attribute__((constructor)) static void before_main(void)
{
    libraries_choose();
}

static void begin(void)
{
    const char *order = getenv("EMULATOR_ORDER");
    const char *many = getenv("EMULATOR_MULTIPROCESSORS");
    const char *after = getenv("EMULATOR_OTHERS_AFTER");
    pthread_mutexattr_t a;

    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &a);
    emulator_settings.memory = bytes_of("EMULATOR_MEMORY", 150109880320);
    emulator_settings.others = bytes_of("EMULATOR_OTHERS", 0);
    emulator_settings.launched = after ? strtol(after, NULL, 10) : 0;
    emulator_settings.cache = bytes_of("EMULATOR_CACHE", 62914560);
    emulator_settings.multiprocessors = many && *many ? (int)strtol(many, NULL, 10) : 132;
    if (emulator_settings.multiprocessors < 1)
        die("EMULATOR_MULTIPROCESSORS=%s: a number from 1", many);
    emulator_settings.lazy = flag("EMULATOR_LAZY");
    emulator_settings.loads = flag("EMULATOR_LOADS");
    emulator_settings.busy = flag("EMULATOR_BUSY");
    emulator_settings.protect = flag("EMULATOR_PROTECT");
    if (order && *order)
        set_order(order);
    if (getenv("EMULATOR_COUNTERS"))
        (void)atexit(write_counters);
}

static _Thread_local int depth;

void emulator_lock(void)
{
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
    depth++;
}

void emulator_unlock(void)
{
    depth--;
    pthread_mutex_unlock(&lock);
}

void emulator_unlocked(void (*fn)(void *arg), void *arg)
{
    int was = depth;

    while (depth)
        emulator_unlock();
    fn(arg);
    while (depth < was)
        emulator_lock();
}

struct emulator_counters emulator_count(void)
{
    struct emulator_counters c;

    emulator_lock();
    c = emulator_counters;
    emulator_unlock();
    return c;
}

void emulator_order(const char *order)
{
    emulator_lock();
    set_order(order);
    emulator_unlock();
}

void emulator_lazy(int lazy)
{
    emulator_lock();
    stream_drain_all();
    emulator_settings.lazy = lazy;
    emulator_unlock();
}

/* ---- order ---- */

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static unsigned common_divisor(unsigned a, unsigned b)
{
    while (b) {
        unsigned r = a % b;

        a = b;
        b = r;
    }
    return a;
}

struct permutation permutation(unsigned n, uint64_t salt)
{
    struct permutation p = {n, 1, 0};
    uint64_t r = mixed(emulator_settings.seed * 0x9e3779b97f4a7c15u + salt + 1);

    if (n < 2 || emulator_settings.order == ORDER_FORWARD)
        return p;
    p.first = n - 1;
    p.step = n - 1; /* -1 modulo n */
    if (emulator_settings.order == ORDER_REVERSE)
        return p;
    p.first = (unsigned)(r >> 32) % n;
    p.step = 1 + (unsigned)r % (n - 1);
    while (common_divisor(p.step, n) != 1)
        p.step = p.step % (n - 1) + 1;
    return p;
}

/* ---- errors ---- */

int emulator_fails(const char *what)
{
    static int64_t calls;
    const char *set = getenv("EMULATOR_FAIL"), *colon = set ? strchr(set, ':') : NULL;
    size_t n = colon ? (size_t)(colon - set) : 0;
    int64_t first;
    char *end;

    if (!n || strlen(what) != n || strncmp(set, what, n) != 0)
        return 0;
    first = strtoll(colon + 1, &end, 10);
    calls++;
    return *end == '-' ? calls >= first : calls == first;
}

cudaError_t emulator_return(cudaError_t e)
{
    if (e != cudaSuccess)
        last_error = e;
    emulator_unlock();
    return e;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t e = last_error;

    last_error = cudaSuccess;
    return e;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

#define ERRORS(X)                                                                        \
    X(cudaSuccess, "no error")                                                           \
    X(cudaErrorInvalidValue, "invalid argument")                                         \
    X(cudaErrorMemoryAllocation, "out of memory")                                        \
    X(cudaErrorInvalidConfiguration, "invalid configuration argument")                   \
    X(cudaErrorIllegalAddress, "an illegal memory access was encountered")               \
    X(cudaErrorInvalidDevice, "invalid device ordinal")                                  \
    X(cudaErrorInvalidResourceHandle, "invalid resource handle")                         \
    X(cudaErrorNotReady, "device not ready")                                             \
    X(cudaErrorNotSupported, "operation not supported")                                  \
    X(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range " \
                                            "is already mapped")                         \
    X(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered "   \
                                        "memory region")                                 \
    X(cudaErrorStreamCaptureUnsupported,                                                 \
      "operation not permitted when stream is capturing")                                \
    X(cudaErrorStreamCaptureInvalidated,                                                 \
      "operation failed due to a previous error during capture")                         \
    X(cudaErrorStreamCaptureMerge,                                                       \
      "operation would result in a merge of separate capture sequences")                 \
    X(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it " \
                                       "began")                                          \
    X(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work")              \
    X(cudaErrorStreamCaptureIsolation,                                                   \
      "dependency created on uncaptured work in another stream")                         \
    X(cudaErrorStreamCaptureImplicit,                                                    \
      "operation would make the legacy stream depend on a capturing blocking stream")    \
    X(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a "  \
                              "capturing stream")                                        \
    X(cudaErrorStreamCaptureWrongThread,                                                 \
      "attempt to terminate a thread-local capture sequence from another thread")

const char *cudaGetErrorString(cudaError_t e)
{
#define TEXT(code, text)                                                                 \
    if (e == code)                                                                       \
        return text;
    ERRORS(TEXT)
    return "unrecognized error code";
}

const char *cudaGetErrorName(cudaError_t e)
{
#define NAME(code, text)                                                                 \
    if (e == code)                                                                       \
        return #code;
    ERRORS(NAME)
    return "unrecognized error code";
}
