#include "tests/config_init.h"

#include "config/cmdline.h"
#include "tests/test.h"

void config_init(struct config *cfg)
{
    struct cmdline line = {0};
    struct problems p = {0};

    assert_true(config_load(cfg, &line, &p));
    assert_int_equal(p.n, 0);
}
