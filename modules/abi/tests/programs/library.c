/* A library with globals. */
int count = 3;
static int hidden;

int bump(int by)
{
    static int inner;
    inner += by;
    hidden += by;
    count += by;
    return inner == by && hidden == by && count == 3 + by;
}
