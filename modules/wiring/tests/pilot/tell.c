/* An implementation of Pilot that prints the created elements. It sends no messages. */
#include <mpi.h>
#include <pilot.h>
#include <stdio.h>
#include <stdlib.h>

struct PI_PROCESS { int rank; };
struct PI_CHANNEL { int from, to; };
struct PI_BUNDLE { int unused; };

/* Returns the number of processes in the environment variable AVAILABLE [default: 1001]. */
int PI_Configure(int *argc, char ***argv)
{
    const char *available = getenv("AVAILABLE");
    (void)argc, (void)argv;
    return available ? atoi(available) : 1001;
}
int PI_StartAll(void) { return 0; }

/* Created processes. PI_StopMain calls their functions. */
static struct { PI_WORK_FUNC function; int index; void *argument; } created[1000];
static int creations;

int MPI_Comm_rank(MPI_Comm group, int *rank) { (void)group; *rank = 0; return 0; }
int MPI_Barrier(MPI_Comm group) { (void)group; return 0; }

void PI_Abort(const int code, const char *text, const char *file, const int line)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, text);
    exit(code);
}

void PI_StopMain(int status)
{
    int i;
    (void)status;
    for (i = 0; i < creations; i++)
        created[i].function(created[i].index, created[i].argument);
}

PI_PROCESS *PI_CreateProcess(PI_WORK_FUNC function, int index, void *argument)
{
    PI_PROCESS *process = malloc(sizeof *process);
    /* Pilot assigns ranks of MPI in the order of creation. */
    if (creations == 1000 || index != creations)
        abort();
    created[creations].function = function;
    created[creations].index = index;
    created[creations++].argument = argument;
    process->rank = index;
    return process;
}

PI_CHANNEL *PI_CreateChannel(PI_PROCESS *from, PI_PROCESS *to)
{
    PI_CHANNEL *channel = malloc(sizeof *channel);
    channel->from = from->rank;
    channel->to = to->rank;
    printf("channel %d %d\n", from->rank, to->rank);
    return channel;
}

int tell_writer(const PI_CHANNEL *channel) { return channel->from; }
int tell_reader(const PI_CHANNEL *channel) { return channel->to; }

PI_BUNDLE *PI_CreateBundle(enum PI_BUNUSE usage, PI_CHANNEL *const array[], int size)
{
    static const char *const names[] = {"broadcast", "scatter", "gather", "reduce", "select"};
    int i;
    printf("%s", names[usage]);
    for (i = 0; i < size; i++)
        printf(" %d>%d", array[i]->from, array[i]->to);
    printf("\n");
    return malloc(sizeof(PI_BUNDLE));
}
