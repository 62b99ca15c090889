/* The version of trainc, shown by --version and stored in checkpoints. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define TRAINC_VERSION "0.1.0"

#endif
