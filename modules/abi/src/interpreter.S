/* Names the dynamic linker in a program that is linked as a shared object, so that it can be started
   as an executable. */
#if defined(__x86_64__)
#define LOADER "/lib64/ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define LOADER "/lib/ld-linux-aarch64.so.1"
#endif
    .section .interp, "a"
    .string LOADER
    .section .note.GNU-stack, ""
