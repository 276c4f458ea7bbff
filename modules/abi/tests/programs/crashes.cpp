/* The last rank crashes in the way that the argument names. */
#include <mpi.h>
#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

static volatile int zero;
static void *volatile block;
static void (*volatile null)();

static void crash(const char *how)
{
    if (!strcmp(how, "SIGSEGV"))
        *(volatile int *)8 = 1; // SIGSEGV
    if (!strcmp(how, "thread")) {
        std::thread other([] {
            *(volatile int *)8 = 1; // thread
        });
        other.join();
    }
    if (!strcmp(how, "SIGFPE"))
        zero = 3 / zero; // SIGFPE
    if (!strcmp(how, "null"))
        null(); // null
    if (!strcmp(how, "SIGTRAP"))
        raise(SIGTRAP); // SIGTRAP
    if (!strcmp(how, "ask")) {
        raise(SIGURG); // ask
        raise(SIGTRAP);
    }
    if (!strcmp(how, "assert"))
        assert(zero == 1); // assert
    if (!strcmp(how, "throw"))
        throw std::runtime_error("thrown"); // throw
    if (!strcmp(how, "free")) {
        block = malloc(10);
        free(block);
        free(block); // free
    }
    if (!strcmp(how, "wait"))
        MPI_Recv((void *)&zero, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // wait
    if (!strcmp(how, "differ"))
        MPI_Bcast((void *)&zero, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1)
        crash(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
