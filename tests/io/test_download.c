/* Checks URLs and who receives the token. The rest needs a server:
 * tests/e2e/download.sh. */
#include "io/download.h"

#include "tests/test.h"

static void test_addresses(void **state)
{
    static const struct {
        const char *url;
        bool good, plain; /* plain: valid if http:// is allowed */
    } row[] = {
        {"https://host", true, true},
        {"HTTPS://host/a?b#c", true, true},
        {"https://host:8443/a@b", true, true},
        {"http://host/a", false, true},
        {"https://", false, false},
        {"https:///a", false, false},
        {"https://:80/a", false, false},
        {"https://user@host/a", false, false},
        {"https://user:word@host", false, false},
        {"https://host/a b", false, false},
        {"https://host/\n", false, false},
        {"https://h\xc3\xb6st/", false, false},
        {"ftp://host/a", false, false},
        {"file:///etc/passwd", false, false},
        {"httpsx://host", false, false},
        {"//host/a", false, false},
        {"", false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        assert_int_equal(download_url_is_good(row[i].url, false), row[i].good);
        assert_int_equal(download_url_is_good(row[i].url, true), row[i].plain);
    }
}

static void test_origins(void **state)
{
    static const struct {
        const char *source, *dst;
        bool same;
    } row[] = {
        {"https://host/a", "https://host/b?c", true},
        {"https://host", "HTTPS://HOST/", true},
        {"http://host:80/a", "http://host:80", true},
        {"https://host/a", "http://host/a", false},
        {"https://host/a", "https://host:8443/a", false},
        {"https://host/a", "https://host.evil/a", false},
        {"https://host/a", "https://hos/a", false},
        {"https://host/a", "https://host@evil/a", false},
        {"https://host/a", "https://host\\.evil/a", false},
        {"https://host/a", "https://evil/https://host/a", false},
        {"https://host/a", "https://evil#https://host/a", false},
        {"host", "host", false},
        {"", "", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        assert_int_equal(download_same_origin(row[i].source, row[i].dst), row[i].same);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_origins),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
