/* Rank 2 ends in the way that the argument names, while the other ranks wait for it. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int recurse(int depth)
{
    volatile char frame[4096];
    frame[0] = (char)depth;
    return recurse(depth + 1) + frame[0];
}

static int large(int depth)
{
    volatile char frame[8 << 20];
    frame[0] = (char)depth;
    return frame[0];
}

static void bye(void) { puts("at_quick_exit"); }

static void status_is(int status, void *text) { printf("%s %d\n", (char *)text, status); }

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Abort(MPI_COMM_WORLD, 9);
}

static void wait_in_add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, token = 0;
    MPI_Op op;
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Init(0, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("incomplete");
    if (!strncmp(how, "op-", 3)) {
        MPI_Op_create(strcmp(how, "op-wait") ? add : wait_in_add, 1, &op);
        MPI_Allreduce(MPI_IN_PLACE, &token, 1, MPI_INT, op, MPI_COMM_WORLD);
    }
    if (rank != 2)
        MPI_Recv(&token, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(how, "crash"))
        *(volatile int *)8 = 1;
    if (!strcmp(how, "overflow"))
        token = recurse(0);
    if (!strcmp(how, "large"))
        token = large(0);
    if (!strcmp(how, "abort"))
        abort();
    while (!strcmp(how, "pipe"))
        puts("a line");
    if (!strcmp(how, "exit"))
        _exit(7);
    if (!strcmp(how, "quick")) {
        at_quick_exit(bye);
        quick_exit(7);
    }
    if (!strcmp(how, "on")) {
        on_exit(status_is, "on_exit");
        exit(7);
    }
    if (!strcmp(how, "fork"))
        fork();
    if (!strcmp(how, "execlp"))
        execlp("true", "true", (char *)0);
    if (!strcmp(how, "daemon"))
        token = daemon(1, 1);
    if (!strcmp(how, "mpi"))
        MPI_Abort(MPI_COMM_WORLD, argc > 2 ? 256 : 9);
    if (!strcmp(how, "wait"))
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(how, "window")) {
        MPI_Win window;
        MPI_Win_create(&token, 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    }
    if (!strcmp(how, "freed")) {
        MPI_Comm copy, old;
        MPI_Comm_dup(MPI_COMM_SELF, &copy);
        old = copy;
        MPI_Comm_free(&copy);
        MPI_Comm_rank(old, &rank);
    }
    MPI_Finalize();
    return 0;
}
