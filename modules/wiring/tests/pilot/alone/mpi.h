/* The declarations of MPI that wiring code needs, for a single process. */
#ifndef MPI_H
#define MPI_H

typedef int MPI_Comm;
#define MPI_COMM_WORLD 0

int MPI_Comm_rank(MPI_Comm group, int *rank);
int MPI_Barrier(MPI_Comm group);

#endif
