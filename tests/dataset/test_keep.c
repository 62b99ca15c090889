/* Where trainc stores what it computes about data: not in the data folder unless
 * configured, but files that are already there are used. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/keep.h"
#include "dataset/table.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/test.h"

static int count_files(const char *dir)
{
    int n = 0;
    char **name = dir_list(dir, &n);

    dir_list_free(name, n);
    return n;
}

static void names_tell_data_sets_apart(void **state)
{
    char *a = make_temp_dir(), *b = make_temp_dir(), *link = path_join(b, "link");
    struct keep_paths p[4];

    (void)state;
    assert_int_equal(symlink(a, link), 0);
    p[0] = keep_paths(&(struct keep){a, "/x"}, "index", 7, ".txt");
    p[1] = keep_paths(&(struct keep){link, "/x"}, "index", 7, ".txt");
    p[2] = keep_paths(&(struct keep){b, "/x"}, "index", 7, ".txt");
    p[3] = keep_paths(&(struct keep){a, "/x"}, "index", 8, ".txt");
    assert_non_null(strstr(p[0].user, "/x/index-"));
    assert_non_null(strstr(p[0].user, "-0000000000000007.txt"));
    assert_string_equal(p[0].user, p[1].user);
    assert_string_not_equal(p[0].user, p[2].user);
    assert_string_not_equal(p[0].user, p[3].user);
    for (int i = 0; i < 4; i++)
        keep_paths_release(&p[i]);
    free(link);
    remove_temp_dir(a);
    remove_temp_dir(b);
}

static void next_to_the_data_if_asked(void **state)
{
    char *dir = make_temp_dir();
    struct keep_paths p = keep_paths(&(struct keep){dir, dir}, "index", 7, "");
    struct keep_paths none = keep_paths(&(struct keep){dir, ""}, "index", 7, "");

    (void)state;
    assert_null(p.data);
    assert_non_null(strstr(p.user, "/.trainc-index-0000000000000007"));
    assert_null(none.user);
    assert_string_equal(none.data, p.user);
    keep_write(&none, "x", 1);
    assert_int_equal(count_files(dir), 0);
    keep_write(&p, "x", 1);
    assert_int_equal(count_files(dir), 1);
    keep_paths_release(&p);
    keep_paths_release(&none);
    remove_temp_dir(dir);
}

static void open_data(const char *dir, const char *keep)
{
    struct dataset_source s = {.path = dir, .split = "train", .keep = keep};

    dataset_close(dataset_open("folder", &s));
}

/* An index in the data folder is used, and no second one is written. */
static void an_old_index_is_found(void **state)
{
    char *dir = make_temp_dir(), *keep = make_temp_dir(), *index;

    (void)state;
    make_file(dir, "train/a/1.jpg", "1", 1);
    make_old(dir, "train/a", 100);
    make_old(dir, "train", 100);
    open_data(dir, dir);
    index = index_in(dir);
    assert_non_null(index);
    open_data(dir, keep);
    assert_int_equal(count_files(keep), 0);
    make_file(dir, index, "damaged", 7);
    open_data(dir, keep);
    assert_int_equal(count_files(keep), 1);
    free(index);
    remove_temp_dir(dir);
    remove_temp_dir(keep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_data_sets_apart),
        cmocka_unit_test(next_to_the_data_if_asked),
        cmocka_unit_test(an_old_index_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
