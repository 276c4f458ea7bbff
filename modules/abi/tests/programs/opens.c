/* Opens a library, whose path is the argument, and searches for symbols of the program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int offset = 5;

int of_program(int by) { return by + offset; }

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    offset += rank;
    void *self = dlopen(NULL, RTLD_NOW);
    if (dlsym(self, "of_program") != (void *)of_program || dlsym(self, "no_such_symbol"))
        printf("rank %d: dlopen(NULL)\n", rank);
    if (!dlerror() || dlerror())
        printf("rank %d: dlerror\n", rank);
    if (dlsym(RTLD_DEFAULT, "offset") != &offset || !dlsym(RTLD_NEXT, "MPI_Send"))
        printf("rank %d: dlsym\n", rank);
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) {
        printf("%s\n", dlerror());
        MPI_Finalize();
        return 0;
    }
    int (*bump)(int) = (int (*)(int))dlsym(library, "bump");
    int (*first_number)(void) = (int (*)(void))dlsym(library, "first_number");
    int sum = bump(1);
    MPI_Barrier(MPI_COMM_WORLD);
    sum = bump(1);
    void *again = dlopen(argv[1], RTLD_NOW);
    if (again != library || dlclose(again) || dlclose(library))
        printf("rank %d: handles differ\n", rank);
    int is_private = sum == 2 * (6 + rank) && first_number() == 1804289383;
    printf("%s\n", is_private ? "private" : "shared");
    MPI_Finalize();
    return 0;
}
