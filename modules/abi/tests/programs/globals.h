/* A kind of global variable: its name, its initial value, and a function that returns its address. */
struct kind {
    const char *name;
    int initial;
    int *(*at)(void);
};

#ifdef __cplusplus
extern "C" {
#endif
/* Tables that end with a null name. */
extern const struct kind kinds_of_c[];
extern const struct kind kinds_of_cpp[];
#ifdef __cplusplus
}
#endif
