// Destructors of thread-local objects run at the end of a rank, before those of static objects.
#include <mpi.h>

#include <cstdio>
#include <fstream>
#include <string>

struct Noisy {
    const char *what;
    int rank = -1;
    explicit Noisy(const char *what) : what(what) {}
    ~Noisy() { std::printf("%s %d\n", what, rank); }
};
static Noisy global("static");
thread_local Noisy local("thread-local");

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    global.rank = local.rank = rank;
    thread_local Noisy inner("inner");
    inner.rank = rank;
    static std::ofstream file(std::string(argv[1]) + "/cpp-" + std::to_string(rank));
    file << "left open";
    MPI_Finalize();
    return 0;
}
