/* io/safetensors: round trip, Python's files, and every kind of invalid file. */
#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "io/safetensors.h"
#include "tests/test.h"

static char dir[] = "/tmp/trainc-test-XXXXXX";
static char *file; /* written by most tests */

static const float f32[6] = {0, 0.25f, 0.5f, 0.75f, 1, 1.25f};
static const uint16_t bf16[3] = {0x3f80, 0x4000, 0xff80};
static const int64_t i64[2] = {INT64_MIN, INT64_MAX};
static const uint8_t u8[5] = {0, 1, 2, 3, 4};
static const double scalar = 0.1;
static const int64_t dim_23[] = {2, 3}, dim_3[] = {3}, dim_2[] = {2}, dim_5[] = {5},
                     dim_03[] = {0, 3};

/* A source that returns u8 and counts its calls. */
static const void *counted(const struct safetensors_tensor *t, void *arg)
{
    assert_string_equal(t->name, "u8");
    ++*(int *)arg;
    return u8;
}

static void write_sample(const char *path)
{
    struct safetensors_writer w = {0};
    struct strbuf why = STRBUF_INIT;
    int calls = 0;

    safetensors_writer_meta(&w, "epoch", "12");
    safetensors_writer_meta(&w, "note", "caf\xc3\xa9 \"x\"\n");
    safetensors_writer_add(&w, "f32", SAFETENSORS_F32, 2, dim_23, f32);
    safetensors_writer_add(&w, "bf16", SAFETENSORS_BF16, 1, dim_3, bf16);
    safetensors_writer_add(&w, "i64", SAFETENSORS_I64, 1, dim_2, i64);
    safetensors_writer_add_source(&w, "u8", SAFETENSORS_U8, 1, dim_5, counted, &calls);
    safetensors_writer_add(&w, "scalar", SAFETENSORS_F64, 0, NULL, &scalar);
    safetensors_writer_add(&w, "empty", SAFETENSORS_F32, 2, dim_03, NULL);
    if (safetensors_writer_commit(&w, path, &why))
        fail_msg("%s", why.buf);
    assert_int_equal(calls, 1);
    safetensors_writer_release(&w);
    strbuf_release(&why);
}

static void check_tensor(const struct safetensors *s, const char *name,
                         enum safetensors_dtype dtype, int ndim, const int64_t *dims,
                         const void *want, size_t size)
{
    const struct safetensors_tensor *t = safetensors_find(s, name);
    struct strbuf why = STRBUF_INIT;
    char got[64];

    assert_non_null(t);
    assert_string_equal(t->name, name);
    assert_int_equal(t->dtype, dtype);
    assert_int_equal(t->ndim, ndim);
    for (int i = 0; i < ndim; i++)
        assert_int_equal(t->dims[i], dims[i]);
    assert_int_equal(t->size, size);
    assert_int_equal(safetensors_read(s, t, got, &why), 0);
    if (size)
        assert_memory_equal(got, want, size);
    strbuf_release(&why);
}

static void test_round_trip(void **state)
{
    struct safetensors s;
    struct strbuf why = STRBUF_INIT;

    (void)state;
    write_sample(file);
    assert_int_equal(safetensors_open(&s, file, &why), 0);
    assert_int_equal(safetensors_verify(&s, &why), 0);
    assert_int_equal(s.n, 6);
    assert_int_equal((8 + s.header_size) % 64, 0);
    assert_string_equal(safetensors_meta(&s, "epoch"), "12");
    assert_string_equal(safetensors_meta(&s, "note"), "caf\xc3\xa9 \"x\"\n");
    assert_null(safetensors_meta(&s, "f32"));
    assert_null(safetensors_find(&s, "epoch"));
    assert_string_equal(s.tensor[0].name, "f32"); /* data in insertion order */
    check_tensor(&s, "f32", SAFETENSORS_F32, 2, dim_23, f32, sizeof(f32));
    check_tensor(&s, "bf16", SAFETENSORS_BF16, 1, dim_3, bf16, sizeof(bf16));
    check_tensor(&s, "i64", SAFETENSORS_I64, 1, dim_2, i64, sizeof(i64));
    check_tensor(&s, "u8", SAFETENSORS_U8, 1, dim_5, u8, sizeof(u8));
    check_tensor(&s, "scalar", SAFETENSORS_F64, 0, NULL, &scalar, sizeof(scalar));
    check_tensor(&s, "empty", SAFETENSORS_F32, 2, dim_03, NULL, 0);
    safetensors_close(&s);
    strbuf_release(&why);
    if (getenv("KEEP"))
        write_sample(getenv("KEEP"));
}

static void test_python(void **state)
{
    static const uint16_t f16[3] = {0x3e00, 0xc000, 0x7bff};
    struct safetensors s;
    struct strbuf why = STRBUF_INIT;

    (void)state;
    assert_int_equal(safetensors_open(&s, "tests/golden/io/python.safetensors", &why), 0);
    assert_int_equal(s.n, 6);
    assert_string_equal(safetensors_meta(&s, "note"), "caf\xc3\xa9 \"x\"");
    check_tensor(&s, "f32", SAFETENSORS_F32, 2, dim_23, f32, sizeof(f32));
    check_tensor(&s, "f16", SAFETENSORS_F16, 1, dim_3, f16, sizeof(f16));
    check_tensor(&s, "i64", SAFETENSORS_I64, 1, dim_2, i64, sizeof(i64));
    check_tensor(&s, "u8", SAFETENSORS_U8, 1, dim_5, u8, sizeof(u8));
    check_tensor(&s, "scalar", SAFETENSORS_F64, 0, NULL, &scalar, sizeof(scalar));
    check_tensor(&s, "empty", SAFETENSORS_F32, 2, dim_03, NULL, 0);
    assert_int_equal(safetensors_verify(&s, &why), -1);
    assert_non_null(strstr(why.buf, "has no checksum"));
    safetensors_close(&s);
    strbuf_release(&why);
}

static void put_file(const void *data, size_t len)
{
    FILE *f = fopen(file, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static void put_byte(off_t pos, unsigned char byte)
{
    int fd = open(file, O_WRONLY);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &byte, 1, pos), 1);
    assert_int_equal(close(fd), 0);
}

/* Returns 0 if the file opens and its checksum matches. */
static int load(struct strbuf *why)
{
    struct safetensors s;
    int rc = safetensors_open(&s, file, why);

    if (!rc)
        rc = safetensors_verify(&s, why);
    safetensors_close(&s);
    return rc;
}

/* Every changed bit and every shorter or longer file is detected. */
static void test_damage(void **state)
{
    struct strbuf why = STRBUF_INIT;
    size_t len;
    char *good;

    (void)state;
    write_sample(file);
    good = file_read(file, &len);
    assert_non_null(good);
    for (size_t pos = 0; pos < len; pos++) {
        char bit = (char)(1 << pos % 7);

        good[pos] = (char)(good[pos] ^ bit);
        put_file(good, len);
        assert_int_equal(load(&why), -1);
        assert_ptr_equal(strstr(why.buf, file), why.buf + 1);
        strbuf_reset(&why);
        good[pos] = (char)(good[pos] ^ bit);
        put_file(good, pos);
        assert_int_equal(load(&why), -1);
    }
    good = xrealloc(good, len + 1);
    good[len] = 0;
    put_file(good, len + 1);
    assert_int_equal(load(&why), -1);
    put_file(good, len); /* the unchanged file is accepted */
    assert_int_equal(load(&why), 0);
    free(good);
    strbuf_release(&why);
}

/* Data longer than a read of verify, damaged near the boundaries. */
static void test_large(void **state)
{
    static const uint64_t place[] = {0, (1 << 20) - 1, 1 << 20, (2 << 20) - 1, 2 << 20};
    const int64_t dims[] = {(2 << 20) + 3};
    struct safetensors_writer w = {0};
    struct strbuf why = STRBUF_INIT;
    struct safetensors s;
    unsigned char *data = xcalloc(1, (size_t)dims[0]);
    uint64_t start;

    (void)state;
    for (int64_t i = 0; i < dims[0]; i++)
        data[i] = (unsigned char)(i * 7 + i / 251);
    safetensors_writer_add(&w, "x", SAFETENSORS_U8, 1, dims, data);
    assert_int_equal(safetensors_writer_commit(&w, file, &why), 0);
    assert_int_equal(load(&why), 0);
    assert_int_equal(safetensors_open(&s, file, &why), 0);
    start = 8 + s.header_size;
    for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++) {
        unsigned char wrong = (unsigned char)(data[place[i]] ^ 1);
        off_t pos = (off_t)(start + place[i]);

        assert_int_equal(pwrite(s.in.fd, &wrong, 1, pos), -1); /* opened for reading */
        put_byte(pos, wrong);
        assert_int_equal(safetensors_verify(&s, &why), -1);
        assert_non_null(strstr(why.buf, "damaged"));
        put_byte(pos, data[place[i]]);
        assert_int_equal(safetensors_verify(&s, &why), 0);
    }
    safetensors_close(&s);
    safetensors_writer_release(&w);
    strbuf_release(&why);
    free(data);
}

/* Writes a file with this header and `data_len` bytes of data. */
static void put_crafted(const char *header, uint64_t header_len, size_t data_len)
{
    struct strbuf s = STRBUF_INIT;

    strbuf_add(&s, &header_len, 8);
    strbuf_addstr(&s, header);
    for (size_t i = 0; i < data_len; i++)
        strbuf_addch(&s, 'x');
    put_file(s.buf, s.len);
    strbuf_release(&s);
}

#define F32(shape, begin, end)                                                           \
    "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

static const struct refused {
    const char *header;
    size_t data_len;
    const char *why; /* NULL: valid */
} refused_table[] = {
    {"{}", 0, NULL},
    {"{}   ", 0, NULL},
    {"{\"a\":" F32("[2]", "0", "8") "}", 8, NULL},
    {"{\"b\":" F32("[1]", "4", "8") ",\"a\":" F32("[1]", "0", "4") "}", 8, NULL},
    {"{\"a\":" F32("[0]", "0", "0") ",\"b\":" F32("[1]", "0", "4") "}", 4, NULL},
    {" {}", 0, "does not begin with '{'"},
    {"[]", 0, "does not begin with '{'"},
    {"{\"a\":", 0, "bad header"},
    {"{} {}", 0, "bad header"},
    {"{}", 1, "1 bytes of data, but the tensors have 0"},
    {"{\"a\":" F32("[1]", "0", "4") "}", 3, "cut off: tensor 'a' ends after the file"},
    {"{\"a\":" F32("[1]", "0", "4") "}", 5, "5 bytes of data"},
    {"{\"a\":" F32("[1]", "0", "4") ",\"a\":" F32("[1]", "0", "4") "}", 4, "duplicate"},
    {"{\"a\":" F32("[1]", "0", "4") ",\"b\":" F32("[1]", "0", "4") "}", 4, "overlaps"},
    {"{\"a\":" F32("[1]", "0", "4") ",\"b\":" F32("[1]", "2", "6") "}", 6, "overlaps"},
    {"{\"a\":" F32("[1]", "0", "4") ",\"b\":" F32("[1]", "5", "9") "}", 9, "hole"},
    {"{\"a\":" F32("[1]", "4", "8") "}", 8, "hole"},
    {"{\"a\":" F32("[1]", "8", "4") "}", 8, "bad data_offsets"},
    {"{\"a\":" F32("[1]", "-4", "0") "}", 8, "bad data_offsets"},
    {"{\"a\":" F32("[1]", "0.0", "4") "}", 4, "bad data_offsets"},
    {"{\"a\":" F32("[1]", "0", "9223372036854775807") "}", 4, "do not fit its shape"},
    {"{\"a\":" F32("[2]", "0", "4") "}", 4, "do not fit its shape"},
    {"{\"a\":" F32("[-1]", "0", "4") "}", 4, "no natural number"},
    {"{\"a\":" F32("[1.0]", "0", "4") "}", 4, "no natural number"},
    {"{\"a\":" F32("[\"1\"]", "0", "4") "}", 4, "no natural number"},
    {"{\"a\":" F32("1", "0", "4") "}", 4, "no shape"},
    {"{\"a\":" F32("[1,1,1,1,1,1,1,1,1]", "0", "4") "}", 4, "more than 8"},
    {"{\"a\":" F32("[4611686018427387904,4611686018427387904]", "0", "0") "}", 0,
     "overflows"},
    {"{\"a\":" F32("[4294967296,1073741824]", "0", "0") "}", 0, "overflows"},
    {"{\"a\":{\"dtype\":\"F4\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
     "unknown dtype"},
    {"{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "unknown dtype"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4,
     "bad data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4,
     "bad data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "does not have exactly"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4,
     "does not have exactly"},
    {"{\"a\":3}", 4, "does not have exactly"},
    {"{\"__metadata__\":3}", 0, "__metadata__ is no object"},
    {"{\"__metadata__\":{\"a\":3}}", 0, "__metadata__ 'a' is no string"},
    {"{\"__metadata__\":{\"a\":\"x\",\"a\":\"y\"}}", 0, "duplicate"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused_table) / sizeof(refused_table[0]); i++) {
        const struct refused *r = &refused_table[i];
        struct strbuf why = STRBUF_INIT;
        struct safetensors s;
        int rc;

        put_crafted(r->header, strlen(r->header), r->data_len);
        rc = safetensors_open(&s, file, &why);
        if (rc != (r->why ? -1 : 0) || (r->why && !strstr(why.buf, r->why)))
            fail_msg("%s: %d, '%s'", r->header, rc, why.buf);
        safetensors_close(&s);
        strbuf_release(&why);
    }
}

static void test_header_length(void **state)
{
    static const struct {
        uint64_t len;
        const char *why;
    } row[] = {
        {3, "cut off, or not a safetensors file: its header would be"},
        {99999999, "cut off, or not a safetensors file: its header would be"},
        {UINT64_MAX, "more than 100000000"},
        {0, "zeros where its header should be"},
    };
    struct safetensors s;
    struct strbuf why = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        put_crafted("{}", row[i].len, 0);
        assert_int_equal(safetensors_open(&s, file, &why), -1);
        if (!strstr(why.buf, row[i].why))
            fail_msg("%s", why.buf);
        safetensors_close(&s);
        strbuf_reset(&why);
    }
    assert_int_equal(safetensors_open(&s, "/nonexistent", &why), -1);
    assert_string_equal(why.buf,
                        "'/nonexistent': cannot open: No such file or directory");
    safetensors_close(&s);
    strbuf_reset(&why);
    assert_int_equal(safetensors_open(&s, dir, &why), -1);
    assert_non_null(strstr(why.buf, "not a file"));
    safetensors_close(&s);
    strbuf_release(&why);
}

/* A file that shrinks after opening gives an error and no signal. */
static void test_shrinks(void **state)
{
    struct strbuf why = STRBUF_INIT;
    struct safetensors s;
    double got;

    (void)state;
    write_sample(file);
    assert_int_equal(safetensors_open(&s, file, &why), 0);
    assert_int_equal(truncate(file, (off_t)(8 + s.header_size + 8)), 0);
    assert_int_equal(safetensors_read(&s, safetensors_find(&s, "scalar"), &got, &why),
                     -1);
    assert_non_null(strstr(why.buf, "the file ends at byte"));
    assert_int_equal(safetensors_verify(&s, &why), -1);
    safetensors_close(&s);
    strbuf_release(&why);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    file = path_join(dir, "x.safetensors");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(file);
    free(file);
    return rmdir(dir); /* fails if a .tmp remains */
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_python),
        cmocka_unit_test(test_damage),     cmocka_unit_test(test_large),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_header_length),
        cmocka_unit_test(test_shrinks),
    };

    return cmocka_run_group_tests(test, setup, teardown);
}
