/*
 * Names of files and folders made of foreign texts: names of classes, and of images.
 *
 *   char *name = file_name_clean("../a\033[2J/b");     "_._a?[2J_b"
 */
#ifndef BASE_FILE_NAME_H
#define BASE_FILE_NAME_H

/*
 * The text as one part of a path, which stays in its folder; heap string. What a terminal
 * would obey becomes '?' (utf8_clean), '/' and a dot in front '_', an empty text "_". Of
 * more than 200 bytes the end is cut, but for an extension: file systems take 255, and a
 * number or an ending may follow.
 */
char *file_name_clean(const char *text);

#endif
