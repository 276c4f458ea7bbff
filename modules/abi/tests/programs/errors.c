/* Prints the errors of functions of the program, and of requests that are completed together. */
#include <mpi.h>
#include <stdio.h>

static int code;

static void show(const char *what, int error)
{
    int class = -1;
    MPI_Error_class(error, &class);
    if (error == code)
        printf("%s: code\n", what);
    else
        printf("%s: class %d\n", what, class);
}

static int copy(MPI_Comm comm, int key, void *extra, void *from, void *to, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)from, (void)to;
    *flag = 1;
    return code;
}

static int query(void *state, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 5;
    status->MPI_TAG = 6;
    return *(int *)state;
}

static int fail(void *state) { return *(int *)state; }
static int cancel(void *state, int complete) { return complete ? 0 : *(int *)state; }

int main(int argc, char **argv)
{
    int class, key, zero = 0, numbers[9] = {0}, from[4] = {1, 2, 3, 4}, size;
    MPI_Comm made;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    void *address;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &zero);
    show("dup", MPI_Comm_dup(MPI_COMM_SELF, &made));
    for (int i = 0; i < 3; i++)
        MPI_Grequest_start(query, fail, cancel, i == 1 ? &zero : &code, &requests[i]);
    show("cancel", MPI_Cancel(&requests[0]));
    for (int i = 0; i < 3; i++)
        MPI_Grequest_complete(requests[i]);
    show("get status", MPI_Request_get_status(requests[1], &size, &statuses[0]));
    printf("%d %d\n", size, statuses[0].MPI_TAG);
    show("wait", MPI_Wait(&requests[0], &statuses[0]));
    show("wait", MPI_Waitall(3, requests, statuses));
    for (int i = 0; i < 3; i++) {
        show("status", statuses[i].MPI_ERROR);
        printf("source %d\n", statuses[i].MPI_SOURCE);
    }
    for (int i = 0; i < 3; i++)
        MPI_Irecv(numbers + i, 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < 3; i++)
        MPI_Send(from, i == 1 ? 1 : 4, MPI_INT, 0, i, MPI_COMM_SELF);
    show("truncated", MPI_Waitsome(3, requests, &size, numbers, statuses));
    for (int i = 0; i < size; i++)
        show("status", statuses[i].MPI_ERROR);
    show("attach", MPI_Comm_attach_buffer(MPI_COMM_SELF, numbers, 8));
    show("no room", MPI_Bsend(from, 4, MPI_INT, 0, 0, MPI_COMM_SELF));
    show("room", MPI_Bsend(from, 2, MPI_INT, 0, 0, MPI_COMM_SELF));
    show("flush", MPI_Comm_flush_buffer(MPI_COMM_SELF));
    MPI_Recv(numbers, 2, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    show("detach", MPI_Comm_detach_buffer(MPI_COMM_SELF, &address, &size));
    printf("%d %d\n", address == numbers, size);
    show("flush", MPI_Buffer_flush());
    show("no buffer", MPI_Bsend(from, 2, MPI_INT, 0, 0, MPI_COMM_SELF));
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    MPI_Finalize();
    return 0;
}
