/* A delay line between hosts, for kernels without netem. `delay-line MICROSECONDS NAMESPACE...`
 * gives each network namespace an interface net0, and forwards each frame to the others after
 * the delay. It prints a line when it is ready, and runs until it is killed or an interface
 * disappears.
 *
 * Frames without room are lost. When the line is empty again, the program prints `lost` and the
 * number of lost frames of each namespace so far. It runs at real-time priority, because
 * otherwise OS processes that poll for messages would delay it. It needs root. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HOSTS 32
/* Frames in flight at most. Further frames are lost, as on any line. */
#define UNDER_WAY 1024
/* Longest frame. The kernels exchange large TCP segments without splitting them (TUN_F_TSO4). */
#define LONGEST (sizeof(struct virtio_net_hdr) + ETH_HLEN + 65536)
/* Frames read from a host at a time, so that a host that always sends does not delay frames that
 * are due. */
#define TAKEN 64

struct frame {
    int64_t due;
    int from;
    ssize_t length;
    uint8_t bytes[LONGEST];
};

static void check(int result, const char *what)
{
    if (result < 0) {
        perror(what);
        exit(1);
    }
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Returns the nanoseconds of a word in microseconds, or -1 if it is not a number from 0 to
 * 60,000,000 (a minute). */
static int64_t nanoseconds(const char *word)
{
    char *end;
    errno = 0;
    long long microseconds = strtoll(word, &end, 10);
    int is_one = errno == 0 && end != word && *end == 0 && microseconds >= 0 && microseconds <= 60000000;
    return is_one ? microseconds * 1000 : -1;
}

/* Creates the interface net0 in a namespace, with an address that ends with `number`. */
static int interface(const char *namespace, int number)
{
    char path[256];
    snprintf(path, sizeof path, "/run/netns/%s", namespace);
    int home = open(path, O_RDONLY | O_CLOEXEC);
    check(home, path);
    check(setns(home, CLONE_NEWNET), path);
    close(home);
    int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    check(tap, "/dev/net/tun");
    struct ifreq asked = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
    strcpy(asked.ifr_name, "net0");
    check(ioctl(tap, TUNSETIFF, &asked), "net0");
    check(ioctl(tap, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4), "offload");
    struct ifreq address = {.ifr_hwaddr = {.sa_family = 1, .sa_data = {2, 0, 0, 0, 0, (char)number}}};
    check(ioctl(tap, SIOCSIFHWADDR, &address), "address");
    return tap;
}

int main(int count, char **words)
{
    int hosts = count - 2;
    int64_t delay = count > 1 ? nanoseconds(words[1]) : -1;
    if (delay < 0 || hosts < 2 || hosts > HOSTS) {
        fprintf(stderr, "delay-line MICROSECONDS NAMESPACE...: a minute at most, and 2 to %d namespaces\n", HOSTS);
        return 2;
    }
    struct pollfd taps[HOSTS];
    for (int host = 0; host < hosts; host++)
        taps[host] = (struct pollfd){.fd = interface(words[2 + host], host), .events = POLLIN};
    struct frame *frames = mmap(0, UNDER_WAY * sizeof *frames, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (frames == MAP_FAILED)
        check(-1, "memory");
    struct sched_param priority = {.sched_priority = 1};
    check(sched_setscheduler(0, SCHED_FIFO, &priority), "priority");
    puts("ready");
    fflush(stdout);

    uint64_t lost[HOSTS] = {0};
    int untold = 0;
    /* All frames have the same delay, so the first frame that arrived is the first that is due. */
    for (uint64_t first = 0, next = 0;;) {
        for (; first != next && frames[first % UNDER_WAY].due <= now(); first++) {
            struct frame *frame = &frames[first % UNDER_WAY];
            uint8_t *to = frame->bytes + sizeof(struct virtio_net_hdr);
            for (int host = 0; host < hosts; host++)
                /* A frame is lost if an interface has no room, as on any line. An interface that
                 * is down (EIO) gets nothing. */
                if (host != frame->from && ((to[0] & 1) || to[5] == host) && write(taps[host].fd, frame->bytes, frame->length) < 0 &&
                    errno != EIO) {
                    if (errno != EAGAIN && errno != ENOBUFS)
                        check(-1, "write");
                    lost[frame->from]++, untold = 1;
                }
        }
        if (untold && first == next) {
            printf("lost");
            for (int host = 0; host < hosts; host++)
                printf(" %llu", (unsigned long long)lost[host]);
            puts("");
            fflush(stdout);
            untold = 0;
        }
        struct timespec left = {0, 0}, *until = NULL;
        if (first != next) {
            int64_t wait = frames[first % UNDER_WAY].due - now();
            left.tv_nsec = wait < 0 ? 0 : wait % 1000000000;
            left.tv_sec = wait < 0 ? 0 : wait / 1000000000;
            until = &left;
        }
        check(ppoll(taps, hosts, until, NULL), "poll");
        for (int host = 0; host < hosts; host++) {
            /* The interface was removed. The kernel would report that on each poll. */
            if (taps[host].revents & (POLLERR | POLLHUP | POLLNVAL)) {
                fprintf(stderr, "%s has no net0 any more\n", words[2 + host]);
                return 1;
            }
            if (!(taps[host].revents & POLLIN))
                continue;
            for (int taken = 0; taken < TAKEN; taken++) {
                struct frame *frame = &frames[next % UNDER_WAY];
                static uint8_t nowhere[LONGEST];
                int full = next - first == UNDER_WAY;
                ssize_t length = read(taps[host].fd, full ? nowhere : frame->bytes, LONGEST);
                if (length < 0 && errno == EAGAIN)
                    break;
                check((int)length, "read");
                if (full) {
                    lost[host]++, untold = 1;
                    continue;
                }
                frame->due = now() + delay, frame->from = host, frame->length = length;
                next++;
            }
        }
    }
}
