/* Each rank directs its standard streams in its own way, and leaves files open at its end. The
   first argument is a folder, and the second is the way. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char buffer[1 << 16];

int main(int argc, char **argv)
{
    int rank, number = -1;
    char path[4096], text[64] = "";
    const char *how = argv[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/%s-%d", argv[1], how, rank);
    FILE *first = stdout;
    if (!strcmp(how, "setvbuf"))
        setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    if (!strcmp(how, "freopen")) {
        if (freopen(path, "w", stdout) != first || stdout != first)
            abort();
        if (rank == 1)
            setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
        strcat(path, ".err");
        if (!freopen(path, "a", stderr))
            abort();
    }
    if (!strcmp(how, "assign"))
        stdout = fopen(path, "w");
    if (!strcmp(how, "close") && fclose(stdout))
        abort();
    printf("%s %d %.1f %s %d %d %d %ld of %d\n", "a", 1, 2.5, "b", 3, 4, 5, 6L, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    puts("puts");
    putchar('p');
    fprintf(stdout, " stdout\n");
    if (!strcmp(how, "freopen"))
        perror("perror");
    if (!strcmp(how, "assign"))
        fprintf(first, "first %d\n", rank);
    if (!strcmp(how, "close")) {
        stdout = fopen(path, "w");
        printf("opened again\n");
    }
    if (!strcmp(how, "files")) {
        FILE *file = fopen(path, "w");
        setvbuf(file, buffer, _IOFBF, sizeof buffer);
        fprintf(file, "left open by %d\n", rank);
        if (rank == 1)
            fputs("popen\n", popen("cat", "w"));
        if (rank == 0 && system("exit 3") >> 8 != 3)
            abort();
    }
    if (!strcmp(how, "stdin")) {
        int count = scanf("%d", &number);
        int next = getchar();
        printf("%d: %d %d %d\n", rank, count, number, next);
        snprintf(path, sizeof path, "%s/in-%d", argv[1], rank);
        FILE *file = fopen(path, "w");
        fprintf(file, "%d word\n", rank + 70);
        fclose(file);
        if (!freopen(path, "r", stdin))
            abort();
        MPI_Barrier(MPI_COMM_WORLD);
        if (scanf("%d", &number) != 1 || number != rank + 70)
            abort();
        MPI_Barrier(MPI_COMM_WORLD);
        if (scanf("%63s", text) != 1 || strcmp(text, "word"))
            abort();
    }
    MPI_Finalize();
    return 0;
}
