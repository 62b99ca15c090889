/* Folders of images for tests, below a temporary directory. */
#ifndef TESTS_MAKE_FOLDER_H
#define TESTS_MAKE_FOLDER_H

#include <stddef.h>
#include <stdint.h>

char *make_temp_dir(void);       /* heap string */
void remove_temp_dir(char *dir); /* deletes it with its contents; frees the string */

/* Creates a file dir/path and its folders. */
void make_file(const char *dir, const char *path, const void *data, size_t len);

void remove_file(const char *dir, const char *path);

/* Sets the time of dir/path, a file or a folder, to this many seconds ago, always at the
 * same fraction of a second. */
void make_old(const char *dir, const char *path, int seconds);

/* Creates a w x h JPEG at dir/path; each seed gives a different image. */
void make_image(const char *dir, const char *path, int w, int h, int seed);

/* Creates a w x h label map at dir/path. */
void make_label(const char *dir, const char *path, int w, int h, const uint8_t *value);

#endif
