#include "cpu/amx.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LEAF_FEATURES = 7,
    EDX_AMX_BF16 = 1 << 22,
    EDX_AMX_TILE = 1 << 24,
    ECX_OSXSAVE = 1 << 27,
    XCR0_TILES = 3 << 17,         /* tile configuration and tile data */
    ARCH_REQ_XCOMP_PERM = 0x1023, /* linux/arch/x86/include/uapi/asm/prctl.h */
    XFEATURE_XTILEDATA = 18,
};

static bool processor_has_tiles(void)
{
    unsigned eax, ebx, ecx, edx, low, high;

    if (!__get_cpuid_count(LEAF_FEATURES, 0, &eax, &ebx, &ecx, &edx) ||
        !(edx & EDX_AMX_TILE) || !(edx & EDX_AMX_BF16))
        return false;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & ECX_OSXSAVE))
        return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & XCR0_TILES) == XCR0_TILES;
}

bool amx_usable(void)
{
    static int known; /* 1: yes, -1: no */

    if (!known)
        known =
            processor_has_tiles() && __builtin_cpu_supports("avx512bf16") &&
                    syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0
                ? 1
                : -1;
    return known > 0;
}
#else
bool amx_usable(void)
{
    return false;
}
#endif
