/* A library that uses another one. */
int bump(int by);
int above(int by) { return bump(by); }
