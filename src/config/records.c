#include "config/records.h"

#include <stddef.h>

#include "config/choice_tables.h"

/* .type and .offset both come from the member, so the row and the struct cannot differ. */
#define FIELD(KEY, s, f, ...)                                                              \
    {                                                                                      \
        .key = KEY, .offset = offsetof(s, f),                                            \
        .type = _Generic(((s *)0)->f,                                                    \
                         bool: SCHEMA_BOOL,                                              \
                         int: SCHEMA_CHOICE,                                             \
                         int64_t: SCHEMA_INT,                                            \
                         double: SCHEMA_FLOAT,                                           \
                         const char *: SCHEMA_STR,                                       \
                         struct float_opt: SCHEMA_FLOAT_OPT,                             \
                         struct float_list: SCHEMA_FLOAT_LIST,                           \
                         struct str_list: SCHEMA_STR_LIST),                              \
        __VA_ARGS__ \
    }
#define HOOK(KEY, f, ...) FIELD(KEY, struct config_hook, f, __VA_ARGS__)
#define RANGE(a, b)       .min = (a), .max = (b)
#define ABOVE(a, b)       .min = (a), .max = (b), .above = true
#define NO_LIMIT          1e18

const struct schema record_hook[] = {
    HOOK("at", at, .required = true, .choices = choices_hook_moments, .help = "when"),
    HOOK("run", run, .required = true,
         .help = "the command, in words as a shell has them: quotes, and nothing that is "
                 "expanded"),
    HOOK("shell", shell, .def = "False", .help = "/bin/sh -c reads the command"),
    HOOK("timeout", timeout, .def = "60", ABOVE(0, 1e9),
         .help = "seconds after which it is killed"),
    HOOK("every", every, .def = "1", RANGE(1, NO_LIMIT),
         .help = "at step and epoch: each so many of them"),
    HOOK("wait", wait, .def = "True",
         .help = "the run waits for its end; False: it goes on beside it"),
    {0},
};
