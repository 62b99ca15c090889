/* base: paths, atomic file writes, and folders. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/file.h"
#include "base/file_name.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "tests/test.h"

static char dir[] = "/tmp/trainc-test-XXXXXX";

static void test_paths(void **state)
{
    static const struct {
        const char *path, *dirname, *base, *extension;
    } row[] = {
        {"a.jpg", ".", "a.jpg", ".jpg"},
        {"x/a.tar.gz", "x", "a.tar.gz", ".gz"},
        {"/a", "/", "a", ""},
        {"/x/y", "/x", "y", ""},
        {"x.d/file", "x.d", "file", ""},
        {".hidden", ".", ".hidden", ""},
        {"x/.hidden.c", "x", ".hidden.c", ".c"},
        {"x/", "x", "", ""},
        {"", ".", "", ""},
        {"a.", ".", "a.", "."},
    };
    static const char *const join[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"},
        {"a", "/b", "/b"}, {"/", "b", "/b"},   {".", "b", "./b"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        char *dirname = path_dirname(row[i].path);

        assert_string_equal(dirname, row[i].dirname);
        assert_string_equal(path_basename(row[i].path), row[i].base);
        assert_string_equal(path_extension(row[i].path), row[i].extension);
        free(dirname);
    }
    for (size_t i = 0; i < sizeof(join) / sizeof(join[0]); i++) {
        char *path = path_join(join[i][0], join[i][1]);

        assert_string_equal(path, join[i][2]);
        free(path);
    }
}

static void test_files(void **state)
{
    char *path = path_join(dir, "f"), *tmp = xasprintf("%s.tmp", path), *text;
    size_t len = 7, big = 300000;
    char *data = xmalloc(big);

    (void)state;
    assert_null(file_read(path, &len));
    assert_int_equal(errno, ENOENT);
    assert_null(file_read(dir, NULL));
    assert_int_equal(errno, EISDIR);
    assert_false(file_exists(path));
    assert_int_equal(atomic_write_file(path, "", 0), 0);
    text = file_read(path, &len);
    assert_string_equal(text, "");
    assert_int_equal(len, 0);
    free(text);
    for (size_t i = 0; i < big; i++)
        data[i] = (char)(i * 31 + i / 997);
    assert_int_equal(atomic_write_file(path, data, big), 0);
    text = file_read(path, &len);
    assert_int_equal(len, big);
    assert_memory_equal(text, data, big);
    assert_int_equal(text[big], 0);
    free(text);
    assert_true(file_exists(path) && file_exists(dir));
    assert_true(file_is_dir(dir) && !file_is_dir(path));
    assert_false(file_exists(tmp));
    assert_int_equal(file_fsync_dir_of(path), 0);
    (void)unlink(path);
    text = file_read("/proc/self/stat", &len); /* its size is reported as 0 */
    assert_true(text && len > 20 && strlen(text) == len);
    free(text);
    free(data);
    free(path);
    free(tmp);
}

/* Writing to a pipe keeps the pipe; writing through a link keeps the link if its target
 * exists. */
static void test_write_special(void **state)
{
    char *pipe = path_join(dir, "pipe"), *link = path_join(dir, "link"),
         *file = path_join(dir, "linked"), *text, got[8] = "";
    struct stat st;
    int fd;

    (void)state;
    assert_int_equal(mkfifo(pipe, 0666), 0);
    fd = open(pipe, O_RDONLY | O_NONBLOCK);
    assert_true(fd >= 0);
    assert_null(file_not_writable(pipe));
    assert_int_equal(atomic_write_out(pipe, "abc", 3), 0);
    assert_int_equal(read(fd, got, sizeof(got)), 3);
    assert_memory_equal(got, "abc", 3);
    assert_int_equal(close(fd), 0);
    assert_true(!lstat(pipe, &st) && S_ISFIFO(st.st_mode));
    assert_int_equal(unlink(pipe), 0);

    assert_int_equal(symlink("linked", link), 0);
    for (int i = 0; i < 2; i++) { /* a dangling link; a link to a file */
        if (i)
            assert_int_equal(atomic_write_file(file, "old", 3), 0);
        assert_int_equal(atomic_write_file(link, "new", 3), 0);
        text = file_read(i ? file : link, NULL);
        assert_string_equal(text, "new");
        free(text);
        assert_true(!lstat(link, &st) && S_ISLNK(st.st_mode) == i);
        (void)unlink(i ? file : link);
        if (!i)
            assert_int_equal(symlink("linked", link), 0);
    }
    assert_int_equal(unlink(link), 0);
    assert_string_equal(file_not_writable(dir), "that is a folder");
    assert_null(file_not_writable("-"));
    assert_null(file_not_writable(file));
    free(pipe);
    free(link);
    free(file);
}

/* A name in a data set may refer to an endless device or a pipe without a writer: neither
 * is read, opened, or waited for. */
static void test_not_regular(void **state)
{
    char *pipe = path_join(dir, "pipe"), *link = path_join(dir, "link");
    const char *names[] = {pipe, link, dir, "/dev/zero"};

    (void)state;
    assert_int_equal(mkfifo(pipe, 0666), 0);
    assert_int_equal(symlink("/dev/zero", link), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        errno = 0;
        assert_null(file_read(names[i], NULL));
        assert_int_equal(errno, i == 2 ? EISDIR : FILE_NOT_REGULAR);
        assert_null(file_read_limit(names[i], 100, NULL));
        assert_null(file_open(names[i]));
    }
    assert_string_equal(file_strerror(FILE_NOT_REGULAR), "it is not a regular file");
    assert_null(file_read_stream(link, 100, NULL)); /* also bounded */
    assert_int_equal(errno, EFBIG);
    assert_int_equal(unlink(pipe), 0);
    assert_int_equal(unlink(link), 0);
    free(pipe);
    free(link);
}

/* A file that another program created in place of the temporary file is not written. */
static void test_planted(void **state)
{
    char *path = path_join(dir, "file"), *tmp = xasprintf("%s.tmp", path);
    char *victim = path_join(dir, "victim"), *text;
    struct stat st;

    (void)state;
    assert_int_equal(atomic_write_file(victim, "precious", 8), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(i == 0   ? symlink("victim", tmp)
                         : i == 1 ? link(victim, tmp)
                                  : mkfifo(tmp, 0666),
                         0);
        assert_int_equal(atomic_write_file(path, "new", 3), 0);
        assert_true(!lstat(path, &st) && S_ISREG(st.st_mode));
        text = file_read(path, NULL);
        assert_string_equal(text, "new");
        free(text);
        text = file_read(victim, NULL);
        assert_string_equal(text, "precious");
        free(text);
        assert_false(file_exists(tmp));
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(unlink(victim), 0);
    free(path);
    free(tmp);
    free(victim);
}

/* A failed write keeps the old file and reports the reason. */
static void test_write_fails(void **state)
{
    char *path = path_join(dir, "d"), *file = path_join(path, "f"),
         *tmp = xasprintf("%s.tmp", path);

    (void)state;
    assert_int_equal(atomic_write_file(file, "x", 1), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(atomic_write_file(path, "x", 1), -1); /* over a directory */
    assert_int_equal(errno, EISDIR);
    assert_false(file_exists(tmp));
    assert_true(file_is_dir(path));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(atomic_write_file(path, "x", 1), 0); /* below a file */
    assert_string_equal(file_not_writable(file), "Not a directory");
    assert_int_equal(unlink(path), 0);
    free(path);
    free(file);
    free(tmp);
}

static void test_directories(void **state)
{
    char *deep = path_join(dir, "a/b//c/"), *a = path_join(dir, "a"), *name;
    static const char *const order[] = {"B", "a", "b", "class10", "class2"};
    char **names;
    int n;

    (void)state;
    assert_int_equal(dir_make_all(deep), 0);
    assert_true(file_is_dir(deep));
    assert_int_equal(dir_make_all(deep), 0); /* again */
    for (int i = 4; i >= 0; i--) {
        name = path_join(a, order[i]);
        if (i != 2)
            assert_int_equal(atomic_write_file(name, "", 0), 0);
        free(name);
    }
    names = dir_list(a, &n);
    assert_int_equal(n, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(names[i], order[i]);
    dir_list_free(names, n);
    name = path_join(a, "B/x");
    assert_int_equal(dir_make_all(name), -1); /* through a file */
    assert_int_equal(errno, ENOTDIR);
    free(name);
    name = path_join(a, "B");
    assert_int_equal(dir_make_all(name), -1); /* onto a file */
    assert_int_equal(errno, ENOTDIR);
    free(name);
    names = dir_list("/nonexistent", &n);
    assert_true(n < 0);
    dir_list_free(names, n);
    free(deep);
    free(a);
}

/* Several processes may write one file: it is always complete, and no temporary files
 * remain. */
static void test_write_shared(void **state)
{
    enum { WRITERS = 4, ROUNDS = 50, LEN = 30000 };
    char *path = path_join(dir, "shared"), *text;
    char **name;
    int n, status, failed = 0, temporary = 0;
    size_t len;

    (void)state;
    for (int i = 0; i < WRITERS; i++)
        if (fork() == 0) {
            char content[LEN];

            memset(content, 'a' + i, LEN);
            for (int k = 0; k < ROUNDS; k++)
                if (atomic_write_shared(path, content, LEN))
                    _exit(1);
            _exit(0);
        }
    for (int i = 0; i < WRITERS; i++) {
        assert_true(wait(&status) > 0);
        failed += status != 0;
    }
    assert_int_equal(failed, 0);
    text = file_read(path, &len);
    assert_int_equal(len, LEN);
    for (int i = 1; i < LEN; i++)
        assert_int_equal(text[i], text[0]);
    name = dir_list(dir, &n);
    for (int i = 0; i < n; i++)
        temporary += !strncmp(name[i], "shared.", 7);
    assert_int_equal(temporary, 0);
    dir_list_free(name, n);
    free(text);
    (void)unlink(path);
    free(path);
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    static const char *const path[] = {"a/B",   "a/a", "a/class10", "a/class2",
                                       "a/b/c", "a/b", "a"};

    (void)state;
    for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
        char *full = path_join(dir, path[i]);

        (void)remove(full);
        free(full);
    }
    return rmdir(dir);
}

static void test_name_of_text(void **state)
{
    static const char *const row[][2] = {
        {"", "_"},
        {".", "_"},
        {"..", "_."},
        {"../../etc", "_._.._etc"},
        {"/a", "_a"},
        {"a\n\x1b[2J\xe2\x80\xae\xff", "a??[2J??"},
        {"a cat.jpg", "a cat.jpg"},
    };
    char text[400], *name;

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        name = file_name_clean(row[i][0]);
        assert_string_equal(name, row[i][1]);
        free(name);
    }
    for (int i = 0; i < 240; i++) /* characters of two bytes, from an odd place */
        text[i] = i % 2 ? '\xc3' : '\xa9';
    text[0] = 'x';
    memcpy(text + 241 - (241 % 2), ".jpeg", 6);
    name = file_name_clean(text);
    assert_in_range(strlen(name), 198, 200);
    assert_string_equal(name + strlen(name) - 5, ".jpeg");
    assert_true(utf8_valid(name));
    free(name);
    memset(text, 'y', 300);
    text[300] = '\0';
    text[100] = '.'; /* no extension */
    name = file_name_clean(text);
    assert_int_equal(strlen(name), 200);
    free(name);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_paths),        cmocka_unit_test(test_files),
        cmocka_unit_test(test_planted),      cmocka_unit_test(test_write_fails),
        cmocka_unit_test(test_name_of_text), cmocka_unit_test(test_write_special),
        cmocka_unit_test(test_directories),  cmocka_unit_test(test_write_shared),
        cmocka_unit_test(test_not_regular),
    };

    return cmocka_run_group_tests(test, setup, teardown);
}
