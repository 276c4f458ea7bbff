/* Collective calls of all ranks of MPI: collectives barrier|allreduce COUNT, which prints "ns N", of one. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, count, n, is_barrier;
    long mine, sum;
    double start = 0;

    MPI_Init(&argc, &argv);
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    is_barrier = strcmp(argv[1], "barrier") == 0;
    count = atoi(argv[2]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (n = -5; n < count; n++) {
        if (n == 0)
            start = MPI_Wtime();
        mine = n;
        if (is_barrier)
            MPI_Barrier(MPI_COMM_WORLD);
        else
            MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("ns %.1f\n", (MPI_Wtime() - start) * 1e9 / count);
    MPI_Finalize();
    return 0;
}
