/* The version of trainc, as --version and checkpoints say it. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define TRAINC_VERSION "0.1.0"

#endif
