// Kinds of global variables in C++.
#include "globals.h"

#include <string>

#define KINDS(kind)                                                                                \
    kind("object with constructor and destructor", object, &object.value)                          \
    kind("static object", hidden, &hidden.value)                                                   \
    kind("object in a namespace", space, &space::object.value)                                     \
    kind("static member", member, &Object::shared)                                                 \
    kind("inline variable", inlined, &inlined)                                                     \
    kind("inline static member", inline_member, &Object::inlined)                                  \
    kind("static object in a function", in_function, &in_function().value)                         \
    kind("static in an inline function", in_inline, &in_inline())                                  \
    kind("static member of a template", of_template, &Holder<int>::value)                          \
    kind("variable template", variable, &variable<int>)                                            \
    kind("reference to a global", reference, &reference)                                           \
    kind("through a pointer to an object", pointer, &pointer->value)                               \
    kind("virtual object", base, base->get())                                                      \
    kind("value of a string", text, reinterpret_cast<int *>(&text[0]))                             \
    OF_THREAD(kind)

static int seven() { return static_cast<int>(std::string("7 chars").size()); }

struct Object {
    int value;
    Object() : value(seven()) {}
    ~Object() { value = -1; }
    static int shared;
    inline static int inlined = seven();
};
int Object::shared = seven();

Object object;
static Object hidden;
namespace space {
Object object;
}
inline int inlined = seven();
static Object &in_function()
{
    static Object inner;
    return inner;
}
inline int &in_inline()
{
    static int inner = seven();
    return inner;
}
template <class T> struct Holder {
    static T value;
};
template <class T> T Holder<T>::value = seven();
template <class T> T variable = seven();
static int target = 7;
int &reference = target;
static Object *pointer = new Object;
struct Base {
    virtual int *get() = 0;
};
struct Derived : Base {
    int value = seven();
    int *get() override { return &value; }
};
static Derived derived;
static Base *base = &derived;
static std::string text("\7\0\0\0 and more than fits into the object itself", 48);

#ifdef WITHOUT_THREAD_LOCALS
#define OF_THREAD(kind)
#else
#define OF_THREAD(kind)                                                                            \
    kind("thread_local object", of_thread, &of_thread.value)                                       \
    kind("thread_local in a function", local_in_function, &local_in_function())
thread_local Object of_thread;
static int &local_in_function()
{
    thread_local int inner = seven();
    return inner;
}
#endif

#define FUNCTION(name, function, address)                                                          \
    static int *at_##function() { return address; }
KINDS(FUNCTION)

#define ROW(name, function, address) {name, 7, at_##function},
extern "C" const struct kind kinds_of_cpp[] = {KINDS(ROW){nullptr, 0, nullptr}};
