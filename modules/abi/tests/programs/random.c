/* Random programs: random DIRECTORY FIRST COUNT [STEP].
 *
 * Each seed from FIRST on is a program of several steps, which all ranks derive from the seed in the
 * same way. Each rank writes its results to DIRECTORY/RANK.log. The logs do not depend on the
 * implementation of MPI. With STEP, the programs have only this step. */
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 6, MOST = 24, RANKS = 16 };

/* Numbers. All ranks of a communicator draw the same ones. */

static uint64_t state;

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t draw(void) { return mix(state += 0x9e3779b97f4a7c15u); }
static int below(int n) { return (int)(draw() % (uint64_t)n); }
static int chance(int n) { return below(n) == 0; }

/* Numbers that may differ between ranks. They do not change the results. */

static uint64_t own_state;
static int own(int n) { return (int)(mix(own_state += 0x9e3779b97f4a7c15u) % (uint64_t)n); }

static void shuffle(int *all, int count) {
    for (int i = count - 1; i > 0; i--) {
        int j = below(i + 1), swap = all[i];
        all[i] = all[j];
        all[j] = swap;
    }
}

/* The log. */

static FILE *file;

static void say(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vfprintf(file, format, values);
    va_end(values);
    fputc('\n', file);
}

static int class_of(int error) {
    int class = 0;
    MPI_Error_class(error, &class);
    return class;
}

static void check(int error, const char *what) {
    if (error)
        say("%s failed: %d", what, class_of(error));
}

#define CHECK(call) check(call, #call)

/* Memory for elements of a datatype. */

struct memory {
    char *bytes;
    size_t size;
    char *at;
};

static struct memory all_memory[8 * MOST];
static int memories;

static struct memory memory(MPI_Datatype type, int count, uint64_t seed) {
    MPI_Aint lower, extent, true_lower, true_extent, low, high;
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    low = high = true_lower;
    if (count > 0) {
        MPI_Aint last = true_lower + (count - 1) * extent;
        low = last < low ? last : low;
        high = (last > high ? last : high) + true_extent;
    }
    struct memory made = {0};
    made.size = (size_t)(high - low) + 16;
    made.bytes = malloc(made.size);
    made.at = made.bytes + 8 - low;
    for (size_t i = 0; i < made.size; i++)
        made.bytes[i] = (char)(seed ? mix(seed + i) % 100 : 0x5a);
    all_memory[memories++] = made;
    return made;
}

static uint64_t hash(const void *bytes, size_t size) {
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return sum;
}

static void say_memory(const char *what, struct memory of) {
    say("%s %016llx", what, (unsigned long long)hash(of.bytes, of.size));
}

static void free_memory(void) {
    while (memories)
        free(all_memory[--memories].bytes);
}

/* Datatypes. */

struct type {
    MPI_Datatype type, base;
    int bases;
};

static const MPI_Datatype bases[] = {MPI_INT, MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT64_T, MPI_BYTE,
                                     MPI_FLOAT, MPI_UINT8_T};

static void one_level(struct type *type) {
    MPI_Datatype old = type->type, made;
    MPI_Aint lower, extent, true_lower, true_extent, starts[4];
    int lengths[4], at[4], count = 1 + below(4), block = 1 + below(3), sum = 0, kind = below(11);
    MPI_Type_get_extent(old, &lower, &extent);
    MPI_Type_get_true_extent(old, &true_lower, &true_extent);
    MPI_Aint width = extent > true_extent ? extent : true_extent;
    int next = below(3);
    for (int i = 0; i < count; i++) {
        /* MPICH 5.0.2 cannot pack elements without data. */
        lengths[i] = i == 0 ? 1 + below(3) : below(4);
        at[i] = next;
        starts[i] = next * width + 8 * below(3);
        next += (kind == 4 ? block : lengths[i]) + 1 + below(3);
        sum += lengths[i];
    }
    /* Elements that overlap themselves cannot be received. */
    if (extent < true_extent)
        kind = 9;
    switch (kind) {
    case 0:
        CHECK(MPI_Type_contiguous(count, old, &made));
        sum = count;
        break;
    case 1:
        CHECK(MPI_Type_vector(count, block, (chance(3) ? -1 : 1) * (block + below(3)), old, &made));
        sum = count * block;
        break;
    case 2:
        CHECK(MPI_Type_create_hvector(count, block, block * width + 8 * below(3), old, &made));
        sum = count * block;
        break;
    case 3:
        CHECK(MPI_Type_indexed(count, lengths, at, old, &made));
        break;
    case 4:
        CHECK(MPI_Type_create_indexed_block(count, block, at, old, &made));
        sum = count * block;
        break;
    case 5:
        for (int i = 0; i < count; i++)
            starts[i] = at[i] * width + 24 * i;
        CHECK(MPI_Type_create_hindexed(count, lengths, starts, old, &made));
        break;
    case 6: {
        MPI_Datatype fields[4] = {old, old, old, old};
        for (int i = 0; i < count; i++)
            starts[i] = at[i] * width + 24 * i;
        CHECK(MPI_Type_create_struct(count, lengths, starts, fields, &made));
        break;
    }
    case 7: {
        int sizes[2] = {2 + below(3), 2 + below(3)};
        int parts[2] = {1 + below(2), 1 + below(2)}, from[2] = {below(2), below(2)};
        for (int i = 0; i < 2; i++)
            if (from[i] + parts[i] > sizes[i])
                from[i] = 0;
        int order = chance(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        CHECK(MPI_Type_create_subarray(2, sizes, parts, from, order, old, &made));
        sum = parts[0] * parts[1];
        break;
    }
    case 8:
        CHECK(MPI_Type_dup(old, &made));
        sum = 1;
        break;
    case 9:
        CHECK(MPI_Type_create_resized(old, true_lower - 8 * below(2), width + 8 * below(3) + 8,
                                      &made));
        sum = 1;
        break;
    default: {
        int sizes[2] = {2 + below(4), 2 + below(4)}, grid[2] = {2, 1};
        int how[2] = {chance(2) ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC,
                      chance(2) ? MPI_DISTRIBUTE_NONE : MPI_DISTRIBUTE_CYCLIC};
        int sizes_of[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
        int order = chance(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, size, old_size;
        CHECK(MPI_Type_create_darray(2, below(2), 2, sizes, how, sizes_of, grid, order, old, &made));
        MPI_Type_size(made, &size);
        MPI_Type_size(old, &old_size);
        sum = old_size ? size / old_size : 0;
    }
    }
    if (old != type->base)
        MPI_Type_free(&old);
    type->type = made;
    type->bases *= sum;
}

static struct type new_type(void) {
    struct type type;
    type.type = type.base = bases[below(sizeof bases / sizeof *bases)];
    type.bases = 1;
    if (chance(3))
        return type;
    for (int levels = 1 + below(3); levels > 0 && type.bases < 200; levels--)
        one_level(&type);
    if (type.type != type.base)
        CHECK(MPI_Type_commit(&type.type));
    return type;
}

static void free_type(struct type *type) {
    if (type->type != type->base)
        CHECK(MPI_Type_free(&type->type));
}

/* Communicators. A rank that is not a member has MPI_COMM_NULL. */

struct communicator {
    MPI_Comm comm;
    /* Number of ranks on each side. An intracommunicator has one side. */
    int sizes[2];
    int side, rank, inter;
};

static struct communicator slots[SLOTS];

static void describe(struct communicator *of, int side) {
    of->side = 0;
    if (of->comm == MPI_COMM_NULL)
        return;
    CHECK(MPI_Comm_set_errhandler(of->comm, MPI_ERRORS_RETURN));
    MPI_Comm_test_inter(of->comm, &of->inter);
    MPI_Comm_rank(of->comm, &of->rank);
    of->sizes[0] = of->sizes[1] = 0;
    if (of->inter) {
        of->side = side;
        MPI_Comm_size(of->comm, &of->sizes[side]);
        MPI_Comm_remote_size(of->comm, &of->sizes[1 - side]);
    } else {
        MPI_Comm_size(of->comm, &of->sizes[0]);
    }
    say("communicator: inter %d, rank %d of %d and %d", of->inter, of->rank, of->sizes[0],
        of->sizes[1]);
}

/* Requests of a step, and ways to complete them. */

static MPI_Request requests[4 * MOST];
static MPI_Status statuses[4 * MOST];
static int errors[4 * MOST], pending;

/* Records the status of a request, from a call that completed one or several. */
static void completed(int at, MPI_Status *status, int error) {
    statuses[at] = *status;
    errors[at] = error == MPI_ERR_IN_STATUS ? status->MPI_ERROR : error;
}

static void complete(void) {
    int count = pending, left = 0, index, flag, found, indices[4 * MOST], error;
    static MPI_Status some[4 * MOST], one;
    for (int i = 0; i < count; i++)
        left += requests[i] != MPI_REQUEST_NULL;
    for (int i = 0; i < count; i++) {
        errors[i] = 0;
        MPI_Status_set_elements(&statuses[i], MPI_BYTE, 0);
        some[i].MPI_ERROR = 0;
    }
    /* Ways that complete one request at a time report an inactive one forever, so they count. */
    switch (own(9)) {
    case 0:
        /* After an error, it may leave requests pending. */
        error = MPI_Waitall(count, requests, some);
        for (int i = 0; i < count; i++) {
            completed(i, &some[i], error);
            if (errors[i] == MPI_ERR_PENDING)
                errors[i] = MPI_Wait(&requests[i], &statuses[i]);
        }
        break;
    case 1:
        for (int i = count - 1; i >= 0; i--) {
            error = MPI_Wait(&requests[i], &one);
            completed(i, &one, error);
        }
        break;
    case 2:
        for (; left > 0; left--) {
            error = MPI_Waitany(count, requests, &index, &one);
            completed(index, &one, error);
        }
        break;
    case 3:
        while (left > 0) {
            error = MPI_Waitsome(count, requests, &found, indices, some);
            for (int i = 0; i < found; i++)
                completed(indices[i], &some[i], error);
            left -= found;
        }
        break;
    case 4:
        for (int i = 0; i < count; i++) {
            do
                error = MPI_Test(&requests[i], &flag, &one);
            while (!flag);
            completed(i, &one, error);
        }
        break;
    case 5:
        do
            error = MPI_Testall(count, requests, &flag, some);
        while (!flag);
        for (int i = 0; i < count; i++) {
            completed(i, &some[i], error);
            if (errors[i] == MPI_ERR_PENDING)
                errors[i] = MPI_Wait(&requests[i], &statuses[i]);
        }
        break;
    case 6:
        while (left > 0) {
            error = MPI_Testany(count, requests, &index, &flag, &one);
            if (flag) {
                completed(index, &one, error);
                left--;
            }
        }
        break;
    case 7:
        while (left > 0) {
            error = MPI_Testsome(count, requests, &found, indices, some);
            for (int i = 0; i < found; i++)
                completed(indices[i], &some[i], error);
            left -= found;
        }
        break;
    default:
        for (int i = 0; i < count; i++) {
            do
                MPI_Request_get_status(requests[i], &flag, &one);
            while (!flag);
            error = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            completed(i, &one, error);
        }
    }
}

static void free_requests(void) {
    for (int i = 0; i < pending; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            CHECK(MPI_Request_free(&requests[i]));
    pending = 0;
}

/* Messages between two ranks. */

struct message {
    int side, source, dest, tag, count, mode, flat;
};

struct receive {
    int message, tag, room, flat, any_source, any_tag, is_cut;
};

static char attached[1 << 21];

static int send(struct communicator *by, struct type *type, struct message *it, struct memory from,
                MPI_Request *request) {
    MPI_Datatype of = it->flat ? type->base : type->type;
    int count = it->flat ? it->count * type->bases : it->count;
#define SEND(Name) MPI_##Name(from.at, count, of, it->dest, it->tag, by->comm
    switch (it->mode) {
    case 0: return SEND(Send));
    case 1: return SEND(Ssend));
    case 2: return SEND(Bsend));
    case 3: return SEND(Rsend));
    case 4: return SEND(Isend), request);
    case 5: return SEND(Issend), request);
    case 6: return SEND(Ibsend), request);
    case 7: return SEND(Irsend), request);
    case 8: return SEND(Send_init), request);
    case 9: return SEND(Ssend_init), request);
    case 10: return SEND(Bsend_init), request);
    default: return SEND(Rsend_init), request);
    }
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void messages(struct communicator *by) {
    struct type type = new_type();
    struct message all[MOST];
    int count = 1 + below(MOST), sides = by->inter ? 2 : 1, barrier = chance(2), posted = chance(2);
    int persistent = chance(3), rounds = 1 + chance(3), wild[2][RANKS], is_long = chance(12), most = 0;
    for (int i = 0; i < RANKS; i++) {
        wild[0][i] = chance(4);
        wild[1][i] = chance(4);
    }
    for (int i = 0; i < count; i++) {
        struct message *it = &all[i];
        it->side = below(sides);
        int to = by->inter ? 1 - it->side : 0;
        it->source = below(by->sizes[it->side]);
        it->dest = below(by->sizes[to]);
        it->tag = below(4);
        it->count = is_long && type.bases < 20 ? below(4000) : below(6);
        it->flat = chance(3);
        it->mode = below(12);
        /* Ready sends need receives that are posted. Blocking sends need them too, or block. */
        if (!posted && (it->mode < 4 && it->mode != 2))
            it->mode = 4 + below(3);
        if ((it->mode == 3 || it->mode == 7 || it->mode == 11) && !(posted && barrier))
            it->mode = it->mode == 3 ? 2 : it->mode - 1;
        if (is_long && (it->mode == 2 || it->mode == 6 || it->mode == 10))
            it->mode = 5;
        most = it->count > most ? it->count : most;
    }
    /* The receives of this rank, pair by pair. */
    struct receive receives[MOST];
    int receiving = 0;
    int my_side = by->side, from_side = by->inter ? 1 - my_side : 0;
    for (int side = 0; side < sides; side++)
        for (int dest = 0; dest < by->sizes[by->inter ? 1 - side : 0]; dest++)
            for (int source = 0; source < by->sizes[side]; source++) {
                int order[MOST], of_pair = 0;
                for (int i = 0; i < count; i++)
                    if (all[i].side == side && all[i].dest == dest && all[i].source == source)
                        order[of_pair++] = i;
                int tags[MOST], taken[MOST] = {0}, any[MOST], cut[MOST];
                int got[MOST];
                for (int i = 0; i < of_pair; i++)
                    tags[i] = order[i];
                shuffle(tags, of_pair);
                int exact = !chance(3);
                for (int i = 0; i < of_pair; i++) {
                    any[i] = !exact && chance(2);
                    cut[i] = chance(20);
                }
                /* Messages of a pair are matched in order. */
                for (int retry = 0; retry < 2; retry++) {
                    int failed = 0;
                    memset(taken, 0, sizeof taken);
                    for (int r = 0; r < of_pair; r++) {
                        got[r] = -1;
                        for (int m = 0; m < of_pair && got[r] < 0; m++)
                            if (!taken[m] && (any[r] || all[order[m]].tag == all[tags[r]].tag)) {
                                taken[m] = 1;
                                got[r] = order[m];
                            }
                        failed |= got[r] < 0;
                    }
                    if (!failed)
                        break;
                    memset(any, 0, sizeof any);
                }
                int is_wild = wild[by->inter ? 1 - side : 0][dest];
                for (int r = 0; r < of_pair; r++) {
                    struct receive it = {got[r], all[tags[r]].tag, all[got[r]].count, chance(3),
                                         is_wild, is_wild || any[r], 0};
                    it.room += chance(3) * 2;
                    it.is_cut = cut[r] && !is_wild && posted && !persistent && all[got[r]].count > 0 && type.bases > 0;
                    if (it.is_cut)
                        it.room = all[got[r]].count - 1;
                    if (is_wild) {
                        it.room = most;
                        it.flat = 0;
                    }
                    if (side == from_side && dest == by->rank)
                        receives[receiving++] = it;
                }
            }
    if (!wild[my_side][by->rank]) {
        /* Receives from different sources are independent. */
        for (int i = 0; i < receiving; i++) {
            int j = own(receiving), a = receives[i].message, b = receives[j].message;
            if (all[a].source != all[b].source && i + 1 == j) {
                struct receive swap = receives[i];
                receives[i] = receives[j];
                receives[j] = swap;
            }
        }
    }
    say("messages: %d, posted %d, barrier %d, rounds %d", count, posted, barrier, rounds);
    CHECK(MPI_Buffer_attach(attached, sizeof attached));
    struct memory from[MOST], to[MOST];
    int sends[MOST], of_receive[MOST];
    for (int round = 0; round < rounds; round++) {
        char *lines[MOST];
        if (round == 0) {
            for (int i = 0; i < count; i++) {
                sends[i] = -1;
                if (all[i].side == my_side && all[i].source == by->rank) {
                    from[i] = memory(type.type, all[i].count, (uint64_t)(i + 1) << 20);
                    if (all[i].flat) {
                        free(from[i].bytes);
                        memories--;
                        from[i] = memory(type.base, all[i].count * type.bases, (uint64_t)(i + 1) << 20);
                    }
                }
            }
            for (int i = 0; i < receiving; i++)
                to[i] = receives[i].flat
                            ? memory(type.base, receives[i].room * type.bases, 0)
                            : memory(type.type, receives[i].room, 0);
        }
        for (int i = 0; i < receiving; i++)
            memset(to[i].bytes, 0x5a, to[i].size);
        if (round == 0)
            pending = 0;
        for (int phase = 0; phase < 2; phase++) {
            if (phase == posted) {
                /* Sends. */
                for (int i = 0; i < count; i++) {
                    struct message *it = &all[i];
                    if (it->side != my_side || it->source != by->rank)
                        continue;
                    if (round > 0 && it->mode >= 8) {
                        CHECK(MPI_Start(&requests[sends[i]]));
                        continue;
                    }
                    if (it->mode >= 4 && sends[i] < 0) {
                        sends[i] = pending++;
                    }
                    CHECK(send(by, &type, it, from[i], it->mode < 4 ? NULL : &requests[sends[i]]));
                    if (it->mode >= 8)
                        CHECK(MPI_Start(&requests[sends[i]]));
                }
            } else if (posted) {
                int first = pending;
                for (int i = 0; i < receiving; i++) {
                    struct receive *it = &receives[i];
                    MPI_Datatype of = it->flat ? type.base : type.type;
                    int room = it->flat ? it->room * type.bases : it->room;
                    int source = it->any_source ? MPI_ANY_SOURCE : all[it->message].source;
                    int tag = it->any_tag ? MPI_ANY_TAG : it->tag;
                    if (round == 0)
                        of_receive[i] = pending++;
                    MPI_Request *request = &requests[of_receive[i]];
                    if (!persistent)
                        CHECK(MPI_Irecv(to[i].at, room, of, source, tag, by->comm, request));
                    else if (round == 0)
                        CHECK(MPI_Recv_init(to[i].at, room, of, source, tag, by->comm, request));
                }
                if (persistent) {
                    if (round > 0)
                        first = receiving ? of_receive[0] : 0;
                    CHECK(MPI_Startall(receiving, &requests[first]));
                }
            } else {
                /* Receives that find their messages. */
                for (int i = 0; i < receiving; i++) {
                    struct receive *it = &receives[i];
                    MPI_Datatype of = it->flat ? type.base : type.type;
                    int room = it->flat ? it->room * type.bases : it->room, flag, bytes;
                    int source = it->any_source ? MPI_ANY_SOURCE : all[it->message].source;
                    int tag = it->any_tag ? MPI_ANY_TAG : it->tag;
                    MPI_Message message;
                    MPI_Status *status = &statuses[4 * MOST - 1 - i], probed;
                    int error = 0;
                    switch (own(6)) {
                    case 0:
                        error = MPI_Recv(to[i].at, room, of, source, tag, by->comm, status);
                        break;
                    case 1:
                        CHECK(MPI_Probe(source, tag, by->comm, &probed));
                        MPI_Get_count(&probed, MPI_BYTE, &bytes);
                        error = MPI_Recv(to[i].at, room, of, probed.MPI_SOURCE, probed.MPI_TAG,
                                         by->comm, status);
                        int again;
                        MPI_Get_count(status, MPI_BYTE, &again);
                        if (bytes != again || probed.MPI_SOURCE != status->MPI_SOURCE)
                            say("probe found %d bytes instead of %d", bytes, again);
                        break;
                    case 2:
                        CHECK(MPI_Mprobe(source, tag, by->comm, &message, &probed));
                        error = MPI_Mrecv(to[i].at, room, of, &message, status);
                        if (message != MPI_MESSAGE_NULL)
                            say("the message is not null");
                        break;
                    case 3:
                        do
                            CHECK(MPI_Iprobe(source, tag, by->comm, &flag, &probed));
                        while (!flag);
                        error = MPI_Recv(to[i].at, room, of, probed.MPI_SOURCE, probed.MPI_TAG,
                                         by->comm, status);
                        break;
                    case 4: {
                        MPI_Request request;
                        do
                            CHECK(MPI_Improbe(source, tag, by->comm, &flag, &message, &probed));
                        while (!flag);
                        CHECK(MPI_Imrecv(to[i].at, room, of, &message, &request));
                        error = MPI_Wait(&request, status);
                        break;
                    }
                    default: {
                        MPI_Request request;
                        CHECK(MPI_Irecv(to[i].at, room, of, source, tag, by->comm, &request));
                        error = MPI_Wait(&request, status);
                    }
                    }
                    errors[4 * MOST - 1 - i] = error;
                }
            }
            if (phase == 0 && barrier)
                CHECK(MPI_Barrier(by->comm));
        }
        complete();
        for (int i = 0; i < count; i++)
            if (sends[i] >= 0)
                check(errors[sends[i]], "send");
        for (int i = 0; i < receiving; i++) {
            int at = posted ? of_receive[i] : 4 * MOST - 1 - i, elements, of_base;
            MPI_Status *status = &statuses[at];
            lines[i] = malloc(200);
            MPI_Get_count(status, receives[i].flat ? type.base : type.type, &elements);
            if (receives[i].is_cut) {
                /* MPICH 5.0.2 does not report each truncation. */
                int is_full = elements == receives[i].room * (receives[i].flat ? type.bases : 1);
                int is_reported = class_of(errors[at]) == MPI_ERR_TRUNCATE;
                sprintf(lines[i], "truncated %d", is_reported || (errors[at] == 0 && is_full));
            } else if (errors[at]) {
                sprintf(lines[i], "error %d", class_of(errors[at]));
            } else {
                MPI_Get_elements(status, receives[i].flat ? type.base : type.type, &of_base);
                sprintf(lines[i], "received %d = %d from %d with tag %d: %016llx", elements, of_base,
                        status->MPI_SOURCE, status->MPI_TAG,
                        (unsigned long long)hash(to[i].bytes, to[i].size));
            }
        }
        if (wild[my_side][by->rank])
            qsort(lines, receiving, sizeof *lines, compare);
        for (int i = 0; i < receiving; i++) {
            say("%s", lines[i]);
            free(lines[i]);
        }
        CHECK(MPI_Barrier(by->comm));
    }
    free_requests();
    void *address;
    int size;
    CHECK(MPI_Buffer_detach(&address, &size));
    free_memory();
    free_type(&type);
}

/* Exchanges along a permutation of the ranks. */
static void exchanges(struct communicator *by) {
    if (by->inter)
        return;
    struct type type = new_type();
    int size = by->sizes[0], to[RANKS], dest = 0, source = 0, count = below(5), kind = below(4);
    for (int i = 0; i < size; i++)
        to[i] = i;
    shuffle(to, size);
    int cut = chance(3) ? below(size) : -1;
    for (int i = 0; i < size; i++) {
        if (i == by->rank)
            dest = i == cut ? MPI_PROC_NULL : to[i];
        if (to[i] == by->rank)
            source = i == cut ? MPI_PROC_NULL : i;
    }
    struct memory from = memory(type.type, count, 1000 + by->rank);
    struct memory into = memory(type.type, count, 0);
    MPI_Status status = {0};
    MPI_Request request;
    switch (kind) {
    case 0:
        CHECK(MPI_Sendrecv(from.at, count, type.type, dest, 7, into.at, count, type.type, source,
                           chance(2) ? 7 : MPI_ANY_TAG, by->comm, &status));
        break;
    case 1:
        CHECK(MPI_Sendrecv_replace(from.at, count, type.type, dest, 7, source, 7, by->comm, &status));
        break;
    case 2:
        CHECK(MPI_Isendrecv(from.at, count, type.type, dest, 7, into.at, count, type.type, source, 7,
                            by->comm, &request));
        CHECK(MPI_Wait(&request, &status));
        break;
    default:
        CHECK(MPI_Isendrecv_replace(from.at, count, type.type, dest, 7, source, 7, by->comm,
                                    &request));
        CHECK(MPI_Wait(&request, &status));
    }
    int elements;
    MPI_Get_count(&status, type.type, &elements);
    say("exchange %d", kind);
    /* MPICH 5.0.2 does not set the status of the other kinds. */
    if (kind < 2)
        say("source %d, tag %d, count %d", status.MPI_SOURCE, status.MPI_TAG, elements);
    /* MPICH 5.0.2 sends wrong elements for this kind. */
    if (kind < 3)
        say_memory("sent", from);
    say_memory("received", into);
    free_memory();
    free_type(&type);
    CHECK(MPI_Barrier(by->comm));
}

/* Receives that are cancelled. */
static void cancels(struct communicator *by) {
    MPI_Status status;
    int flag, byte;
    MPI_Request request;
    CHECK(MPI_Irecv(&byte, 1, MPI_INT, MPI_ANY_SOURCE, 77, by->comm, &request));
    CHECK(MPI_Cancel(&request));
    CHECK(MPI_Wait(&request, &status));
    MPI_Test_cancelled(&status, &flag);
    say("cancelled %d", flag);
}

/* Packing, and the answers about a datatype. */
static void packs(struct communicator *by) {
    struct type type = new_type();
    int count = below(5), size, bytes, at = 0, integers, addresses, types, combiner;
    MPI_Aint lower, extent, true_lower, true_extent, room, place = 0;
    MPI_Type_size(type.type, &size);
    MPI_Type_get_extent(type.type, &lower, &extent);
    MPI_Type_get_true_extent(type.type, &true_lower, &true_extent);
    MPI_Type_get_envelope(type.type, &integers, &addresses, &types, &combiner);
    say("type: size %d, from %ld to %ld, true from %ld to %ld, envelope %d %d %d %d", size, (long)lower,
        (long)(lower + extent), (long)true_lower, (long)(true_lower + true_extent), integers, addresses,
        types, combiner);
    struct memory from = memory(type.type, count, 5), to = memory(type.type, count, 0);
    struct memory external = memory(type.type, count, 0);
    CHECK(MPI_Pack_size(count, type.type, by->comm, &bytes));
    char *packed = malloc(bytes + 1);
    CHECK(MPI_Pack(from.at, count, type.type, packed, bytes, &at, by->comm));
    say("packed %d: %016llx", at, (unsigned long long)hash(packed, at));
    int end = at;
    at = 0;
    CHECK(MPI_Unpack(packed, end, &at, to.at, count, type.type, by->comm));
    say_memory("unpacked", to);
    free(packed);
    CHECK(MPI_Pack_external_size("external32", count, type.type, &room));
    packed = malloc(room + 1);
    CHECK(MPI_Pack_external("external32", from.at, count, type.type, packed, room, &place));
    say("external %ld: %016llx", (long)place, (unsigned long long)hash(packed, place));
    place = 0;
    CHECK(MPI_Unpack_external("external32", packed, room, &place, external.at, count, type.type));
    say_memory("from external", external);
    free(packed);
    free_memory();
    free_type(&type);
}

/* Collective calls. Each is blocking, nonblocking, or persistent. */

#define RUN(Name, name, ...)                                                                         \
    switch (how) {                                                                                   \
    case 0: CHECK(MPI_##Name(__VA_ARGS__)); break;                                                   \
    case 1: CHECK(MPI_I##name(__VA_ARGS__, &requests[pending++])); break;                            \
    default:                                                                                         \
        CHECK(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &requests[pending]));                    \
        CHECK(MPI_Start(&requests[pending++]));                                                      \
    }

/* Composition of the maps x -> a x + b. It is not commutative. */
static void compose(void *left, void *right, int *count, MPI_Datatype *type) {
    uint32_t *a = left, *b = right;
    (void)type;
    for (int i = 0; i < *count; i++) {
        uint32_t factor = a[2 * i] * b[2 * i], sum = a[2 * i] * b[2 * i + 1] + a[2 * i + 1];
        b[2 * i] = factor;
        b[2 * i + 1] = sum;
    }
}

static MPI_Op composition;
static MPI_Datatype map;

static const struct {
    MPI_Datatype type;
    /* 'i': integers, 'f': floating point, 'c': complex numbers, 'b': bytes, 'l': logical values, 'p':
     * pairs with a location, 'm': maps. */
    char kind;
} numbers[] = {
    {MPI_INT, 'i'},        {MPI_LONG, 'i'},          {MPI_SHORT, 'i'},   {MPI_UNSIGNED, 'i'},
    {MPI_INT8_T, 'i'},     {MPI_UINT16_T, 'i'},      {MPI_INT64_T, 'i'}, {MPI_UNSIGNED_CHAR, 'i'},
    {MPI_DOUBLE, 'f'},     {MPI_FLOAT, 'f'},         {MPI_AINT, 'a'},    {MPI_BYTE, 'b'},
    {MPI_C_BOOL, 'l'},     {MPI_2INT, 'p'},          {MPI_LONG_INT, 'p'}, {MPI_SHORT_INT, 'p'},
    {MPI_FLOAT_INT, 'p'},  {MPI_DOUBLE_INT, 'p'},    {MPI_INT, 'm'},     {MPI_C_DOUBLE_COMPLEX, 'c'},
    {MPI_SIGNED_CHAR, 'i'}, {MPI_COUNT, 'a'},        {MPI_C_FLOAT_COMPLEX, 'c'},
};

static MPI_Op operation(char kind) {
    static const MPI_Op of_integers[] = {MPI_SUM,  MPI_PROD, MPI_MAX,  MPI_MIN, MPI_BAND,
                                         MPI_BOR,  MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};
    static const MPI_Op of_floats[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN};
    static const MPI_Op of_bytes[] = {MPI_BAND, MPI_BOR, MPI_BXOR};
    static const MPI_Op of_logicals[] = {MPI_LAND, MPI_LOR, MPI_LXOR};
    static const MPI_Op of_pairs[] = {MPI_MAXLOC, MPI_MINLOC};
    switch (kind) {
    case 'i': return of_integers[below(10)];
    case 'a': return of_floats[below(4)];
    case 'f': return of_floats[below(4)];
    /* The signs of zeros in a product depend on the order. */
    case 'c': return MPI_SUM;
    case 'b': return of_bytes[below(3)];
    case 'l': return of_logicals[below(3)];
    case 'p': return of_pairs[below(2)];
    default: return composition;
    }
}

/* Fills elements with small numbers. */
static struct memory operands(int at, int count, uint64_t seed) {
    MPI_Datatype type = numbers[at].kind == 'm' ? map : numbers[at].type;
    struct memory made = memory(type, count, 0);
    memset(made.bytes, 0, made.size);
    MPI_Aint lower, extent;
    MPI_Type_get_extent(type, &lower, &extent);
    for (int i = 0; i < count; i++) {
        char *to = made.at + i * extent;
        int value = (int)(mix(seed + i) % 5), where = (int)(mix(seed * 31 + i) % 9);
        if (type == MPI_DOUBLE)
            *(double *)to = value;
        else if (type == MPI_FLOAT)
            *(float *)to = value;
        else if (type == MPI_C_DOUBLE_COMPLEX)
            ((double *)to)[0] = value, ((double *)to)[1] = where;
        else if (type == MPI_C_FLOAT_COMPLEX)
            ((float *)to)[0] = value, ((float *)to)[1] = where;
        else if (type == MPI_C_BOOL)
            *to = value & 1;
        else if (type == MPI_2INT || type == map)
            ((int *)to)[0] = value, ((int *)to)[1] = where;
        else if (type == MPI_LONG_INT)
            *(long *)to = value, *(int *)(to + 8) = where;
        else if (type == MPI_SHORT_INT)
            *(short *)to = value, *(int *)(to + 4) = where;
        else if (type == MPI_FLOAT_INT)
            *(float *)to = value, *(int *)(to + 4) = where;
        else if (type == MPI_DOUBLE_INT)
            *(double *)to = value, *(int *)(to + 8) = where;
        else
            *to = value;
    }
    return made;
}

static void reduction(struct communicator *by, int how, struct memory *shown) {
    int at = below(sizeof numbers / sizeof *numbers), size = by->sizes[0], rank = by->rank;
    MPI_Datatype type = numbers[at].kind == 'm' ? map : numbers[at].type;
    MPI_Op op = operation(numbers[at].kind);
    int count = chance(10) ? 3000 : below(7), root = below(size), kind = below(by->inter ? 2 : 7);
    int in_place = !by->inter && chance(3), own_count = count, *counts = NULL;
    uint64_t seed = (uint64_t)(rank + 1) * 7919 + by->side * 131;
    int total = count;
    if (kind == 4) {
        count = below(5);
        total = count * size;
    } else if (kind == 5) {
        counts = (int *)(memory(MPI_INT, size, 0).at);
        total = 0;
        for (int i = 0; i < size; i++)
            total += counts[i] = below(4);
        own_count = counts[rank];
    }
    struct memory from = operands(at, total, seed), to = operands(at, total, seed + 99);
    const void *source = from.at;
    *shown = to;
    if (in_place) {
        source = MPI_IN_PLACE;
        memcpy(to.bytes, from.bytes, from.size);
    }
    say("reduction %d of %d: %d in place %d", kind, at, total, in_place);
    switch (kind) {
    case 0:
        RUN(Allreduce, allreduce, source, to.at, total, type, op, by->comm);
        break;
    case 1:
        if (by->inter) {
            int to_side = below(2);
            root = below(by->sizes[to_side]);
            root = by->side != to_side ? root : by->rank == root ? MPI_ROOT : MPI_PROC_NULL;
        } else if (rank != root && in_place) {
            source = from.at;
            memset(to.bytes, 0, to.size);
        }
        if (!by->inter && rank != root)
            memset(to.bytes, 0, to.size);
        RUN(Reduce, reduce, source, to.at, total, type, op, root, by->comm);
        break;
    case 2:
        RUN(Scan, scan, source, to.at, total, type, op, by->comm);
        break;
    case 3:
        RUN(Exscan, exscan, source, to.at, total, type, op, by->comm);
        /* The result of the first rank is undefined. */
        if (rank == 0)
            *shown = from;
        break;
    case 4:
        RUN(Reduce_scatter_block, reduce_scatter_block, source, to.at, count, type, op, by->comm);
        /* The rest of the buffer is undefined. */
        MPI_Aint lower, extent;
        MPI_Type_get_extent(type, &lower, &extent);
        shown->bytes = to.at, shown->size = (size_t)(count * extent);
        break;
    case 5:
        RUN(Reduce_scatter, reduce_scatter, source, to.at, counts, type, op, by->comm);
        MPI_Type_get_extent(type, &lower, &extent);
        shown->bytes = to.at, shown->size = (size_t)(own_count * extent);
        break;
    default:
        CHECK(MPI_Reduce_local(from.at, to.at, total, type, op));
    }
}

static void movement(struct communicator *by, int how, struct type *type, struct memory *shown) {
    int size = by->sizes[by->inter ? 1 - by->side : 0], most = by->sizes[0] + by->sizes[1];
    int local = by->sizes[by->side], rank = by->rank, kind = below(11), count = below(4);
    int in_place = !by->inter && chance(4), root = below(by->sizes[0]), is_root = rank == root;
    MPI_Datatype of = type->type;
    uint64_t seed = (uint64_t)(rank + 1 + 100 * by->side) * 104729;
    int back = 0;
    if (by->inter) {
        /* The root is on a side. */
        back = below(2);
        root = below(by->sizes[back]);
        is_root = by->side == back && rank == root;
        root = by->side != back ? root : is_root ? MPI_ROOT : MPI_PROC_NULL;
    }
    /* How much each rank of a side sends to each of the other. */
    int *counts = (int *)memory(MPI_INT, most, 0).at, *starts = (int *)memory(MPI_INT, most, 0).at;
    int *to_counts = (int *)memory(MPI_INT, most, 0).at, *to_starts = (int *)memory(MPI_INT, most, 0).at;
    int order[2 * RANKS], next = 0, to_next = 0;
    uint64_t table = draw();
#define AMOUNT(side, from, to) ((int)(mix(table + (side) * 10007 + (from) * 101 + (to)) % 4))
    for (int i = 0; i < most; i++)
        order[i] = i;
    shuffle(order, most);
    int whole = most * 6;
    struct memory from = memory(of, whole, seed), to = memory(of, whole, 0);
    const void *source = from.at;
    *shown = to;
    say("movement %d: %d in place %d", kind, count, in_place);
    switch (kind) {
    case 0:
        RUN(Barrier, barrier, by->comm);
        break;
    case 1:
        *shown = is_root ? from : to;
        RUN(Bcast, bcast, shown->at, count, of, root, by->comm);
        break;
    case 2:
        if (in_place && is_root)
            source = MPI_IN_PLACE;
        RUN(Gather, gather, source, count, of, to.at, count, of, root, by->comm);
        break;
    case 3: {
        void *target = in_place && is_root ? MPI_IN_PLACE : to.at;
        RUN(Scatter, scatter, source, count, of, target, count, of, root, by->comm);
        break;
    }
    case 4:
        if (in_place)
            source = MPI_IN_PLACE;
        RUN(Allgather, allgather, source, count, of, to.at, count, of, by->comm);
        break;
    case 5:
        if (in_place) {
            source = MPI_IN_PLACE;
            memcpy(to.bytes, from.bytes, to.size);
        }
        RUN(Alltoall, alltoall, source, count, of, to.at, count, of, by->comm);
        break;
    case 6: /* Gatherv */
    case 8: { /* Allgatherv */
        int remote = by->inter ? 1 - by->side : 0;
        for (int j = 0; j < most; j++) {
            int i = order[j];
            if (i >= size)
                continue;
            counts[i] = AMOUNT(remote, i, 0);
            starts[i] = next;
            next += counts[i] + (int)(mix(table + i) % 2);
        }
        int mine = AMOUNT(by->side, rank, 0);
        if (in_place && (kind == 8 || is_root))
            source = MPI_IN_PLACE;
        if (kind == 6) {
            RUN(Gatherv, gatherv, source, mine, of, to.at, counts, starts, of, root, by->comm);
        } else {
            RUN(Allgatherv, allgatherv, source, mine, of, to.at, counts, starts, of, by->comm);
        }
        break;
    }
    case 7: { /* Scatterv */
        int remote = by->inter ? 1 - by->side : 0;
        for (int j = 0; j < most; j++) {
            int i = order[j];
            if (i >= size)
                continue;
            counts[i] = AMOUNT(remote, i, 0);
            starts[i] = next;
            next += counts[i] + (int)(mix(table + i) % 2);
        }
        int mine = AMOUNT(by->side, rank, 0);
        void *target = in_place && is_root ? MPI_IN_PLACE : to.at;
        RUN(Scatterv, scatterv, source, counts, starts, of, target, mine, of, root, by->comm);
        break;
    }
    case 9: /* Alltoallv */
    default: { /* Alltoallw */
        int remote = by->inter ? 1 - by->side : 0;
        for (int j = 0; j < most; j++) {
            int i = order[j];
            if (i >= size)
                continue;
            counts[i] = AMOUNT(by->side, rank, i);
            to_counts[i] = AMOUNT(remote, i, rank);
            starts[i] = next;
            to_starts[i] = to_next;
            next += counts[i] + (int)(mix(table + i) % 2);
            to_next += to_counts[i] + (int)(mix(table + 50 + i) % 2);
        }
        if (kind == 9) {
            RUN(Alltoallv, alltoallv, source, counts, starts, of, to.at, to_counts, to_starts, of,
                by->comm);
        } else {
            MPI_Datatype *types = (MPI_Datatype *)memory(MPI_BYTE, most * sizeof of, 0).at;
            MPI_Aint lower, extent;
            MPI_Type_get_extent(of, &lower, &extent);
            for (int i = 0; i < most; i++)
                types[i] = of;
            for (int i = 0; i < size; i++)
                starts[i] *= extent, to_starts[i] *= extent;
            RUN(Alltoallw, alltoallw, source, counts, starts, types, to.at, to_counts, to_starts, types,
                by->comm);
        }
    }
    }
    (void)local;
}

static void collectives(struct communicator *by) {
    struct type type = new_type();
    struct memory shown[4];
    int count = 1 + below(4);
    pending = 0;
    for (int i = 0; i < count; i++) {
        int how = below(3);
        if (chance(2))
            reduction(by, how, &shown[i]);
        else
            movement(by, how, &type, &shown[i]);
    }
    complete();
    for (int i = 0; i < pending; i++)
        check(errors[i], "collective request");
    for (int i = 0; i < count; i++)
        say_memory("result", shown[i]);
    free_requests();
    free_memory();
    free_type(&type);
}

/* Neighbourhood collectives. */
static void neighbours(struct communicator *by) {
    if (by->inter)
        return;
    struct type type = new_type();
    int size = by->sizes[0], rank = by->rank, degree_in = 0, degree_out = 0;
    int in[64], out[64], counts[64], starts[64], to_counts[64], to_starts[64];
    MPI_Comm comm;
    int is_grid = chance(2);
    if (is_grid) {
        int dims[2] = {0, 0}, periods[2] = {below(2), below(2)}, coordinates[2];
        CHECK(MPI_Dims_create(size, 2, dims));
        CHECK(MPI_Cart_create(by->comm, 2, dims, periods, 0, &comm));
        CHECK(MPI_Cart_coords(comm, rank, 2, coordinates));
        say("grid %d x %d at %d, %d", dims[0], dims[1], coordinates[0], coordinates[1]);
        for (int i = 0; i < 2; i++) {
            int low, high;
            CHECK(MPI_Cart_shift(comm, i, 1, &low, &high));
            in[degree_in++] = out[degree_out++] = low;
            in[degree_in++] = out[degree_out++] = high;
        }
    } else {
        for (int a = 0; a < size; a++)
            for (int b = 0; b < size; b++)
                for (int edges = below(3); edges > 0; edges--) {
                    if (a == rank && degree_out < 60)
                        out[degree_out++] = b;
                    if (b == rank && degree_in < 60)
                        in[degree_in++] = a;
                }
        CHECK(MPI_Dist_graph_create_adjacent(by->comm, degree_in, in, MPI_UNWEIGHTED, degree_out, out,
                                             MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    }
    int how = below(3), kind = below(5), next = 0, to_next = 0, count = below(4);
    for (int i = 0; i < degree_out; i++) {
        counts[i] = out[i] < 0 ? 1 : 1 + (rank + out[i]) % 3;
        starts[i] = next;
        next += counts[i] + i % 2;
    }
    int mine = 1 + rank % 3;
    for (int i = 0; i < degree_in; i++) {
        to_counts[i] = in[i] < 0 ? 1 : kind == 1 ? 1 + in[i] % 3 : 1 + (rank + in[i]) % 3;
        to_starts[i] = to_next;
        to_next += to_counts[i] + i % 2;
    }
    struct memory from = memory(type.type, 320, 17 + rank), to = memory(type.type, 320, 0);
    pending = 0;
    MPI_Comm by_comm = comm;
    switch (kind) {
    case 0:
        RUN(Neighbor_allgather, neighbor_allgather, from.at, count, type.type, to.at, count, type.type,
            by_comm);
        break;
    case 1:
        RUN(Neighbor_allgatherv, neighbor_allgatherv, from.at, mine, type.type, to.at, to_counts,
            to_starts, type.type, by_comm);
        break;
    case 2:
        RUN(Neighbor_alltoall, neighbor_alltoall, from.at, count, type.type, to.at, count, type.type,
            by_comm);
        break;
    case 3:
        RUN(Neighbor_alltoallv, neighbor_alltoallv, from.at, counts, starts, type.type, to.at, to_counts,
            to_starts, type.type, by_comm);
        break;
    default: {
        MPI_Datatype types[64];
        MPI_Aint bytes[64], to_bytes[64], lower, extent;
        MPI_Type_get_extent(type.type, &lower, &extent);
        for (int i = 0; i < 64; i++)
            types[i] = type.type;
        for (int i = 0; i < degree_out; i++)
            bytes[i] = starts[i] * extent;
        for (int i = 0; i < degree_in; i++)
            to_bytes[i] = to_starts[i] * extent;
        RUN(Neighbor_alltoallw, neighbor_alltoallw, from.at, counts, bytes, types, to.at, to_counts,
            to_bytes, types, by_comm);
        complete();
        free_requests();
    }
    }
    complete();
    free_requests();
    say("neighbourhood %d, grid %d, how %d, %d and %d neighbours", kind, is_grid, how, degree_in,
        degree_out);
    say_memory("result", to);
    free_memory();
    free_type(&type);
    CHECK(MPI_Comm_free(&comm));
}

/* Calls that create communicators. The new one goes to a slot of all ranks. */
static void create(struct communicator *by, struct communicator *to) {
    int kind = below(7), size = by->sizes[0] + by->sizes[1], side = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    uint64_t table = draw();
    int number = by->rank + by->side * by->sizes[0];
    int colour = (int)(mix(table + number) % 3), key = (int)(mix(table + number + 77) % 5);
    say("create %d", kind);
    switch (kind) {
    case 0:
        CHECK(MPI_Comm_dup(by->comm, &comm));
        side = by->side;
        break;
    case 1: {
        MPI_Request request;
        CHECK(MPI_Comm_idup(by->comm, &comm, &request));
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        side = by->side;
        break;
    }
    case 2:
        if (by->inter)
            colour = 0;
        CHECK(MPI_Comm_split(by->comm, colour == 2 ? MPI_UNDEFINED : colour, key, &comm));
        side = by->side;
        break;
    case 3:
        if (by->inter) {
            int high = by->side == (int)(table & 1);
            CHECK(MPI_Intercomm_merge(by->comm, high, &comm));
        } else {
            MPI_Group all, some;
            int ranks[RANKS], count = 0;
            for (int i = size - 1; i >= 0; i--)
                if (mix(table + i) % 3)
                    ranks[count++] = i;
            CHECK(MPI_Comm_group(by->comm, &all));
            CHECK(MPI_Group_incl(all, count, ranks, &some));
            CHECK(MPI_Comm_create(by->comm, some, &comm));
            MPI_Group_free(&all);
            MPI_Group_free(&some);
        }
        break;
    case 4:
    case 5:
        if (!by->inter && size > 1) {
            MPI_Comm half;
            side = by->rank % 2;
            CHECK(MPI_Comm_split(by->comm, side, key, &half));
            /* The leader of the other side, by the same keys. */
            int best = -1;
            for (int i = 1 - side; i < size; i += 2) {
                int of = (int)(mix(table + i + 77) % 5);
                if (best < 0 || of < (int)(mix(table + best + 77) % 5))
                    best = i;
            }
            CHECK(MPI_Intercomm_create(half, 0, by->comm, best, 5, &comm));
            CHECK(MPI_Comm_free(&half));
        }
        break;
    default: {
        /* Only groups. */
        MPI_Group all, some, rest, both;
        int ranges[2][3] = {{0, (by->sizes[by->side] - 1) / 2, 1}, {by->sizes[by->side] - 1, 0, -2}};
        int ranks[2 * RANKS], compared, of[2 * RANKS], count;
        CHECK(MPI_Comm_group(by->comm, &all));
        CHECK(MPI_Group_range_incl(all, 1, &ranges[1], &some));
        CHECK(MPI_Group_range_excl(all, 1, ranges, &rest));
        CHECK(table & 1 ? MPI_Group_union(some, rest, &both)
                        : table & 2 ? MPI_Group_intersection(some, rest, &both)
                                    : MPI_Group_difference(some, rest, &both));
        MPI_Group_size(both, &count);
        for (int i = 0; i < count; i++)
            ranks[i] = i;
        CHECK(MPI_Group_translate_ranks(both, count, ranks, all, of));
        CHECK(MPI_Group_compare(both, all, &compared));
        say("group of %d, compared %d: %016llx", count, compared,
            (unsigned long long)hash(of, count * sizeof *of));
        MPI_Group_free(&all);
        MPI_Group_free(&some);
        MPI_Group_free(&rest);
        MPI_Group_free(&both);
    }
    }
    to->comm = comm;
    describe(to, side);
    if (comm != MPI_COMM_NULL) {
        int compared;
        CHECK(MPI_Comm_compare(by->comm, comm, &compared));
        say("compared %d", compared);
    }
}

static void program(uint64_t seed, int only) {
    int world;
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    state = mix(seed + 1);
    own_state = mix(seed * 31 + world);
    for (int i = 0; i < SLOTS; i++)
        slots[i].comm = MPI_COMM_NULL;
    slots[0].comm = MPI_COMM_WORLD;
    describe(&slots[0], 0);
    int steps = 3 + below(8);
    for (int step = 0; step < steps; step++) {
        uint64_t seed_of_step = draw();
        int slot = below(SLOTS) % 3 ? below(SLOTS) : 0, kind = below(10), target = 1 + below(SLOTS - 1);
        struct communicator *by = &slots[slot], *to = &slots[target];
        uint64_t saved = state;
        if (kind < 3) {
            if (to == by)
                continue;
            if (to->comm != MPI_COMM_NULL)
                CHECK(MPI_Comm_free(&to->comm));
        } else if (only >= 0 && only != step) {
            continue;
        }
        if (by->comm == MPI_COMM_NULL)
            continue;
        say("step %d at slot %d", step, slot);
        /* The ranks of a communicator continue alone. */
        state = mix(seed_of_step + by->sizes[0] * 17 + by->sizes[1] * 257);
        switch (kind) {
        case 0:
        case 1:
        case 2: create(by, to); break;
        case 3: exchanges(by); break;
        case 4:
        case 5: messages(by); break;
        case 6: packs(by); break;
        case 7:
        case 8: collectives(by); break;
        default: chance(3) ? cancels(by) : neighbours(by);
        }
        state = saved;
    }
    for (int i = 1; i < SLOTS; i++)
        if (slots[i].comm != MPI_COMM_NULL)
            CHECK(MPI_Comm_free(&slots[i].comm));
    CHECK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    char path[4096];
    int rank;
    MPI_Init(&argc, &argv);
    if (argc < 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/%d.log", argv[1], rank);
    file = fopen(path, "w");
    MPI_Type_contiguous(2, MPI_INT, &map);
    MPI_Type_commit(&map);
    MPI_Op_create(compose, 0, &composition);
    long first = atol(argv[2]), count = atol(argv[3]);
    for (long seed = first; seed < first + count; seed++) {
        say("program %ld", seed);
        program((uint64_t)seed, argc > 4 ? atoi(argv[4]) : -1);
        fflush(file);
    }
    MPI_Op_free(&composition);
    MPI_Type_free(&map);
    fclose(file);
    MPI_Finalize();
    return 0;
}
