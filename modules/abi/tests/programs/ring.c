/* Passes a number around a ring, and checks that globals are private. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls;
int global = 5;
static __thread int local = 3;

static void bye(void) { printf("bye %d\n", global); }

static int count(void)
{
    static int inner = 2;
    return ++inner;
}

int main(int argc, char **argv)
{
    int rank, size, token = 7;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    calls += rank + 1;
    global = rank;
    local += rank;
    if (rank == 0) {
        atexit(bye);
        MPI_Send(&token, 1, MPI_INT, 1 % size, 3, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_INT, size - 1, 3, MPI_COMM_WORLD, &status);
        printf("%d from %d\n", token, status.MPI_SOURCE);
    } else {
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token++;
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD);
    }
    if (calls != rank + 1 || global != rank || local != 3 + rank || count() != 3) {
        printf("rank %d shares globals\n", rank);
        return 1;
    }
    MPI_Finalize();
    if (argc > 1 && rank == 1 && !strcmp(argv[1], "missing") && !fopen("/missing/file", "r"))
        perror("missing");
    if (argc > 1 && !strcmp(argv[1], "thread"))
        pthread_exit(0);
    return argc > 1 && rank == 1 ? atoi(argv[1]) : 0;
}
