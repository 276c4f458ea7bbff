/* Uses a library, whose globals are private or not. */
#include <mpi.h>
#include <stdio.h>

extern int count;
#ifdef ABOVE
#define bump above
#endif
int bump(int by);
int call_hook(void);

static int own;
int hook(void) { return own; }
int needed(void) { return own; }

int main(void)
{
    int rank;
    MPI_Init(0, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    own = rank;
    int is_private = bump(rank + 1) && count == rank + 4 && call_hook() == rank;
    printf("%s\n", is_private ? "private" : "shared");
    MPI_Finalize();
    return 0;
}
