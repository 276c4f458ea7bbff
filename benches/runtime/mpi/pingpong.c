/* Bytes back and forth between two ranks of MPI: `pingpong SIZE COUNT` prints "ns N", the time
 * of one way. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, count, n;
    char *bytes;
    double start = 0;

    MPI_Init(&argc, &argv);
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    size = atoi(argv[1]);
    count = atoi(argv[2]);
    bytes = calloc(size, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (n = -100; n < count; n++) {
        if (n == 0)
            start = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(bytes, size, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(bytes, size, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(bytes, size, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(bytes, size, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        }
    }
    if (rank == 0)
        printf("ns %.1f\n", (MPI_Wtime() - start) * 1e9 / (2.0 * count));
    free(bytes);
    MPI_Finalize();
    return 0;
}
