/* Costs of the same exchanges in C on the same MPI, with two ranks. The arguments are `pair
 * BYTES ROUNDS` (or `probed` or `posted` for `pair`), `many CHANNELS TOKENS WINDOW`, or `packed
 * CHANNELS TOKENS`. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me;

/* Sends a block there and back, after a tenth of the rounds as warm-up. Prints the nanoseconds
 * of one way. */
static void pair(int bytes, int rounds)
{
    char *block = calloc(1, bytes);
    double start = 0;
    for (int round = -rounds / 10; round < rounds; round++) {
        if (round == 0)
            start = MPI_Wtime();
        if (me == 0)
            MPI_Send(block, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(block, bytes, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (me == 1)
            MPI_Send(block, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    if (me == 0)
        printf("one way %.0f\n", (MPI_Wtime() - start) * 1e9 / (2.0 * rounds));
}

static void wait(MPI_Request *request)
{
    for (int done = 0; !done;)
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
}

static void begin_and_wait(char *block, int bytes)
{
    MPI_Request request;
    MPI_Isend(block, bytes, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD, &request);
    wait(&request);
}

/* Sends a block there and back without blocking calls, as links must that wait for several
 * messages. Messages are received by matched probes or, if `posted`, by receives posted in
 * advance. */
static void unblocked(int bytes, int rounds, int posted)
{
    enum { POSTED = 4, ROOM = 128 << 10 };
    char *block = calloc(1, bytes), *rooms[POSTED];
    MPI_Request requests[POSTED];
    if (bytes > ROOM)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; posted && i < POSTED; i++) {
        rooms[i] = calloc(1, ROOM);
        MPI_Irecv(rooms[i], ROOM, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double start = 0;
    for (int round = -rounds / 10, next = 0; round < rounds; round++, next = (next + 1) % POSTED) {
        if (round == 0)
            start = MPI_Wtime();
        if (me == 0)
            begin_and_wait(block, bytes);
        if (posted)
            wait(&requests[next]);
        else {
            int found = 0, count;
            MPI_Message message;
            MPI_Status status;
            MPI_Request request;
            while (!found)
                MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message, &status);
            MPI_Get_count(&status, MPI_BYTE, &count);
            MPI_Imrecv(block, count, MPI_BYTE, &message, &request);
            wait(&request);
        }
        if (me == 1)
            begin_and_wait(block, bytes);
        if (posted)
            MPI_Irecv(rooms[next], ROOM, MPI_BYTE, 1 - me, 0, MPI_COMM_WORLD, &requests[next]);
    }
    if (me == 0)
        printf("one way %.0f\n", (MPI_Wtime() - start) * 1e9 / (2.0 * rounds));
    for (int i = 0; posted && i < POSTED; i++) {
        MPI_Cancel(&requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
}

/* Sends messages of eight bytes on each channel (a tag) in turn, `window` of them in flight.
 * Prints the nanoseconds of a token. */
static void many(int channels, int tokens, int window)
{
    uint64_t *values = calloc(window, sizeof *values);
    MPI_Request *requests = malloc(window * sizeof *requests);
    long all = (long)channels * tokens, sent = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    while (sent < all) {
        int now = all - sent < window ? all - sent : window;
        for (int i = 0; i < now; i++) {
            int tag = (sent + i) % channels;
            if (me == 0) {
                values[i] = (sent + i) / channels;
                MPI_Isend(&values[i], 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &requests[i]);
            } else
                MPI_Irecv(&values[i], 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(now, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; me == 1 && i < now; i++)
            if (values[i] != (uint64_t)((sent + i) / channels))
                MPI_Abort(MPI_COMM_WORLD, 1);
        sent += now;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        printf("a token %.1f\n", (MPI_Wtime() - start) * 1e9 / all);
}

/* Does the same with one message for a token of each channel, packed and unpacked by hand, two
 * messages in flight. */
static void packed(int channels, int tokens)
{
    uint64_t *values[2] = {calloc(channels, 8), calloc(channels, 8)};
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int round = 0; round < tokens; round++) {
        uint64_t *row = values[round % 2];
        if (me == 0) {
            MPI_Wait(&requests[round % 2], MPI_STATUS_IGNORE);
            for (int i = 0; i < channels; i++)
                row[i] = round;
            MPI_Isend(row, 8 * channels, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[round % 2]);
        } else {
            MPI_Recv(row, 8 * channels, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < channels; i++)
                if (row[i] != (uint64_t)round)
                    MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        printf("a token %.1f\n", (MPI_Wtime() - start) * 1e9 / channels / tokens);
}

int main(int count, char **args)
{
    MPI_Init(&count, &args);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (count == 4 && !strcmp(args[1], "pair"))
        pair(atoi(args[2]), atoi(args[3]));
    else if (count == 4 && (!strcmp(args[1], "probed") || !strcmp(args[1], "posted")))
        unblocked(atoi(args[2]), atoi(args[3]), !strcmp(args[1], "posted"));
    else if (count == 5 && !strcmp(args[1], "many"))
        many(atoi(args[2]), atoi(args[3]), atoi(args[4]));
    else if (count == 4 && !strcmp(args[1], "packed"))
        packed(atoi(args[2]), atoi(args[3]));
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Finalize();
    return 0;
}
