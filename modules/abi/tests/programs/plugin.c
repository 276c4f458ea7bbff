/* A library that programs open. It uses a function of the program. */
#include <stdlib.h>

int of_program(int by);

static int count;
static int first;

__attribute__((constructor)) static void construct(void) { first = rand(); }

int bump(int by)
{
    count += of_program(by);
    return count;
}

int first_number(void) { return first; }
