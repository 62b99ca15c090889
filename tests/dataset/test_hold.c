/* Files of samples in memory: repeated reads come from memory, samples that do not fit
 * from the storage, and limits still apply. */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "dataset/hold.h"
#include "dataset/table.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

enum { LIMIT = 1 << 20, EXTRA = 64 /* overhead per item, at most */ };

/* Reads all samples; returns the number of unreadable ones. */
static int read_all(const struct dataset *d, int64_t limit)
{
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    int bad = 0;

    for (int64_t i = 0; i < d->n; i++) {
        bad += dataset_read(d, i, limit, &bytes, &why) < 0;
        if (dataset_has_labels(d))
            bad += dataset_read_label(d, i, limit, &bytes, &why) < 0;
    }
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    return bad;
}

static void what_was_read_is_held(void **state)
{
    char *dir = make_label_maps();
    struct dataset_source s = pack_source(dir, true);
    struct dataset *d = dataset_open("list", &s);
    struct dataset_bytes a = {0}, b = {0}, map = {0};
    struct strbuf why = STRBUF_INIT;

    (void)state;
    d->hold = hold_new(d->n, 1 << 24);
    assert_int_equal(dataset_read(d, 0, LIMIT, &a, &why), 0);
    assert_int_equal(dataset_read_label(d, 0, LIMIT, &map, &why), 0);
    assert_true(a.cap > 0 && map.cap > 0);
    assert_int_equal(read_all(d, LIMIT), 0);
    assert_int_equal(hold_count(d->hold), d->n);
    remove_file(dir, "im/00.jpg");
    remove_file(dir, "lab/00.png");
    assert_int_equal(read_all(d, LIMIT), 0);
    assert_int_equal(dataset_read(d, 0, LIMIT, &b, &why), 0);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    assert_int_equal(dataset_read_label(d, 0, LIMIT, &b, &why), 0);
    assert_int_equal(map.len, b.len);
    assert_memory_equal(map.data, b.data, b.len);
    assert_int_equal(read_all(d, 10), 2 * d->n); /* the caller's limit still applies */
    dataset_bytes_release(&a);
    dataset_bytes_release(&b);
    dataset_bytes_release(&map);
    strbuf_release(&why);
    dataset_close(d);
    remove_temp_dir(dir);
}

static void what_has_no_room_is_read(void **state)
{
    char *dir = make_classes();
    struct dataset_source s = pack_source(dir, false);
    struct dataset *d = dataset_open("folder", &s);
    struct dataset_bytes a = {0};
    struct strbuf why = STRBUF_INIT;
    int64_t max;

    (void)state;
    assert_int_equal(dataset_read(d, 0, LIMIT, &a, &why), 0);
    max = (int64_t)a.len + EXTRA;
    d->hold = hold_new(d->n, max);
    for (int i = 0; i < 3; i++)
        assert_int_equal(read_all(d, LIMIT), 0);
    assert_int_equal(hold_count(d->hold), 1);
    assert_in_range(hold_used(d->hold), a.len, max);
    remove_file(dir, "train/class0/00.jpg"); /* in memory */
    remove_file(dir, "train/class0/03.jpg");
    assert_int_equal(read_all(d, LIMIT), 1);
    dataset_bytes_release(&a);
    strbuf_release(&why);
    dataset_close(d);
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_read_is_held),
        cmocka_unit_test(what_has_no_room_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
