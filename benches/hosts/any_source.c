/* Checks whether receives posted with MPI_ANY_SOURCE complete, as the link between hosts would
 * need. With MPICH 5.0.2 over UCX they do not, so the link posts receives for each OS process
 * (modules/link-mpi/src/posted.rs).
 *
 *     benches/hosts/run any_source
 *
 * Each rank posts eight such receives, sends 3,000 messages to other ranks, 16 at a time, and
 * prints how many it has received. A rank that receives nothing for ten seconds prints which of
 * its receives have completed, and aborts the job with 1. With the argument `each`, there must
 * be two ranks, and receives name the other rank as source. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { POSTED = 8, ROOM = 128 << 10, SENDING = 16, MESSAGES = 3000, TAG = 1, BYE = 4 };

static MPI_Comm comm;
static int me, ranks;
static char *rooms[POSTED];
static MPI_Request receives[POSTED];

static unsigned below(unsigned n)
{
    static unsigned long long state;
    if (state == 0)
        state = 88172645463325252ULL + 7919 * me;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17; /* xorshift64 of G. Marsaglia */
    return (state >> 11) % n;
}

static void post(int at, int of)
{
    MPI_Irecv(rooms[at], ROOM, MPI_BYTE, of, TAG, comm, &receives[at]);
}

int main(int count, char **words)
{
    static char block[ROOM];
    MPI_Request sends[SENDING];
    int sent = 0, received = 0, ended = 0, next = 0, gone = 0, each = count > 1 && words[1][0] == 'e';
    MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    if (each && ranks != 2)
        MPI_Abort(comm, 2);
    int of = each ? 1 - me : MPI_ANY_SOURCE;
    for (int at = 0; at < POSTED; at++) {
        rooms[at] = malloc(ROOM);
        post(at, of);
    }
    for (int at = 0; at < SENDING; at++)
        sends[at] = MPI_REQUEST_NULL;
    double last = MPI_Wtime();
    while (ended < ranks - 1 || !gone) {
        int done, at;
        MPI_Status status;
        if (sent < MESSAGES) {
            MPI_Test(&sends[sent % SENDING], &done, MPI_STATUS_IGNORE);
            if (done) {
                int to = (me + 1 + below(ranks - 1)) % ranks, bytes = 8 + below(2) * below(100000);
                MPI_Isend(block, bytes, MPI_BYTE, to, TAG, comm, &sends[sent % SENDING]);
                sent++;
            }
        } else if (!gone) {
            MPI_Testall(SENDING, sends, &gone, MPI_STATUSES_IGNORE);
            for (int to = 0; gone && to < ranks; to++)
                if (to != me)
                    MPI_Send(block, BYE, MPI_BYTE, to, TAG, comm);
        }
        MPI_Test(&receives[next], &done, &status);
        if (done) {
            int bytes;
            MPI_Get_count(&status, MPI_BYTE, &bytes);
            bytes == BYE ? ended++ : received++;
            post(next, of);
            next = (next + 1) % POSTED;
            last = MPI_Wtime();
        } else if (MPI_Wtime() - last > 10) {
            printf("rank %d has sent %d and received %d; of its receives have ended, from the first:", me, sent, received);
            for (at = 0; at < POSTED; at++) {
                MPI_Request_get_status(receives[(next + at) % POSTED], &done, MPI_STATUS_IGNORE);
                printf(" %s", done ? "yes" : "no");
            }
            printf("\n");
            fflush(stdout);
            MPI_Abort(comm, 1);
        }
    }
    for (int at = 0; at < POSTED; at++) {
        MPI_Cancel(&receives[at]);
        MPI_Wait(&receives[at], MPI_STATUS_IGNORE);
    }
    printf("rank %d has sent %d and received %d\n", me, sent, received);
    MPI_Finalize();
    return 0;
}
