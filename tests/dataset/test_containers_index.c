/* The index of where the samples of containers lie. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tests/dataset/golden_containers.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

static void expect_tar(const char *dir)
{
    struct dataset_source s = pack_source(dir, false);
    struct dataset *d = dataset_open("tar", &s);

    assert_int_equal(d->n, GOLDEN_N);
    for (int i = 0; i < GOLDEN_N; i++) {
        golden_expect_image(d, i);
        assert_int_equal(dataset_label(d, i), golden_label[i]);
    }
    dataset_close(d);
}

static void flip_byte(const char *dir, const char *name, int from_end)
{
    size_t len;
    char *path = path_join(dir, name), *data = file_read(path, &len);

    data[len - (size_t)from_end] ^= 1;
    make_file(dir, name, data, len);
    free(data);
    free(path);
}

/* It is used, made anew if it or a container changed, and not made of young files. */
static void an_index_is_kept_and_checked(void **state)
{
    char *dir = golden_copy("tar"), *index, *second;

    (void)state;
    expect_tar(dir);
    assert_null(index_in(dir)); /* files of this second may still change */
    make_old(dir, "train-00.tar", 100);
    make_old(dir, "train-01.tar", 100);
    expect_tar(dir);
    index = index_in(dir);
    assert_non_null(index);
    expect_tar(dir);
    for (int from_end = 1; from_end < 300; from_end += 37) {
        flip_byte(dir, index, from_end);
        expect_tar(dir); /* made anew, and so whole again */
    }
    make_old(dir, "train-00.tar", 90); /* as if it were written anew */
    remove_file(dir, index);
    expect_tar(dir);
    second = index_in(dir);
    assert_string_not_equal(index, second);
    free(index);
    free(second);
    remove_temp_dir(dir);
}

/* A second start reads the index, not the container: it does not see that a header is
 * gone, as long as the container's size and time say that nothing has changed. */
static void the_index_is_what_is_read(void **state)
{
    char *dir = golden_copy("tar"), *one = path_join(dir, "train-00.tar");
    struct timespec t[2];
    struct stat st;
    int fd;

    (void)state;
    make_old(dir, "train-00.tar", 100);
    make_old(dir, "train-01.tar", 100);
    expect_tar(dir);
    assert_int_equal(stat(one, &st), 0);
    fd = open(one, O_RDWR);
    assert_int_equal(pwrite(fd, "\0\0\0\0\0\0\0\0", 8, 0), 8);
    t[0] = t[1] = st.st_mtim;
    assert_int_equal(futimens(fd, t), 0);
    close(fd);
    expect_tar(dir);
    free(one);
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_is_kept_and_checked),
        cmocka_unit_test(the_index_is_what_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
