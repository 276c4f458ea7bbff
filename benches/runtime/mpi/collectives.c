/* Collective calls over all ranks of MPI, with one word for each rank: `collectives
 * barrier|allreduce|bcast|alltoall COUNT` prints "ns N", the time of one call. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size, count, n;
    char what;
    long mine, sum, *to, *from;
    double start = 0;

    MPI_Init(&argc, &argv);
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    what = strcmp(argv[1], "barrier") == 0 ? 'b' : strcmp(argv[1], "bcast") == 0 ? 'c' : strcmp(argv[1], "alltoall") == 0 ? 't' : 'r';
    count = atoi(argv[2]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    to = calloc(size, sizeof *to);
    from = calloc(size, sizeof *from);
    if (!to || !from)
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (n = -5; n < count; n++) {
        if (n == 0)
            start = MPI_Wtime();
        mine = n;
        if (what == 'b')
            MPI_Barrier(MPI_COMM_WORLD);
        else if (what == 'c')
            MPI_Bcast(&mine, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        else if (what == 't')
            MPI_Alltoall(to, 1, MPI_LONG, from, 1, MPI_LONG, MPI_COMM_WORLD);
        else
            MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    /* The root may be ahead of the other ranks. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("ns %.1f\n", (MPI_Wtime() - start) * 1e9 / count);
    MPI_Finalize();
    return 0;
}
