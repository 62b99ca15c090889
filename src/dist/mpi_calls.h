/* MPI helpers shared by the files of src/dist. Private to them. */
#ifndef DIST_MPI_CALLS_H
#define DIST_MPI_CALLS_H

#include "dist/mpi_library.h"

/* Returns the library after dist_open; NULL for a single process or a member (member.h). */
const struct mpi_library *mpi_opened(void);

/*
 * Around each call that may wait for the others:
 *
 *   mpi_begin();                                DIST.TIMEOUT starts
 *   mpi_check(lib->Barrier(...), "Barrier");    dies if the call has failed
 */
void mpi_begin(void);
void mpi_check(int code, const char *call);

#endif
