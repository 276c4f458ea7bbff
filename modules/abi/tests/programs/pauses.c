/* Rank 0 waits for each of the others, which set a variable of the environment. It waits in each
   way that suspends a rank without a message. */
#define _GNU_SOURCE
#include <mpi.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { WAYS = 9 };

static void pause_by(int way)
{
    struct timespec time = {0, 1000};
    struct timeval short_time = {0, 10};
    switch (way) {
    case 0: sched_yield(); break;
    case 1: usleep(10); break;
    case 2: nanosleep(&time, 0); break;
    case 3: thrd_sleep(&time, 0); break;
    case 4: clock_nanosleep(CLOCK_MONOTONIC, 0, &time, 0); break;
    case 5:
        clock_gettime(CLOCK_REALTIME, &time);
        clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &time, 0);
        break;
    case 6: poll(0, 0, 1); break;
    case 7: select(0, 0, 0, 0, &short_time); break;
    case 8: sleep(1); break;
    }
}

/* An operation cannot be suspended, and waits for the time. */
static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    for (int way = 0; way < WAYS - 1; way++)
        pause_by(way);
    for (int at = 0; at < *count; at++)
        ((int *)inout)[at] += ((int *)in)[at];
}

int main(int argc, char **argv)
{
    int rank, one = 1, sum = 0;
    char name[32];
    struct timespec wrong = {0, 2000000000};
    MPI_Op op;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int way = 0; way < WAYS; way++) {
        snprintf(name, sizeof name, "WAY_%d", way);
        if (rank == 1)
            setenv(name, "", 1);
        while (rank == 0 && !getenv(name))
            pause_by(way);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d %d\n", sum, nanosleep(&wrong, 0));
    MPI_Finalize();
    return 0;
}
