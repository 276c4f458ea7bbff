/* Ranks use stateful functions of the C library, and wait for each other between calls. */
#include <getopt.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void others(void) { MPI_Barrier(MPI_COMM_WORLD); }

static int constructed = 0;
__attribute__((constructor)) static void construct(int argc, char **argv)
{
    constructed = argc > 0 && argv[argc] == 0 ? rand() : 0;
}

/* Runs also when the thread of the ranks ends. */
static void destroy(void *value)
{
    int is_initialized;
    MPI_Initialized(&is_initialized);
}

/* Calls what any thread may call. */
static void *ask(void *value)
{
    int is_main = 1, is_initialized = 0, is_finalized = 1, level, version, minor;
    MPI_Is_thread_main(&is_main);
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    MPI_Query_thread(&level);
    MPI_Get_version(&version, &minor);
    if (is_main || !is_initialized || is_finalized || level != MPI_THREAD_FUNNELED || version != 5)
        printf("a thread: %d %d %d %d\n", is_main, is_initialized, is_finalized, level);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_key_t key;
    static struct option longs[] = {
        {"number", required_argument, 0, 'n'}, {"quiet", no_argument, 0, 'q'}, {0, 0, 0, 0}};
    int rank, code, first = constructed;
    char number[16], text[64], seen[256] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_key_create(&key, destroy);
    pthread_setspecific(key, number);
    pthread_create(&thread, 0, ask, 0);
    pthread_join(thread, 0);
    snprintf(number, sizeof number, "%d", rank);
    char *arguments[] = {"program", "-ab", "file", "--num", number, "-cvalue", "--quiet", "-z", 0};
    /* Ranks are at different arguments when they wait. */
    for (code = 0; code < rank % 3; code++)
        others();
    opterr = 0;
    while ((code = getopt_long(8, arguments, "abc:", longs, 0)) != -1) {
        snprintf(text, sizeof text, "%c%s ", code, optarg ? optarg : "");
        strcat(seen, text);
        others();
    }
    snprintf(text, sizeof text, "%s%d%c", arguments[optind], optind, optopt);
    strcat(seen, text);
    for (code = rank % 3; code < 2; code++)
        others();
    snprintf(text, sizeof text, "a b n%s cvalue q ? file7z", number);
    if (strcmp(seen, text))
        printf("rank %d: getopt: %s\n", rank, seen);

    char words[] = "one,two,three";
    char *word = strtok(words, ",");
    others();
    word = strtok(0, ",");
    others();
    if (strcmp(word, "two") || strcmp(strtok(0, ","), "three") || strtok(0, ","))
        printf("rank %d: strtok: %s\n", rank, word);

    time_t begin = rank * 86400L;
    struct tm *day = gmtime(&begin);
    char *date = ctime(&begin), copy[32];
    strcpy(copy, date);
    others();
    if (day->tm_yday != rank || strcmp(date, copy) || strcmp(date, asctime(localtime(&begin))))
        printf("rank %d: day %d, %s", rank, day->tm_yday, date);

    /* The numbers are the same as in an ordinary run. */
    int values[4];
    values[0] = first;
    srand(rank + 1);
    others();
    values[1] = rand();
    others();
    values[2] = random();
    srand48(rank);
    others();
    values[3] = lrand48();
    others();
    double last = drand48();
    printf("%d: %d %d %d %d %.9f\n", rank, values[0], values[1], values[2], values[3], last);
    MPI_Finalize();
    return 0;
}
