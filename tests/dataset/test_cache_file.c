/* The cache file of decoded images: batches are the same with it, no matter who else uses
 * it and what has changed or is damaged; cached images are not decoded again. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/cache_file.h"
#include "tests/child.h"
#include "tests/dataset/loader_run.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/test.h"

enum { BYTES = 1 << 24, BATCHES = 5 };

/* Runs two epochs and hashes each batch. Returns the seconds of decoding. */
static double run(const char *dir, const char *cache, int64_t bytes, uint64_t *hash)
{
    struct dataset *d = open_folder(dir);
    struct loader_options o = training_options(2);
    struct loader *l;
    double decoded;

    o.transform.shrink_gap = 0;
    o.drop_last = false;
    o.cache_bytes = cache ? bytes : 0;
    o.cache_shared = cache != NULL;
    o.keep = (struct keep){.data = dir, .dir = cache};
    l = loader_open(d, &o);
    for (uint64_t e = 0; e < 2; e++)
        if (run_epoch(l, e, 0, hash + e * BATCHES) != BATCHES)
            abort();
    decoded = loader_stats(l).stages.seconds[STAGE_DECODE];
    loader_close(l);
    dataset_close(d);
    return decoded;
}

static void expect(const char *dir, const char *cache, int64_t bytes)
{
    uint64_t want[2 * BATCHES], got[2 * BATCHES];

    run(dir, NULL, 0, want);
    run(dir, cache, bytes, got);
    assert_memory_equal(got, want, sizeof(want));
}

/* Returns the path of the only cache file, for free(), or NULL. */
static char *file_in(const char *dir)
{
    int n;
    char **name = dir_list(dir, &n), *found = NULL;

    for (int i = 0; i < n; i++)
        if (strncmp(name[i], "cache-", 6) == 0) {
            assert_null(found);
            found = path_join(dir, name[i]);
        }
    dir_list_free(name, n);
    return found;
}

static void what_is_there_is_not_decoded(void **state)
{
    char *dir = make_images(), *cache = make_temp_dir();
    uint64_t hash[2 * BATCHES];

    (void)state;
    expect(dir, cache, BYTES);
    assert_true(run(dir, cache, BYTES, hash) == 0);
    expect(dir, cache, BYTES);
    remove_temp_dir(dir);
    remove_temp_dir(cache);
}

static void a_small_file_holds_some(void **state)
{
    char *dir = make_images(), *cache = make_temp_dir(), *path;
    uint64_t hash[2 * BATCHES];
    struct stat st;

    (void)state;
    expect(dir, cache, 30000);
    path = file_in(cache);
    assert_int_equal(stat(path, &st), 0);
    assert_in_range(st.st_size, 10000, 31000);
    assert_true(run(dir, cache, 30000, hash) > 0);
    expect(dir, cache, BYTES); /* the size that the file was created for */
    free(path);
    remove_temp_dir(dir);
    remove_temp_dir(cache);
}

/* A different image under the same name. */
static void a_changed_file_is_decoded(void **state)
{
    char *dir = make_images(), *cache = make_temp_dir();
    uint64_t before[2 * BATCHES], after[2 * BATCHES];
    struct dataset *d = open_folder(dir);
    struct strbuf name = STRBUF_INIT;

    (void)state;
    expect(dir, cache, BYTES);
    run(dir, NULL, 0, before);
    dataset_describe(d, 0, &name);
    make_image(dir, name.buf + strlen(dir) + 1, 50, 40, 99);
    run(dir, NULL, 0, after);
    assert_memory_not_equal(before, after, sizeof(after));
    for (int i = 0; i < 2; i++)
        expect(dir, cache, BYTES);
    dataset_close(d);
    strbuf_release(&name);
    remove_temp_dir(dir);
    remove_temp_dir(cache);
}

static void damage_does_no_harm(void **state)
{
    char *dir = make_images(), *cache = make_temp_dir(), *path;
    uint64_t want[2 * BATCHES], got[2 * BATCHES];
    struct stat st;

    (void)state;
    expect(dir, cache, BYTES);
    run(dir, NULL, 0, want);
    path = file_in(cache);
    assert_int_equal(stat(path, &st), 0);
    for (int64_t pos = 0; pos < 150000; pos += pos < 400 ? 13 : 4999) {
        int fd;

        if (pos >= 400) { /* a new file, in which all pixels are used */
            assert_int_equal(unlink(path), 0);
            run(dir, cache, BYTES, got);
        }
        fd = open(path, O_RDWR);
        assert_int_equal(pwrite(fd, "damage\xff\xff", 8, pos), 8);
        close(fd);
        run(dir, cache, BYTES, got);
        assert_memory_equal(got, want, sizeof(want));
    }
    assert_int_equal(truncate(path, 5000), 0);
    run(dir, cache, BYTES, got);
    assert_memory_equal(got, want, sizeof(want));
    free(path);
    remove_temp_dir(dir);
    remove_temp_dir(cache);
}

/* Several processes fill one file at once. */
static void processes_share_a_file(void **state)
{
    enum { PROCESSES = 4 };
    char *dir = make_images(), *cache = make_temp_dir();
    uint64_t want[2 * BATCHES], got[2 * BATCHES];
    pid_t child[PROCESSES];

    (void)state;
    run(dir, NULL, 0, want);
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            run(dir, cache, BYTES, got);
            _exit(memcmp(got, want, sizeof(want)) ? 1 : 0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;

        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
    assert_true(run(dir, cache, BYTES, got) == 0);
    assert_memory_equal(got, want, sizeof(want));
    remove_temp_dir(dir);
    remove_temp_dir(cache);
}

static void open_in_nowhere(void *dir)
{
    uint64_t hash[2 * BATCHES];

    (void)run(dir, "/proc/none", BYTES, hash);
}

static void without_a_folder_images_are_decoded(void **state)
{
    char *dir = make_images(), *text;
    int code;

    (void)state;
    text = child_run(open_in_nowhere, dir, &code);
    assert_int_equal(code, 0);
    assert_non_null(strstr(text, "DATA.CACHE mmap: cannot use '/proc/none/cache-"));
    free(text);
    remove_temp_dir(dir);
}

/* A link in place of the file, shipped with the data, that points to a user's file. */
static void a_link_is_not_followed(void **state)
{
    char *dir = make_temp_dir(), *link = path_join(dir, "link"),
         *user_file = path_join(dir, "own");
    struct strbuf why = STRBUF_INIT;
    struct stat st;

    (void)state;
    make_file(dir, "own", "", 0);
    assert_int_equal(symlink(user_file, link), 0);
    assert_null(cache_file_open(link, 4, 1 << 16, &why));
    assert_true(why.len > 0);
    assert_int_equal(stat(user_file, &st), 0);
    assert_int_equal(st.st_size, 0);
    strbuf_release(&why);
    free(link);
    free(user_file);
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            without_a_folder_images_are_decoded), /* first: children inherit no threads */
        cmocka_unit_test(processes_share_a_file),
        cmocka_unit_test(what_is_there_is_not_decoded),
        cmocka_unit_test(a_small_file_holds_some),
        cmocka_unit_test(a_changed_file_is_decoded),
        cmocka_unit_test(damage_does_no_harm),
        cmocka_unit_test(a_link_is_not_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
