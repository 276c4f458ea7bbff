// Ranks enter handlers of exceptions and rethrow in the same order, which is not that of a stack.
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

inline int shared_name = 3;
template <class T> struct Holder {
    static int value;
};
template <class T> int Holder<T>::value = 9;

static int &once()
{
    static int value = 11;
    return value;
}

struct Object {
    int value = 7;
    ~Object() { std::cout << "destroyed " << value << std::endl; }
};
static Object object;

// An object that waits while an exception is thrown.
struct Waiting {
    ~Waiting()
    {
        int before = std::uncaught_exceptions();
        MPI_Barrier(MPI_COMM_WORLD);
        if (before != 1 || std::uncaught_exceptions() != 1)
            std::printf("%d exceptions, then %d\n", before, std::uncaught_exceptions());
    }
};

static void wait_while_thrown(int rank)
{
    if (rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (std::uncaught_exceptions() || std::current_exception())
            std::printf("rank 0 has an exception\n");
        return;
    }
    try {
        Waiting waiting;
        throw rank;
    } catch (int caught) {
        if (caught != rank)
            std::printf("rank %d caught %d\n", rank, caught);
    }
}

int main()
{
    int rank, size, token = 0;
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    shared_name += rank;
    Holder<int>::value += rank;
    once() += rank;
    object.value += rank;
    if (rank > 0)
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    try {
        throw std::runtime_error("rank " + std::to_string(rank));
    } catch (std::exception &caught) {
        std::string before = caught.what();
        MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD);
        int from = rank == 0 ? size - 1 : rank - 1;
        MPI_Recv(&token, 1, MPI_INT, from, rank == 0 ? 1 : 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        try {
            throw;
        } catch (std::exception &again) {
            if (before != again.what())
                std::printf("rank %d caught %s\n", rank, again.what());
        }
        if (rank < size - 1)
            MPI_Send(&rank, 1, MPI_INT, rank + 1, 2, MPI_COMM_WORLD);
    }
    wait_while_thrown(rank);
    if (shared_name != 3 + rank || Holder<int>::value != 9 + rank || once() != 11 + rank)
        std::printf("rank %d shares globals\n", rank);
    MPI_Finalize();
    return 0;
}
