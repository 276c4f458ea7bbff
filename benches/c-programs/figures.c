/* Measures messages between ranks 0 and 1, and other parts of MPI. All other ranks wait.
 *
 * Prints a line for each figure: name, median and quartiles in ns. The repetitions of the figures
 * alternate. Some figures are floors: one switch of ranks, and a copy of the bytes of a message.
 * With an argument, ranks only begin and end. */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 41, LONG = 8192, DOUBLES = 1 << 20, BLOCKS = 1 << 15 };

static int rank;
static char *sent, *received;
/* Buffers in the place of the buffers of the other rank. */
static char *other_sent, *other_received;
static double *left, *right;
static MPI_Datatype scattered;
static MPI_Comm pair;

/* One switch: both ranks yield in turn. */
static int yield(int rounds) {
    for (int i = 0; i < rounds; i++)
        sched_yield();
    return 2 * rounds;
}

static int messages(int rounds, int bytes) {
    for (int i = 0; i < rounds; i++) {
        if (rank == 0)
            MPI_Send(sent, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(received, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(sent, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    return 2 * rounds;
}

static int short_messages(int rounds) { return messages(rounds, 8); }
static int long_messages(int rounds) { return messages(rounds, LONG); }

/* A copy from each rank to the other, in turn. */
static int copy(int rounds) {
    for (int i = 0; rank == 0 && i < rounds; i++) {
        memcpy(other_received, sent, LONG);
        __asm__ volatile("" : : : "memory");
        memcpy(received, other_sent, LONG);
        __asm__ volatile("" : : : "memory");
    }
    return 2 * rounds;
}

static int pack(int rounds) {
    for (int i = 0; rank == 0 && i < rounds; i++) {
        int at = 0;
        MPI_Pack(left, 1, scattered, right, DOUBLES * 8, &at, MPI_COMM_SELF);
    }
    return rounds;
}

static int unpack(int rounds) {
    for (int i = 0; rank == 0 && i < rounds; i++) {
        int at = 0;
        MPI_Unpack(right, DOUBLES * 8, &at, left, 1, scattered, MPI_COMM_SELF);
    }
    return rounds;
}

static int add(int rounds) {
    for (int i = 0; rank == 0 && i < rounds; i++)
        MPI_Reduce_local(left, right, DOUBLES, MPI_DOUBLE, MPI_SUM);
    return rounds;
}

static int allreduce(int rounds) {
    for (int i = 0; i < rounds; i++)
        MPI_Allreduce(left, right, DOUBLES, MPI_DOUBLE, MPI_SUM, pair);
    return rounds;
}

static const struct {
    const char *name;
    int (*run)(int);
    int rounds;
} figures[] = {
    {"switch", yield, 20000},
    {"short", short_messages, 20000},
    {"long", long_messages, 4000},
    {"copy", copy, 4000},
    {"pack", pack, 4},
    {"unpack", unpack, 4},
    {"add", add, 2},
    {"allreduce", allreduce, 2},
};

enum { FIGURES = sizeof figures / sizeof *figures };

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    static double times[FIGURES][REPETITIONS];
    static int lengths[BLOCKS], starts[BLOCKS];
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
        return 0;
    }
    if (rank > 1) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Finalize();
        return 0;
    }
    MPI_Group all, two;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, (int[]){0, 1}, &two);
    MPI_Comm_create_group(MPI_COMM_WORLD, two, 0, &pair);
    char **buffers[] = {&sent, &received, &other_sent, &other_received};
    for (int i = 0; i < 4; i++) {
        *buffers[i] = aligned_alloc(64, LONG);
        memset(*buffers[i], 1, LONG);
    }
    left = aligned_alloc(64, DOUBLES * sizeof *left);
    right = aligned_alloc(64, DOUBLES * sizeof *right);
    for (int i = 0; i < DOUBLES; i++)
        left[i] = right[i] = i % 7;
    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = 1 + i % 7;
        starts[i] = 16 * i;
    }
    MPI_Type_indexed(BLOCKS, lengths, starts, MPI_DOUBLE, &scattered);
    MPI_Type_commit(&scattered);
    for (int repetition = -1; repetition < REPETITIONS; repetition++)
        for (int i = 0; i < FIGURES; i++) {
            MPI_Barrier(pair);
            double begin = MPI_Wtime();
            int count = figures[i].run(figures[i].rounds);
            double end = MPI_Wtime();
            if (repetition >= 0)
                times[i][repetition] = (end - begin) / count * 1e9;
        }
    for (int i = 0; rank == 0 && i < FIGURES; i++) {
        double *all = times[i];
        qsort(all, REPETITIONS, sizeof *all, compare);
        printf("%s %.2f %.2f %.2f\n", figures[i].name, all[REPETITIONS / 2], all[REPETITIONS / 4],
               all[3 * REPETITIONS / 4]);
    }
    for (int i = 2; rank == 0 && i < size; i++)
        MPI_Send(NULL, 0, MPI_BYTE, i, 0, MPI_COMM_WORLD);
    MPI_Type_free(&scattered);
    MPI_Comm_free(&pair);
    MPI_Finalize();
    return 0;
}
