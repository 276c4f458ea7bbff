/* Kinds of global variables in C. */
#include "globals.h"

#include <stdatomic.h>

#define KINDS(kind)                                                                                \
    kind("global", 7, global, &global)                                                             \
    kind("static", 7, hidden, &hidden)                                                             \
    kind("static in a function", 7, in_function, &inner)                                           \
    kind("through a pointer to a global", 7, pointer, pointer_to_global)                           \
    kind("through a table of pointers", 7, table, table_of_pointers[1])                            \
    kind("array", 7, array, &numbers[1000])                                                        \
    kind("member of a structure", 7, member, &record.second)                                       \
    kind("without a value (bss)", 0, empty, &zero)                                                 \
    kind("common", 0, common, &shared_name)                                                        \
    kind("atomic", 7, atomic, (int *)&counter)                                                     \
    kind("volatile", 7, changing, (int *)&changes)                                                 \
    kind("weak", 7, weak, &weak_number)                                                            \
    kind("hidden visibility", 7, visibility, &invisible)                                           \
    kind("aligned to 64 bytes", 7, aligned, &line)                                                 \
    OF_THREAD(kind)

int global = 7;
static int hidden = 7;
static int target = 7, first_target, second_target = 7;
int *const pointer_to_global = &target;
static int *table_of_pointers[] = {&first_target, &second_target};
int numbers[2000] = {[1000] = 7};
struct { char first; int second; } record = {1, 7};
int zero;
int shared_name __attribute__((common));
atomic_int counter = 7;
volatile int changes = 7;
int weak_number __attribute__((weak)) = 7;
int invisible __attribute__((visibility("hidden"))) = 7;
static int line __attribute__((aligned(64))) = 7;

#ifdef WITHOUT_THREAD_LOCALS
#define OF_THREAD(kind)
#else
#define OF_THREAD(kind)                                                                            \
    kind("thread-local", 7, local, &number_of_thread)                                                     \
    kind("static thread-local", 7, static_local, &static_of_thread)
_Thread_local int number_of_thread = 7;
static _Thread_local int static_of_thread = 7;
#endif

#define FUNCTION(name, initial, function, address)                                                 \
    static int *at_##function(void)                                                                \
    {                                                                                              \
        static int inner = 7;                                                                      \
        (void)inner;                                                                               \
        return address;                                                                            \
    }
KINDS(FUNCTION)

#define ROW(name, initial, function, address) {name, initial, at_##function},
const struct kind kinds_of_c[] = {KINDS(ROW){0, 0, 0}};
