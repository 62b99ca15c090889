/* Keys whose values are the names of rows, and the modules that have the tables. */
#include <stddef.h>

#include "cmd/cmd.h"
#include "session/model_config.h"

static names_of_key *const owners[] = {
    model_key_names,
};

bool cmd_key_names(const char *key, struct names *names)
{
    for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++)
        if (owners[i](key, names))
            return true;
    return false;
}
