/* Buffers are reused: once they fit the images, an epoch allocates nothing with
 * base/alloc.h, in any storage. This file replaces those functions; allocations of
 * libraries are not counted. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pack/format.h"
#include "tests/dataset/loader_run.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

static _Atomic int allocations; /* of all threads */

void *xmalloc(size_t size)
{
    allocations++;
    return malloc(size ? size : 1);
}

void *xcalloc(size_t count, size_t size)
{
    allocations++;
    return calloc(count ? count : 1, size ? size : 1);
}

void *xrealloc(void *p, size_t size)
{
    allocations++;
    return realloc(p, size ? size : 1);
}

/* Returns the number of allocations when an epoch is run for the third time. */
static int count(const char *storage, const char *dir)
{
    struct dataset_source s = pack_source(dir, false);
    struct loader_options o = training_options(0);
    struct dataset *d = dataset_open(storage, &s);
    struct loader *l = loader_open(d, &o);
    uint64_t hash[IMAGES];
    int n;

    (void)run_epoch(l, 0, 0, hash);
    (void)run_epoch(l, 0, 0, hash);
    allocations = 0;
    assert_true(run_epoch(l, 0, 0, hash) > 0);
    n = allocations;
    loader_close(l);
    dataset_close(d);
    return n;
}

static void nothing_is_allocated_per_image(void **state)
{
    char *src = make_classes();
    struct dataset_source s = pack_source(src, false);

    (void)state;
    assert_true(count("folder", src) == 0);
    for (int i = 0; pack_table[i]; i++) {
        char *dir = make_temp_dir();
        struct dataset *d = dataset_open("folder", &s);
        int n;

        pack_to(pack_table[i]->name, d, dir, 0, NULL);
        dataset_close(d);
        n = count(pack_table[i]->name, dir);
        if (n)
            fail_msg("%s: %d allocations in an epoch", pack_table[i]->name, n);
        remove_temp_dir(dir);
    }
    remove_temp_dir(src);
}

/* The counter works: the first epoch allocates. */
static void the_first_epoch_allocates(void **state)
{
    char *src = make_classes();
    struct dataset_source s = pack_source(src, false);
    struct loader_options o = training_options(0);
    struct dataset *d = dataset_open("folder", &s);
    struct loader *l = loader_open(d, &o);
    uint64_t hash[IMAGES];

    (void)state;
    allocations = 0;
    (void)run_epoch(l, 0, 0, hash);
    assert_true(allocations > 3);
    loader_close(l);
    dataset_close(d);
    remove_temp_dir(src);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allocated_per_image),
        cmocka_unit_test(the_first_epoch_allocates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
