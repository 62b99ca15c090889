/* The folder for files that trainc can recreate: plans, indices, decoded images. */
#ifndef BASE_CACHE_DIR_H
#define BASE_CACHE_DIR_H

/* "auto": trainc in XDG_CACHE_HOME or ~/.cache, "" if neither is known; otherwise the
 * setting itself. The string is valid until the environment changes. Thread-safe. */
const char *cache_dir(const char *setting);

#endif
