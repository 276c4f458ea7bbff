/* A library with globals. */
int count = 3;
static int hidden;

/* The program defines it, too. */
__attribute__((weak)) int hook(void) { return -1; }

int call_hook(void) { return hook(); }

#ifdef NEEDS
int needed(void);
int call_needed(void) { return needed(); }
#endif

int bump(int by)
{
    static int inner;
    inner += by;
    hidden += by;
    count += by;
    return inner == by && hidden == by && count == 3 + by;
}
