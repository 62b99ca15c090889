/* Configurations that are installed with the program, in PREFIX/share/trainc. */
#ifndef CONFIG_INSTALLED_H
#define CONFIG_INSTALLED_H

/* Returns the installed file of this name ("configs/swin.yaml"), on the heap. NULL if the
 * name is absolute or exists in the current folder, or if no such file is installed. */
char *installed_config(const char *name);

#endif
