/*
 * Shared memory. The dynamic part ends at an inaccessible page. The static part consists
 * of function-local statics of the kernel, found in the program's own symbol table, where
 * C++ names them _ZZ<function>E<variable>. Both are filled with 0xff, which is NaN,
 * before each block. The device functions that a kernel calls are not known, so small
 * statics of all functions are filled.
 */
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/emulator/internal.h"

enum { DYNAMIC = 256 << 10, HELPER_LIMIT = 2048 };

struct range {
    unsigned char *start;
    size_t size;
};

struct ranges {
    struct range *item;
    int n, cap;
    size_t bytes;
};

/* A kernel that has been launched. */
struct kernel_shared {
    const void *function;
    const char *symbol;
    struct ranges own, helpers;
};

static const char *image; /* the program's file */
static const Elf64_Shdr *section;
static int nsection;
static const Elf64_Sym *symbol;
static size_t nsymbol;
static const char *names;
static uintptr_t bias;

static struct kernel_shared *kernel;
static int nkernel, kernel_cap, chosen = -1;

static unsigned char *dynamic_end, *dynamic;
static size_t dynamic_size;

/* ---- the symbol table ---- */

static int first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(uintptr_t *)arg = info->dlpi_addr;
    return 1;
}

static void find_symbols(void)
{
    const Elf64_Ehdr *e = (const void *)image;

    section = (const void *)(image + e->e_shoff);
    nsection = e->e_shnum;
    for (int i = 0; i < nsection; i++) {
        if (section[i].sh_type != SHT_SYMTAB)
            continue;
        symbol = (const void *)(image + section[i].sh_offset);
        nsymbol = section[i].sh_size / sizeof(*symbol);
        names = image + section[section[i].sh_link].sh_offset;
    }
    if (!nsymbol)
        emulator_abort("the program is stripped: shared memory cannot be found");
}

static void load_symbols(void)
{
    FILE *f = fopen("/proc/self/exe", "rb");
    char *text;
    long size;

    if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0)
        emulator_abort("cannot read /proc/self/exe");
    rewind(f);
    text = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fileno(f), 0);
    if (text == MAP_FAILED)
        emulator_abort("cannot map /proc/self/exe");
    (void)fclose(f);
    image = text;
    (void)dl_iterate_phdr(first_object, &bias);
    find_symbols();
}

static const char *name_of(const Elf64_Sym *s)
{
    return names + s->st_name;
}

/* True for a zero-initialized variable of a C++ function, of whole words. */
static bool is_local_static(const Elf64_Sym *s)
{
    return ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_size >= 4 &&
           s->st_value % 4 == 0 && s->st_shndx < nsection &&
           section[s->st_shndx].sh_type == SHT_NOBITS && !strncmp(name_of(s), "_ZZ", 3);
}

static void add_range(struct ranges *r, const Elf64_Sym *s)
{
    GROW(r->item, r->n, r->cap);
    r->item[r->n++] = (struct range){(unsigned char *)(bias + s->st_value), s->st_size};
    r->bytes += s->st_size;
}

static const char *find_function(const void *function)
{
    for (size_t i = 0; i < nsymbol; i++)
        if (ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC &&
            bias + symbol[i].st_value == (uintptr_t)function &&
            !strncmp(name_of(&symbol[i]), "_Z", 2))
            return name_of(&symbol[i]);
    return "";
}

static void find_ranges(struct kernel_shared *k)
{
    size_t len = strlen(k->symbol);

    for (size_t i = 0; i < nsymbol; i++) {
        const char *name;

        if (!is_local_static(&symbol[i]))
            continue;
        name = name_of(&symbol[i]) + 3;
        if (len > 2 && !strncmp(name, k->symbol + 2, len - 2) && name[len - 2] == 'E')
            add_range(&k->own, &symbol[i]);
        else if (symbol[i].st_size <= HELPER_LIMIT)
            add_range(&k->helpers, &symbol[i]);
    }
}

void shared_select(const void *function)
{
    struct kernel_shared *k;

    if (chosen >= 0 && kernel[chosen].function == function)
        return;
    for (chosen = 0; chosen < nkernel; chosen++)
        if (kernel[chosen].function == function)
            return;
    if (!image)
        load_symbols();
    GROW(kernel, nkernel, kernel_cap);
    k = &kernel[nkernel++];
    *k = (struct kernel_shared){.function = function, .symbol = find_function(function)};
    find_ranges(k);
}

size_t shared_static(void)
{
    return kernel[chosen].own.bytes;
}

const char *shared_kernel_symbol(void)
{
    return kernel[chosen].symbol;
}

/* ---- before a launch, before a block ---- */

static void map_dynamic(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *p = mmap(NULL, DYNAMIC + page, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || mprotect(p + DYNAMIC, page, PROT_NONE))
        emulator_abort("no shared memory");
    dynamic_end = p + DYNAMIC;
}

void *shared_dynamic(size_t size)
{
    if (!dynamic_end)
        map_dynamic();
    dynamic_size = (size + 15) / 16 * 16;
    dynamic = dynamic_end - dynamic_size;
    return dynamic;
}

unsigned char *emulator_shared(void)
{
    return dynamic;
}

/* The ranges may contain red zones of the address sanitizer, so they are filled by
 * hand. */
__attribute__((no_sanitize("address"))) static void fill(const struct ranges *r)
{
    for (int i = 0; i < r->n; i++) {
        volatile uint32_t *word = (void *)r->item[i].start;
        size_t words = r->item[i].size / sizeof(*word);

        for (size_t k = 0; k < words; k++)
            word[k] = ~0u;
    }
}

void shared_poison(void)
{
    if (dynamic_size)
        memset(dynamic, 0xff, dynamic_size);
    fill(&kernel[chosen].own);
    fill(&kernel[chosen].helpers);
}
