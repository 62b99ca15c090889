#include "ops/init.h"

#include <math.h>

#include "base/error.h"

static struct init normal(double variance)
{
    return (struct init){INIT_NORMAL, (float)sqrt(variance)};
}

static struct init uniform(double bound_squared)
{
    return (struct init){INIT_UNIFORM, (float)sqrt(bound_squared)};
}

struct init init_rule_init(enum init_rule rule, int64_t fan_in, int64_t fan_out)
{
    double in = (double)fan_in, out = (double)fan_out;

    switch (rule) {
    case INIT_RULE_KAIMING_NORMAL:
    case INIT_RULE_KAIMING_GROUPS: /* the caller's fan_out is of a group */
        return normal(2 / out);
    case INIT_RULE_KAIMING_UNIFORM:
        return uniform(6 / out);
    case INIT_RULE_KAIMING_FAN_IN:
        return normal(2 / in);
    case INIT_RULE_KAIMING_UNIFORM_IN:
        return uniform(6 / in);
    case INIT_RULE_XAVIER_NORMAL:
        return normal(2 / (in + out));
    case INIT_RULE_XAVIER_UNIFORM:
        return uniform(6 / (in + out));
    case INIT_RULE_PYTORCH:
        return uniform(1 / in);
    case INIT_RULE_UNIFORM_OUT:
        return uniform(1 / out);
    case INIT_RULE_TRUNC_NORMAL_02:
        return (struct init){INIT_TRUNC_NORMAL, 0.02f};
    case INIT_RULE_NORMAL_01:
        return normal(0.01 * 0.01);
    case INIT_RULE_NORMAL_1:
        return normal(0.1 * 0.1);
    case INIT_RULE_NORMAL_001:
        return normal(0.001 * 0.001);
    case INIT_RULE_NORMAL_TINY:
        return normal(1e-6 * 1e-6);
    case INIT_RULE_LECUN_NORMAL:
        return normal(1 / in);
    case INIT_RULE_ONE:
        return (struct init){INIT_CONSTANT, 1};
    case INIT_RULE_ZERO:
        return (struct init){INIT_ZERO, 0};
    case INIT_RULE_DEFAULT:
    case INIT_RULE_COUNT:
        break;
    }
    BUG("no such initialization rule: %d", (int)rule);
}
