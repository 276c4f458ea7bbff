/*
 * Stand-in for Pilot over MPI, for tests. It implements the part of Pilot's API that pilot.h
 * declares, for numbers only (`%d`). Ranks are assigned as Pilot assigns them: rank 0 is PI_MAIN.
 * With `-pisvc=d`, rank 1 is a service process of Pilot. The processes that the program creates
 * follow in order of creation. Ranks without a function are idle.
 */
#include <mpi.h>
#include <pilot.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct PI_PROCESS {
    int rank, index;
    PI_WORK_FUNC function;
    void *argument;
};
struct PI_CHANNEL { int from, to, tag; };
struct PI_BUNDLE {
    enum PI_BUNUSE usage;
    int size;
    PI_CHANNEL **channel;
};

static int rank, size, created, channels;
static PI_PROCESS *processes;

void PI_Abort(const int code, const char *text, const char *file, const int line)
{
    int tries = 0, unread = 0;
    fprintf(stderr, "PI_Abort: %s:%d: %s\n", file, line, text);
    fflush(NULL);
    /* Waits until the launcher has read the message. On busy cores, `mpiexec` of MPICH 4.0.2 may
     * end the job without reading it. */
    while (tries++ < 500 && ioctl(2, FIONREAD, &unread) == 0 && unread > 0)
        usleep(1000);
    MPI_Abort(MPI_COMM_WORLD, code);
    exit(code);
}

#define NEED(what) do { if (!(what)) PI_Abort(1, "not so: " #what, __FILE__, __LINE__); } while (0)

static int idle(int index, void *argument) { (void)argument; return index; }

int PI_Configure(int *argc, char ***argv)
{
    int own = *argc > 1 && strcmp((*argv)[1], "-pisvc=d") == 0;
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    processes = calloc((size_t)size, sizeof *processes);
    NEED(processes);
    PI_CreateProcess(NULL, 0, NULL);
    if (own)
        PI_CreateProcess(idle, 0, NULL);
    return size - own;
}

PI_PROCESS *PI_CreateProcess(PI_WORK_FUNC function, int index, void *argument)
{
    PI_PROCESS *process;
    NEED(created < size);
    process = &processes[created];
    process->rank = created++;
    process->index = index;
    process->function = function;
    process->argument = argument;
    return process;
}

PI_CHANNEL *PI_CreateChannel(PI_PROCESS *from, PI_PROCESS *to)
{
    PI_CHANNEL *channel = malloc(sizeof *channel);
    NEED(channel && from != to);
    channel->from = from->rank;
    channel->to = to->rank;
    channel->tag = ++channels;
    return channel;
}

PI_BUNDLE *PI_CreateBundle(enum PI_BUNUSE usage, PI_CHANNEL *const array[], int count)
{
    PI_BUNDLE *bundle = malloc(sizeof *bundle);
    int i;
    NEED(bundle && count > 0);
    bundle->usage = usage;
    bundle->size = count;
    bundle->channel = calloc((size_t)count, sizeof *bundle->channel);
    NEED(bundle->channel);
    for (i = 0; i < count; i++) {
        bundle->channel[i] = array[i];
        if (usage == PI_SELECT) /* one probe must match all channels */
            array[i]->tag = array[0]->tag;
    }
    return bundle;
}

int PI_StartAll(void)
{
    PI_PROCESS *own = &processes[rank];
    char host[256] = "";
    int status = 0;
    gethostname(host, sizeof host - 1);
    if (rank == 0) {
        printf("PI_MAIN is 0 of %d on %s\n", size, host);
        return 0;
    }
    if (own->function && own->function != idle)
        printf("process %d is %d on %s\n", own->index, rank, host);
    if (own->function)
        status = own->function(own->index, own->argument);
    PI_StopMain(status);
    return rank;
}

/*
 * With MPICH 4.0.2 over the TCP of UCX, every program hangs in MPI_Finalize. Therefore this
 * function reports the end of this process to the launcher itself, by the PMI 1 protocol. After the
 * second barrier all connections exist, and no message is on its way.
 */
void PI_StopMain(int status)
{
    const char *launcher = getenv("PMI_FD");
    char answer[256];
    (void)status;
    MPI_Barrier(MPI_COMM_WORLD);
    if (launcher) {
        MPI_Barrier(MPI_COMM_WORLD);
        fflush(NULL);
        NEED(write(atoi(launcher), "cmd=finalize\n", 13) == 13);
        NEED(read(atoi(launcher), answer, sizeof answer) > 0);
        _exit(0);
    }
    MPI_Finalize();
    if (rank != 0)
        exit(0);
}

static void write_one(PI_CHANNEL *channel, int value)
{
    NEED(channel->from == rank);
    MPI_Send(&value, 1, MPI_INT, channel->to, channel->tag, MPI_COMM_WORLD);
}

static void read_one(PI_CHANNEL *channel, int *value)
{
    NEED(channel->to == rank);
    MPI_Recv(value, 1, MPI_INT, channel->from, channel->tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void PI_Write(PI_CHANNEL *channel, const char *format, ...)
{
    va_list values;
    NEED(strcmp(format, "%d") == 0);
    va_start(values, format);
    write_one(channel, va_arg(values, int));
    va_end(values);
}

void PI_Read(PI_CHANNEL *channel, const char *format, ...)
{
    va_list places;
    NEED(strcmp(format, "%d") == 0);
    va_start(places, format);
    read_one(channel, va_arg(places, int *));
    va_end(places);
}

void PI_Broadcast(PI_BUNDLE *bundle, const char *format, ...)
{
    va_list values;
    int value, i;
    NEED(bundle->usage == PI_BROADCAST && strcmp(format, "%d") == 0);
    va_start(values, format);
    value = va_arg(values, int);
    va_end(values);
    for (i = 0; i < bundle->size; i++)
        write_one(bundle->channel[i], value);
}

void PI_Scatter(PI_BUNDLE *bundle, const char *format, ...)
{
    va_list values;
    const int *value;
    int i;
    NEED(bundle->usage == PI_SCATTER && strcmp(format, "%d") == 0);
    va_start(values, format);
    value = va_arg(values, const int *);
    va_end(values);
    for (i = 0; i < bundle->size; i++)
        write_one(bundle->channel[i], value[i]);
}

void PI_Gather(PI_BUNDLE *bundle, const char *format, ...)
{
    va_list places;
    int *place, i;
    NEED(bundle->usage == PI_GATHER && strcmp(format, "%d") == 0);
    va_start(places, format);
    place = va_arg(places, int *);
    va_end(places);
    for (i = 0; i < bundle->size; i++)
        read_one(bundle->channel[i], &place[i]);
}

int PI_Select(PI_BUNDLE *bundle)
{
    MPI_Status status;
    int i;
    NEED(bundle->usage == PI_SELECT);
    MPI_Probe(MPI_ANY_SOURCE, bundle->channel[0]->tag, MPI_COMM_WORLD, &status);
    for (i = 0; i < bundle->size; i++)
        if (bundle->channel[i]->from == status.MPI_SOURCE)
            return i;
    NEED(!"a message of none of its channels");
    return -1;
}

PI_CHANNEL *PI_GetBundleChannel(const PI_BUNDLE *bundle, int index)
{
    NEED(index >= 0 && index < bundle->size);
    return bundle->channel[index];
}
