/*
 * A switch exchanges the stacks and the registers that a call preserves (System V ABI, x86-64),
 * in a function that returns on the other stack: processors predict that, unlike a longjmp. The
 * address sanitizer is notified of each switch.
 */
#include "tests/emulator/fiber.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
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
    void **here; /* top of its stack while it is stopped */
    void *fake;  /* fake stack of the sanitizer */
};

static struct fiber *running;
static bool from_host; /* fiber_run resumed it */
static void **host;
static void *host_fake;
static const void *host_stack;
static size_t host_stack_size;

/* Saves the top of this stack in *here, and returns from the call that saved `next`. */
void fiber_exchange(void ***here, void **next);
__asm__(".text\n"
        ".type fiber_exchange, @function\n"
        "fiber_exchange:\n"
        "    push %rbp\n"
        "    push %rbx\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbx\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size fiber_exchange, .-fiber_exchange\n");

/* The first function on the stack of each fiber. */
static void begin(void)
{
    __sanitizer_finish_switch_fiber(NULL, &host_stack, &host_stack_size);
    running->fn(running->arg);
    BUG("a fiber came to its end");
}

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
    /* As if begin() had been called, with a return address of 0, and had stopped: six registers
     * and its own address. */
    f->here = (void **)(void *)(f->stack + STACK) - 8;
    f->here[6] = (void *)(uintptr_t)begin;
    return f;
}

/* Stops the running fiber `f`; returns when it is resumed. */
static void stop(struct fiber *f, void **next)
{
    fiber_exchange(&f->here, next);
    /* remember the host's stack */
    if (from_host)
        __sanitizer_finish_switch_fiber(running->fake, &host_stack, &host_stack_size);
    else
        __sanitizer_finish_switch_fiber(running->fake, NULL, NULL);
}

void fiber_run(struct fiber *f)
{
    running = f;
    from_host = true;
    __sanitizer_start_switch_fiber(&host_fake, f->stack, STACK);
    fiber_exchange(&host, f->here);
    __sanitizer_finish_switch_fiber(host_fake, NULL, NULL);
    running = NULL;
}

void fiber_stop(void)
{
    struct fiber *f = running;

    __sanitizer_start_switch_fiber(&f->fake, host_stack, host_stack_size);
    stop(f, host);
}

void fiber_switch(struct fiber *dst)
{
    struct fiber *f = running;

    running = dst;
    from_host = false;
    __sanitizer_start_switch_fiber(&f->fake, dst->stack, STACK);
    stop(f, dst->here);
}
