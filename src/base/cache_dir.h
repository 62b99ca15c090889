/* The folder in which trainc keeps what it can make again: plans, indices, decoded
 * images. */
#ifndef BASE_CACHE_DIR_H
#define BASE_CACHE_DIR_H

/* "auto": trainc in XDG_CACHE_HOME or ~/.cache, "" if neither is known; else the setting
 * itself. The string stays until the environment changes. Thread-safe. */
const char *cache_dir(const char *setting);

#endif
