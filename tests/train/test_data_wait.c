/* Log messages about an epoch that waited for data. */
#include <string.h>

#include "tests/test.h"
#include "train/data_wait.h"

static void what_is_said(void **state)
{
    static const struct {
        struct data_wait w;
        const char *want; /* NULL if there is no message */
    } rows[] = {
        {{.seconds = 100, .waited = 9, .stages = {{1, 2, 3, 4}}}, NULL},
        {{.seconds = 5, .waited = 0.9, .stages = {{1, 2, 3, 4}}}, NULL},
        {{.seconds = 0, .waited = 0}, NULL},
        {{.seconds = 40,
          .waited = 10,
          .stages = {{1, 7, 2, 0}},
          .workers = 2,
          .cores = 2},
         "waited 10.0 s for data, 25 % of the time; loader time: decode 70 %, resize 20 "
         "%, read 10 %, augment 0 %, copy 0 %; possible remedies: DATA.CACHE decoded "
         "keeps images near the input's size, and trainc pack --size N makes images "
         "smaller"},
        {{.seconds = 39, .waited = 4, .stages = {{6, 1, 1, 2}}, .workers = 2, .cores = 8},
         "waited 4.0 s for data, 10 % of the time; loader time: read 60 %, augment 20 %, "
         "decode 10 %, resize 10 %, copy 0 %; possible remedies: DATA.NUM_WORKERS 8 (now "
         "2), DATA.CACHE encoded keeps files in memory, and trainc pack combines many "
         "files into a few large ones"},
        {{.seconds = 2,
          .waited = 2,
          .stages = {{0, 1, 0, 0}},
          .holds_files = true,
          .holds_images = true},
         "waited 2.0 s for data, 100 % of the time; loader time: decode 100 %, read 0 %, "
         "resize 0 %, augment 0 %, copy 0 %; possible remedies: trainc pack --size N "
         "makes images smaller"},
        {{.seconds = 2, .waited = 2, .stages = {{1, 0, 0, 0}}, .holds_files = true},
         "waited 2.0 s for data, 100 % of the time; loader time: read 100 %, decode 0 %, "
         "resize 0 %, augment 0 %, copy 0 %; possible remedies: trainc pack combines "
         "many files into a few large ones"},
        {{.seconds = 4, .waited = 4, .stages = {{0, 0, 0, 1}}, .workers = 8, .cores = 2},
         "waited 4.0 s for data, 100 % of the time; loader time: augment 100 %, read 0 "
         "%, decode 0 %, resize 0 %, copy 0 %; possible remedies: AUG.AUTO_AUGMENT and "
         "AUG.COLOR_JITTER take the most time"},
        {{.seconds = 4,
          .waited = 4,
          .stages = {{0, 1, 0, 0, 3}},
          .workers = 2,
          .cores = 2},
         "waited 4.0 s for data, 100 % of the time; loader time: copy 75 %, decode 25 %, "
         "read 0 %, resize 0 %, augment 0 %; possible remedies: DATA.PIN_MEMORY True and "
         "smaller images speed up copies"},
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        struct strbuf s = STRBUF_INIT;

        data_wait_add(&s, &rows[r].w);
        if (rows[r].want)
            assert_string_equal(s.buf, rows[r].want);
        else
            assert_int_equal(s.len, 0);
        strbuf_release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
