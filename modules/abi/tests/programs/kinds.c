/* Checks that each rank has its own globals of each kind: it sees the initial value, writes its
   own, and reads that back after all ranks have written. Prints the number of such ranks for each
   kind. */
#include "globals.h"

#include <mpi.h>
#include <stdio.h>

int main(void)
{
    const struct kind *const tables[] = {kinds_of_c, kinds_of_cpp};
    const char *const languages[] = {"C", "C++"};
    int rank, right[2][64] = {{0}}, sum[2][64];
    MPI_Init(0, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int table = 0; table < 2; table++)
        for (int index = 0; tables[table][index].name; index++) {
            int *at = tables[table][index].at();
            right[table][index] = *at == tables[table][index].initial;
            *at = rank + 100;
        }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int table = 0; table < 2; table++)
        for (int index = 0; tables[table][index].name; index++) {
            int *at = tables[table][index].at();
            right[table][index] &= *at == rank + 100;
        }
    MPI_Reduce(right, sum, 2 * 64, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int table = 0; table < 2 && rank == 0; table++)
        for (int index = 0; tables[table][index].name; index++)
            printf("%s: %s: %d\n", languages[table], tables[table][index].name, sum[table][index]);
    MPI_Finalize();
    return 0;
}
