/* Our own declarations of the part of Pilot's API that graphmap's tests need. The only format is
   `%d`. */
#ifndef PILOT_H
#define PILOT_H

typedef struct PI_PROCESS PI_PROCESS;
typedef struct PI_CHANNEL PI_CHANNEL;
typedef struct PI_BUNDLE PI_BUNDLE;
typedef int (*PI_WORK_FUNC)(int index, void *argument);
enum PI_BUNUSE { PI_BROADCAST, PI_SCATTER, PI_GATHER, PI_REDUCE, PI_SELECT };

int PI_Configure(int *argc, char ***argv);
PI_PROCESS *PI_CreateProcess(PI_WORK_FUNC function, int index, void *argument);
PI_CHANNEL *PI_CreateChannel(PI_PROCESS *from, PI_PROCESS *to);
PI_BUNDLE *PI_CreateBundle(enum PI_BUNUSE usage, PI_CHANNEL *const array[], int size);
int PI_StartAll(void);
void PI_StopMain(int status);
void PI_Abort(const int code, const char *text, const char *file, const int line);

void PI_Write(PI_CHANNEL *channel, const char *format, ...);
void PI_Read(PI_CHANNEL *channel, const char *format, ...);
void PI_Broadcast(PI_BUNDLE *bundle, const char *format, ...);
void PI_Scatter(PI_BUNDLE *bundle, const char *format, ...);
void PI_Gather(PI_BUNDLE *bundle, const char *format, ...);
int PI_Select(PI_BUNDLE *bundle);
PI_CHANNEL *PI_GetBundleChannel(const PI_BUNDLE *bundle, int index);

#endif
