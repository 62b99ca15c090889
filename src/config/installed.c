/* PREFIX is found from the program's own path, PREFIX/bin/trainc, with symbolic links
 * resolved. */
#include "config/installed.h"

#include <stdlib.h>

#include "base/file.h"

char *installed_config(const char *name)
{
    char *program, *bin, *prefix, *share, *path;

    if (*name == '/' || file_exists(name))
        return NULL;
    program = realpath("/proc/self/exe", NULL);
    if (!program)
        return NULL;
    bin = path_dirname(program);
    prefix = path_dirname(bin);
    share = path_join(prefix, "share/trainc");
    path = path_join(share, name);
    free(share);
    free(prefix);
    free(bin);
    free(program);
    if (file_exists(path))
        return path;
    free(path);
    return NULL;
}
