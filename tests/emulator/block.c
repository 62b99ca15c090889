/*
 * Runs the threads of a block one at a time, in the order of EMULATOR_ORDER. A thread
 * that does not wait runs to its end, and the next one reuses its fiber, so a kernel
 * without barriers costs one function call per thread. A thread that waits keeps its
 * fiber until the threads that it waits for have arrived; then it is queued to continue.
 */
#include "tests/emulator/block.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/emulator/fiber.h"
#include "tests/emulator/internal.h"

enum { MAX_THREADS = 1024, LANES = 32 };

enum state { STATE_NEW, STATE_READY, STATE_BARRIER, STATE_WARP, STATE_DONE };

struct thread {
    enum state state;
    int line; /* line of the kernel where it waits */
    struct fiber *fiber;
    emulator_warp_t op;
    unsigned mask;
    int lane, width; /* arguments of op */
    uint64_t value, result;
};

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

static const emulator_launch_t *launch; /* the running launch, or NULL */
static const void *closure;
static struct thread thread[MAX_THREADS];
static uint3 place[MAX_THREADS]; /* threadIdx of each thread */
static unsigned nthread, nstarted, ndone, current;
static struct permutation start_order;
static uint64_t nrelease; /* salt of the next order */
/* One bit per lane of each warp: the lane waits for its warp; the lane has returned. */
static unsigned warp_waits[MAX_THREADS / LANES], warp_done[MAX_THREADS / LANES];
static unsigned at_barrier;
static int barrier_sum, barrier_result, barrier_line;

/* Queue of ready threads, each at most once: a ring of nready entries from ready_first
 * on. */
static unsigned ready[MAX_THREADS], ready_first, nready;

static struct fiber *running;
static struct fiber *idle[MAX_THREADS];
static int nidle;

const char *block_kernel(void)
{
    return launch ? launch->name : NULL;
}

static void set_current(unsigned t)
{
    current = t;
    threadIdx = place[t];
}

/* Cached between launches, because resuming a thread must not cost divisions. */
static void set_places(void)
{
    static dim3 shape;

    if (shape.x == blockDim.x && shape.y == blockDim.y && shape.z == blockDim.z)
        return;
    shape = blockDim;
    for (unsigned t = 0; t < nthread; t++)
        place[t] = (uint3){t % shape.x, t / shape.x % shape.y, t / shape.x / shape.y};
}

static void make_ready(unsigned t)
{
    thread[t].state = STATE_READY;
    ready[(ready_first + nready++) % MAX_THREADS] = t;
}

/* ---- errors ---- */

static const char *thread_name(char *dst, size_t size, unsigned t)
{
    unsigned x = t % blockDim.x, y = t / blockDim.x % blockDim.y;

    (void)snprintf(dst, size, "thread (%u,%u,%u)", x, y, t / blockDim.x / blockDim.y);
    return dst;
}

__attribute__((format(printf, 1, 2), noreturn)) static void wrong(const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    emulator_abort("kernel %s: block (%u,%u,%u) of (%u,%u,%u): %s", launch->name,
                   blockIdx.x, blockIdx.y, blockIdx.z, gridDim.x, gridDim.y, gridDim.z,
                   text);
}

/* Ends the program: no thread can continue, and not all are done. */
__attribute__((noreturn)) static void stuck(void)
{
    char a[64], b[64];
    unsigned waits = 0, other = 0;

    while (thread[waits].state == STATE_DONE)
        waits++;
    while (other < nthread && thread[other].state == thread[waits].state &&
           thread[other].line == thread[waits].line)
        other++;
    if (other == nthread)
        other = waits;
    wrong("%s waits %s in line %d, but %s %s; %u of %u threads wait at a barrier, %u "
          "are done",
          thread_name(a, sizeof(a), waits),
          thread[waits].state == STATE_WARP ? "for its warp" : "at the barrier",
          thread[waits].line, thread_name(b, sizeof(b), other),
          thread[other].state == STATE_DONE ? "has returned" : "waits elsewhere",
          at_barrier, nthread, ndone);
}

/* ---- threads ---- */

static void warp_check(unsigned w);

static void finish(void)
{
    unsigned w = current / LANES;

    thread[current].state = STATE_DONE;
    ndone++;
    warp_done[w] |= 1u << current % LANES;
    if (warp_waits[w])
        warp_check(w);
}

/* A fiber starts threads, one after another, until one of them waits. */
static void run_threads(void *self)
{
    for (;;) {
        while (nstarted < nthread) {
            set_current(permuted(&start_order, nstarted++));
            launch->call(closure);
            finish();
        }
        idle[nidle++] = *(struct fiber **)self;
        fiber_stop();
    }
}

static struct fiber *take_fiber(void)
{
    struct fiber **self;

    if (nidle)
        return idle[--nidle];
    self = xcalloc(1, sizeof(struct fiber *));
    *self = fiber_new(run_threads, self);
    return *self;
}

/*
 * Returns the thread to resume: the one that became ready first. With
 * EMULATOR_ORDER=ahead it is the one released last, and it resumes before new threads
 * start, so that a warp whose lanes exchange values runs to the next barrier before
 * others begin.
 */
static unsigned next_ready(void)
{
    nready--;
    if (emulator_settings.ahead)
        return ready[(ready_first + nready) % MAX_THREADS];
    ready_first = (ready_first + 1) % MAX_THREADS;
    return ready[(ready_first + MAX_THREADS - 1) % MAX_THREADS];
}

/* True if a ready thread resumes instead of a new one starting. */
static bool has_next(void)
{
    return nready && (nstarted == nthread || emulator_settings.ahead);
}

/* Stops the current thread, whose state tells what it waits for, until it is ready. */
static void wait_ready(void)
{
    unsigned t = current, next;

    thread[t].fiber = running;
    if (!has_next()) {
        fiber_stop();
    } else if ((next = next_ready()) != t) {
        running = thread[next].fiber;
        fiber_switch(running);
    }
    set_current(t);
}

static void run_block(void)
{
    memset(thread, 0, nthread * sizeof(thread[0]));
    memset(warp_waits, 0, sizeof(warp_waits));
    memset(warp_done, 0, sizeof(warp_done));
    nstarted = ndone = nready = at_barrier = 0;
    barrier_sum = 0;
    start_order = permutation(nthread, nrelease++);
    shared_poison();
    while (ndone < nthread) {
        if (has_next()) {
            running = thread[next_ready()].fiber;
        } else if (nstarted < nthread) {
            running = take_fiber();
        } else {
            stuck();
        }
        fiber_run(running);
    }
}

/* ---- barriers ---- */

static void release_barrier(void)
{
    struct permutation p = permutation(nthread, nrelease++);

    barrier_result = barrier_sum;
    barrier_sum = 0;
    at_barrier = 0;
    for (unsigned i = 0; i < nthread; i++)
        make_ready(permuted(&p, i));
}

int emulator_barrier(int predicate, int line)
{
    unsigned t = current;

    if (!launch)
        emulator_abort("__syncthreads outside of a kernel");
    if (at_barrier && barrier_line != line)
        wrong("barriers in lines %d and %d wait for each other", barrier_line, line);
    barrier_line = line;
    barrier_sum += predicate != 0;
    thread[t].state = STATE_BARRIER;
    thread[t].line = line;
    if (++at_barrier == nthread)
        release_barrier();
    wait_ready();
    return barrier_result;
}

/* ---- warps ---- */

static unsigned warp_exists(unsigned w)
{
    unsigned n = nthread - w * LANES;

    return n >= LANES ? ~0u : (1u << n) - 1;
}

/* Returns the lane that lane `self` reads in a shuffle, by CUDA's rules, or `self`. */
static int source(const struct thread *t, int self)
{
    int base = self & ~(t->width - 1), pos = self - base;

    switch (t->op) {
    case EMULATOR_SHUFFLE:
        return base + (t->lane & (t->width - 1));
    case EMULATOR_UP:
        return pos - t->lane >= 0 ? self - t->lane : self;
    case EMULATOR_DOWN:
        return pos + t->lane < t->width ? self + t->lane : self;
    case EMULATOR_XOR:
        return (self ^ t->lane) < base + t->width ? self ^ t->lane : self;
    default:
        return self;
    }
}

static void exchange(unsigned w, unsigned lanes)
{
    struct thread *warp = thread + w * LANES;
    uint64_t ballot = 0, values[LANES];

    for (int i = 0; i < LANES; i++) {
        values[i] = warp[i].value;
        if (lanes >> i & 1 && warp[i].value)
            ballot |= 1ull << i;
    }
    if (lanes & 1 && warp->op == EMULATOR_TOGETHER) {
        ((const emulator_together_t *)(uintptr_t)values[0])->run(values);
        return;
    }
    for (int i = 0; i < LANES; i++) {
        int start;

        if (!(lanes >> i & 1))
            continue;
        start = source(&warp[i], i);
        if (warp[i].op == EMULATOR_BALLOT)
            warp[i].result = ballot;
        else if (lanes >> start & 1)
            warp[i].result = warp[start].value;
        else
            warp[i].result = ~0ull; /* undefined: that lane does not participate */
    }
}

/* If the lanes that lane `first` waits for have arrived, exchanges their values and
 * returns true. */
static bool warp_complete(unsigned w, int first)
{
    struct thread *warp = thread + w * LANES;
    const struct thread *a = warp + first;
    unsigned lanes = a->mask & warp_exists(w) & ~warp_done[w];

    if ((warp_waits[w] & lanes) != lanes)
        return false;
    for (int i = 0; i < LANES; i++)
        if (lanes >> i & 1 &&
            (warp[i].mask != a->mask || warp[i].op != a->op || warp[i].line != a->line))
            wrong("lanes %d and %d of warp %u meet in different warp operations, in "
                  "lines %d and %d with masks %08x and %08x",
                  first, i, w, a->line, warp[i].line, a->mask, warp[i].mask);
    exchange(w, lanes);
    warp_waits[w] &= ~lanes;
    return true;
}

static void warp_release(unsigned w, unsigned lanes)
{
    struct permutation p = permutation(LANES, nrelease++);

    for (unsigned i = 0; i < LANES; i++)
        if (lanes >> permuted(&p, i) & 1)
            make_ready(w * LANES + permuted(&p, i));
}

/* Called when a lane has returned, for which others may be waiting. */
static void warp_check(unsigned w)
{
    for (int i = 0; i < LANES; i++) {
        unsigned before = warp_waits[w];

        if (before >> i & 1 && warp_complete(w, i))
            warp_release(w, before & ~warp_waits[w]);
    }
}

void emulator_unaligned(int line)
{
    wrong("ldmatrix of a row that is not aligned to 16 bytes, in line %d", line);
}

uint64_t emulator_warp(emulator_warp_t op, unsigned mask, uint64_t value, int lane,
                       int width, int line)
{
    unsigned w = current / LANES, self = current % LANES, before;
    struct thread *t = &thread[current];

    if (!launch)
        emulator_abort("a warp operation outside of a kernel");
    if (!(mask >> self & 1))
        wrong("lane %u of warp %u is not in its own mask %08x, in line %d", self, w, mask,
              line);
    if (width < 1 || width > LANES || width & (width - 1))
        wrong("a shuffle of width %d, in line %d", width, line);
    t->state = STATE_WARP;
    t->op = op;
    t->mask = mask;
    t->value = value;
    t->lane = lane;
    t->width = width;
    t->line = line;
    warp_waits[w] |= 1u << self;
    before = warp_waits[w];
    if (warp_complete(w, (int)self))
        warp_release(w, before & ~warp_waits[w]);
    wait_ready();
    return t->result;
}

/* ---- launches ---- */

static void run_blocks(void)
{
    uint64_t n = (uint64_t)gridDim.x * gridDim.y * gridDim.z;
    struct permutation p;

    if (n > UINT32_MAX)
        emulator_abort("kernel %s: %llu blocks are too many to emulate", launch->name,
                       (unsigned long long)n);
    p = permutation((unsigned)n, nrelease++);
    for (unsigned i = 0; i < n; i++) {
        unsigned b = permuted(&p, i);

        blockIdx.x = b % gridDim.x;
        blockIdx.y = b / gridDim.x % gridDim.y;
        blockIdx.z = b / gridDim.x / gridDim.y;
        run_block();
    }
}

/* Arguments may have been freed between a capture and a replay. */
void block_check_pointers(const emulator_launch_t *l)
{
    for (int i = 0; i < l->npointer; i++) {
        const void *p = l->pointer[i];

        if (memory_device(p) && memory_device_of(p) != l->device)
            emulator_abort("kernel %s on device %d: argument %d is memory of device %d",
                           l->name, l->device, l->argument[i], memory_device_of(p));
        if (!p || memory_device(p) || memory_pinned(p))
            continue;
        emulator_abort("kernel %s: argument %d, %p, is %s", l->name, l->argument[i], p,
                       memory_freed(p) ? "freed device memory"
                                       : "not device memory: a pointer of the host?");
    }
}

void block_run_launch(const emulator_launch_t *l, const void *c)
{
    if (launch)
        emulator_abort("kernel %s is launched by kernel %s", l->name, launch->name);
    block_check_pointers(l);
    launch = l;
    closure = c;
    gridDim = l->grid;
    blockDim = l->block;
    nthread = blockDim.x * blockDim.y * blockDim.z;
    set_places();
    nrelease = 0;
    shared_select(l->function);
    (void)shared_dynamic(l->shared);
    run_blocks();
    launch = NULL;
}
