// A library that ranks share, and with -DPROGRAM a program that uses it. Each rank writes a line.
#include <cstdio>
#include <cwchar>
#include <iostream>

#ifndef PROGRAM
void write(int rank)
{
    std::ios::sync_with_stdio(false);
    std::wcout << L"wide " << rank << std::flush;
    std::fputws(L", puts", stdout);
    std::putwchar(L',');
    std::wprintf(L" %d,", rank);
    std::cout << " bytes " << rank << std::endl;
}
#else
#include <mpi.h>

void write(int rank);

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    write(rank);
    MPI_Finalize();
    return 0;
}
#endif
