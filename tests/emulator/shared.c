/*
 * Shared memory. The dynamic part ends at an inaccessible page. The static part consists
 * of function-local statics of the kernel, found in the symbol table of its object (the program
 * or a library of it), where C++ names them _ZZ<function>E<variable>. Both are filled with 0xff, which is NaN,
 * before each block. The device functions that a kernel calls are not known, so small
 * statics of all functions of the object are filled, before each launch.
 */
#include <dlfcn.h>
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
    struct ranges body, helpers;
};

/* A file that holds kernels, and its symbols. */
struct object {
    uintptr_t bias; /* from addresses in the file to addresses in memory */
    const char *image;
    const Elf64_Shdr *section;
    int nsection;
    const Elf64_Sym *symbol;
    size_t nsymbol;
    const char *names;
};

static struct object *object;
static int nobject, object_cap;

static struct kernel_shared *kernel;
static int nkernel, kernel_cap, chosen = -1;

static unsigned char *dynamic_end, *dynamic;
static size_t dynamic_size;

/* ---- the symbol table ---- */

static void find_symbols(struct object *o, const char *file)
{
    const Elf64_Ehdr *e = (const void *)o->image;

    o->section = (const void *)(o->image + e->e_shoff);
    o->nsection = e->e_shnum;
    for (int i = 0; i < o->nsection; i++) {
        if (o->section[i].sh_type != SHT_SYMTAB)
            continue;
        o->symbol = (const void *)(o->image + o->section[i].sh_offset);
        o->nsymbol = o->section[i].sh_size / sizeof(*o->symbol);
        o->names = o->image + o->section[o->section[i].sh_link].sh_offset;
    }
    if (!o->nsymbol)
        emulator_abort("'%s' is stripped: shared memory cannot be found", file);
}

static const char *map_file(const char *file)
{
    FILE *f = fopen(file, "rb");
    char *text;
    long size;

    if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0)
        emulator_abort("cannot read '%s'", file);
    rewind(f);
    text = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fileno(f), 0);
    if (text == MAP_FAILED)
        emulator_abort("cannot map '%s'", file);
    (void)fclose(f);
    return text;
}

static const struct object *object_of(const void *function)
{
    struct link_map *map = NULL;
    const char *file;
    Dl_info info;

    if (!dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP))
        emulator_abort("a kernel at %p, outside of all files", function);
    for (int i = 0; i < nobject; i++)
        if (object[i].bias == map->l_addr)
            return &object[i];
    GROW(object, nobject, object_cap);
    file = *map->l_name ? map->l_name : "/proc/self/exe";
    object[nobject] = (struct object){.bias = map->l_addr, .image = map_file(file)};
    find_symbols(&object[nobject], file);
    return &object[nobject++];
}

static const char *name_of(const struct object *o, const Elf64_Sym *s)
{
    return o->names + s->st_name;
}

/* True for a zero-initialized variable of a C++ function, of whole words. */
static bool is_local_static(const struct object *o, const Elf64_Sym *s)
{
    return ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_size >= 4 &&
           s->st_value % 4 == 0 && s->st_shndx < o->nsection &&
           o->section[s->st_shndx].sh_type == SHT_NOBITS &&
           !strncmp(name_of(o, s), "_ZZ", 3);
}

static void add_range(struct ranges *r, const struct object *o, const Elf64_Sym *s)
{
    GROW(r->item, r->n, r->cap);
    r->item[r->n++] =
        (struct range){(unsigned char *)(o->bias + s->st_value), s->st_size};
    r->bytes += s->st_size;
}

static const char *find_function(const struct object *o, const void *function)
{
    for (size_t i = 0; i < o->nsymbol; i++) {
        const Elf64_Sym *s = &o->symbol[i];

        if (ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
            o->bias + s->st_value == (uintptr_t)function &&
            !strncmp(name_of(o, s), "_Z", 2))
            return name_of(o, s);
    }
    emulator_abort("a kernel without a name: its shared memory cannot be found");
}

static void find_ranges(struct kernel_shared *k, const struct object *o)
{
    size_t len = strlen(k->symbol);

    for (size_t i = 0; i < o->nsymbol; i++) {
        const Elf64_Sym *s = &o->symbol[i];
        const char *name;

        if (!is_local_static(o, s))
            continue;
        name = name_of(o, s) + 3;
        if (!strncmp(name, k->symbol + 2, len - 2) && name[len - 2] == 'E')
            add_range(&k->body, o, s);
        else if (s->st_size <= HELPER_LIMIT)
            add_range(&k->helpers, o, s);
    }
}

/* The ranges may contain red zones of the address sanitizer, which does not see this. */
static void fill(const struct ranges *r)
{
    for (int i = 0; i < r->n; i++) {
        void *start = r->item[i].start;
        size_t words = r->item[i].size / sizeof(uint32_t);

        __asm__ volatile("rep stosl" : "+D"(start), "+c"(words) : "a"(~0u) : "memory");
    }
}

static int find_kernel(const void *function)
{
    const struct object *o;
    struct kernel_shared *k;

    if (chosen >= 0 && kernel[chosen].function == function)
        return chosen;
    for (int i = 0; i < nkernel; i++)
        if (kernel[i].function == function)
            return i;
    o = object_of(function);
    GROW(kernel, nkernel, kernel_cap);
    k = &kernel[nkernel];
    *k = (struct kernel_shared){.function = function,
                                .symbol = find_function(o, function)};
    find_ranges(k, o);
    return nkernel++;
}

void shared_select(const void *function)
{
    chosen = find_kernel(function);
    fill(&kernel[chosen].helpers);
}

size_t shared_static(void)
{
    return kernel[chosen].body.bytes;
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

void shared_poison(void)
{
    if (dynamic_size)
        memset(dynamic, 0xff, dynamic_size);
    fill(&kernel[chosen].body);
}
