/* If a mapped file is truncated, one line names it instead of a signal. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/mapped_fault.h"
#include "tests/child.h"
#include "tests/make_folder.h"
#include "tests/test.h"

enum { PAGES = 3, PAGE = 4096 };

static volatile unsigned char *map(const char *path)
{
    FILE *f = fopen(path, "re");
    void *p =
        f ? mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fileno(f), 0) : MAP_FAILED;

    if (p == MAP_FAILED)
        _exit(99);
    (void)fclose(f);
    return p;
}

static void cut_under_us(void *arg)
{
    volatile unsigned char *p = map(arg);

    mapped_fault_install();
    if (truncate(arg, PAGE) < 0 || p[0] != 7)
        _exit(98);
    _exit(p[2 * PAGE]);
}

static void sent_by_another(void *arg)
{
    (void)arg;
    mapped_fault_install();
    (void)raise(SIGBUS);
}

static void the_file_is_named(void **state)
{
    static const char content[PAGES * PAGE] = {7};
    char *dir = make_temp_dir(), *path = xasprintf("%s/a file", dir);
    char *line =
        xasprintf("trainc: error: cannot read '%s', which is mapped into memory", path);

    (void)state;
    make_file(dir, "a file", content, sizeof(content));
    check_leaves(cut_under_us, path, 1, line);
    check_leaves(sent_by_another, NULL, CHILD_SIGNAL + SIGBUS, "");
    free(line);
    free(path);
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
