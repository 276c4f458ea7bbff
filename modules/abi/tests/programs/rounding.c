/* Each rank has its own rounding and its own flags of exceptions. */
#include <fenv.h>
#include <mpi.h>
#include <stdio.h>

int main(void)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    int rank;
    volatile double one = 1, three = 3, zero = 0, infinite;
    volatile long double long_one = 1;
    MPI_Init(0, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int mode = modes[rank % 4];
    if (mode)
        fesetround(mode);
    feclearexcept(FE_ALL_EXCEPT);
    double before = one / three;
    long double long_before = long_one / three;
    if (rank % 2)
        infinite = one / zero;
    MPI_Barrier(MPI_COMM_WORLD);
    double after = one / three;
    if (fegetround() != mode || before != after || long_before != long_one / three)
        printf("rank %d: rounding %d\n", rank, fegetround());
    if (!fetestexcept(FE_DIVBYZERO) != !(rank % 2))
        printf("rank %d: flags\n", rank);
    printf("%.17g\n", before);
    MPI_Finalize();
    return 0;
}
