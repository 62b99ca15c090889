/*
 * A fiber starts with swapcontext, which is slow because it saves the signal mask, and
 * then switches with the compiler's setjmp and longjmp. The address sanitizer is notified
 * of each switch; the functions that switch have no red zones, because they do not return
 * in order.
 */
#include "tests/emulator/fiber.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif

#ifdef WITH_ASAN
#include <sanitizer/common_interface_defs.h>
enum { STACK = 256 << 10 };
#else
static void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size)
{
    (void)save, (void)bottom, (void)size;
}
static void __sanitizer_finish_switch_fiber(void *save, const void **bottom, size_t *size)
{
    (void)save, (void)bottom, (void)size;
}
enum { STACK = 64 << 10 };
#endif

#define SWITCHES __attribute__((noinline, no_sanitize("address")))

struct fiber {
    void (*fn)(void *arg);
    void *arg;
    char *stack;
    void *here[5]; /* of __builtin_setjmp */
    bool begun;
    void *fake; /* fake stack of the sanitizer */
};

static struct fiber *running;
static bool from_host; /* fiber_run resumed it */
static void *host[5];
static ucontext_t host_context;
static void *host_fake;
static const void *host_stack;
static size_t host_stack_size;

/* Kept until the program ends: the next launch needs about as many. */
struct fiber *fiber_new(void (*fn)(void *arg), void *arg)
{
    struct fiber *f = xcalloc(1, sizeof(*f));
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, guard + STACK, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED || mprotect(p, guard, PROT_NONE))
        die("no memory for the stack of a fiber");
    f->fn = fn;
    f->arg = arg;
    f->stack = p + guard;
    return f;
}

static void begin(void)
{
    __sanitizer_finish_switch_fiber(NULL, &host_stack, &host_stack_size);
    running->fn(running->arg);
    BUG("a fiber came to its end");
}

SWITCHES static void enter(struct fiber *f)
{
    ucontext_t dst;

    f->begun = true;
    if (getcontext(&dst))
        BUG("no context");
    dst.uc_stack.ss_sp = f->stack;
    dst.uc_stack.ss_size = STACK;
    dst.uc_link = NULL;
    makecontext(&dst, begin, 0);
    (void)swapcontext(&host_context, &dst);
    BUG("a fiber left the wrong way");
}

SWITCHES __attribute__((noreturn)) static void jump(void **dst)
{
    __builtin_longjmp(dst, 1);
}

/* Stops the running fiber `f`; returns when it is resumed. */
SWITCHES static void stop(struct fiber *f, void **next)
{
    if (!__builtin_setjmp(f->here))
        jump(next);
    /* remember the host's stack */
    if (from_host)
        __sanitizer_finish_switch_fiber(running->fake, &host_stack, &host_stack_size);
    else
        __sanitizer_finish_switch_fiber(running->fake, NULL, NULL);
}

SWITCHES void fiber_run(struct fiber *f)
{
    running = f;
    from_host = true;
    __sanitizer_start_switch_fiber(&host_fake, f->stack, STACK);
    if (!__builtin_setjmp(host)) {
        if (!f->begun)
            enter(f);
        jump(f->here);
    }
    __sanitizer_finish_switch_fiber(host_fake, NULL, NULL);
    running = NULL;
}

SWITCHES void fiber_stop(void)
{
    struct fiber *f = running;

    __sanitizer_start_switch_fiber(&f->fake, host_stack, host_stack_size);
    stop(f, host);
}

SWITCHES void fiber_switch(struct fiber *dst)
{
    struct fiber *f = running;

    running = dst;
    from_host = false;
    __sanitizer_start_switch_fiber(&f->fake, dst->stack, STACK);
    stop(f, dst->here);
}
