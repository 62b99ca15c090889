/*
 * A fiber starts by swapcontext, which is slow because it saves the signal mask, and from
 * then on switches by _setjmp and _longjmp. The address sanitizer is told of each switch.
 */
#undef _FORTIFY_SOURCE /* its longjmp believes in one stack */
#include "tests/emulator/fiber.h"

#include <setjmp.h>
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

struct fiber {
    void (*fn)(void *arg);
    void *arg;
    char *stack;
    jmp_buf here;
    bool begun;
    void *fake; /* the sanitizer's */
};

static struct fiber *running;
static jmp_buf host;
static ucontext_t host_context;
static void *host_fake;
static const void *host_stack;
static size_t host_stack_size;

/* Kept for the life of the program: a launch needs as many as the last one. */
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

static void enter(struct fiber *f)
{
    ucontext_t to;

    f->begun = true;
    if (getcontext(&to))
        BUG("no context");
    to.uc_stack.ss_sp = f->stack;
    to.uc_stack.ss_size = STACK;
    to.uc_link = NULL;
    makecontext(&to, begin, 0);
    (void)swapcontext(&host_context, &to);
    BUG("a fiber left the wrong way");
}

void fiber_run(struct fiber *f)
{
    running = f;
    __sanitizer_start_switch_fiber(&host_fake, f->stack, STACK);
    if (!_setjmp(host)) {
        if (!f->begun)
            enter(f);
        _longjmp(f->here, 1);
    }
    __sanitizer_finish_switch_fiber(host_fake, NULL, NULL);
    running = NULL;
}

void fiber_stop(void)
{
    struct fiber *f = running;

    __sanitizer_start_switch_fiber(&f->fake, host_stack, host_stack_size);
    if (!_setjmp(f->here))
        _longjmp(host, 1);
    __sanitizer_finish_switch_fiber(f->fake, &host_stack, &host_stack_size);
}
