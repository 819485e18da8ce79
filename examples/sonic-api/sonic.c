/* See sonic.h. The generator is a thread that writes records with departures to port 0; the port keeps their times. */
#define _GNU_SOURCE
#define SONIC_LIBRARY
#include "sonic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD 16                 /* bytes of a record before its frame (FORMATS section 2) */
#define MAGIC 0x3776
#define CHARACTER 800u          /* ps of 10 Gb/s */
#define PREAMBLE 8u
#define LEAD 20000000000u       /* ps from the start to the first departure */
#define BATCH 64
#define QUIET 500               /* ms without a packet after the generator's end, by which a capture ends */

static struct {
    pthread_mutex_t lock;
    pthread_t thread;
    int has_thread, has_info, mode, seconds, port, control;
    struct sonic_pkt_gen_info info;
    atomic_int running, stop;
} sonic = { .lock = PTHREAD_MUTEX_INITIALIZER, .control = -1 };

const char *sonic_path(const char *name)
{
    static _Thread_local char path[4096];
    const char *dir = getenv("SONIC_DIR");
    snprintf(path, sizeof path, "%s/%s", dir ? dir : "/dev/ethpipe", name);
    return path;
}

/* A number in a text file of a port. */
static uint64_t text(int port, const char *name, int base)
{
    char path[32], line[64] = "";
    snprintf(path, sizeof path, "%d.d/%s", port, name);
    int file = open(sonic_path(path), O_RDONLY);
    if (file < 0)
        return 0;
    ssize_t got = read(file, line, sizeof line - 1);
    close(file);
    return got > 0 ? strtoull(line, NULL, base) : 0;
}

uint64_t sonic_tick(int port)
{
    return text(port, "tick", 10);
}

static void put(unsigned char *at, uint64_t value, int bytes)
{
    while (bytes--)
        *at++ = value >> (8 * bytes);
}

static uint64_t get(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    while (bytes--)
        value = value << 8 | *at++;
    return value;
}

size_t sonic_next(const unsigned char *at, size_t len, struct sonic_pkt *packet)
{
    if (len < HEAD || get(at, 2) != MAGIC)
        return 0;
    packet->len = get(at + 2, 2);
    packet->stamp = get(at + 4, 8);
    packet->hash = get(at + 12, 4);
    packet->frame = at + HEAD;
    return len < HEAD + (size_t)packet->len ? 0 : HEAD + packet->len;
}

/* The frame of the information, without FCS; 0 or an errno. */
static int make(const struct sonic_pkt_gen_info *info, unsigned char *frame)
{
    unsigned mac[12];
    struct in_addr source, destination;
    if (info->pkt_len < 64 || info->pkt_len > 1518 || !info->mac_src || !info->mac_dst || !info->ip_src || !info->ip_dst)
        return EINVAL;
    if (sscanf(info->mac_dst, "%x:%x:%x:%x:%x:%x", mac, mac + 1, mac + 2, mac + 3, mac + 4, mac + 5) != 6
        || sscanf(info->mac_src, "%x:%x:%x:%x:%x:%x", mac + 6, mac + 7, mac + 8, mac + 9, mac + 10, mac + 11) != 6
        || inet_pton(AF_INET, info->ip_src, &source) != 1 || inet_pton(AF_INET, info->ip_dst, &destination) != 1)
        return EINVAL;
    unsigned len = info->pkt_len - 4;
    memset(frame, 0, len);
    for (int n = 0; n < 12; n++)
        frame[n] = mac[n];
    put(frame + 12, 0x0800, 2);
    unsigned char *ip = frame + 14, *udp = ip + 20;
    put(ip, 0x4500, 2);
    put(ip + 2, len - 14, 2);
    put(ip + 8, 64 << 8 | 17, 2);
    memcpy(ip + 12, &source, 4);
    memcpy(ip + 16, &destination, 4);
    uint32_t sum = 0;
    for (int n = 0; n < 20; n += 2)
        sum += get(ip + n, 2);
    while (sum >> 16)
        sum = (sum & 0xFFFF) + (sum >> 16);
    put(ip + 10, ~sum & 0xFFFF, 2);
    put(udp, info->port_src, 2);
    put(udp + 2, info->port_dst, 2);
    put(udp + 4, len - 34, 2);
    return 0;
}

static void *generate(void *nothing)
{
    struct sonic_pkt_gen_info info = sonic.info;
    unsigned char frame[1514];
    static unsigned char records[BATCH * (HEAD + 1514)];
    size_t len = info.pkt_len - 4;
    uint64_t tick = sonic_tick(0), apart = (uint64_t)(PREAMBLE + info.pkt_len + info.idle) * CHARACTER;
    uint64_t begin = text(0, "global_time", 16) + LEAD / (tick ? tick : 1);
    uint64_t count = (uint64_t)sonic.seconds * 1000000000000u / apart;
    if (count > info.pkt_num)
        count = info.pkt_num;
    make(&info, frame);
    for (uint64_t n = 0; tick && n < count && !sonic.stop;) {
        size_t bytes = 0;
        for (int batch = 0; batch < BATCH && n < count; batch++, n++) {
            unsigned char *record = records + bytes;
            put(record, MAGIC, 2);
            put(record + 2, len, 2);
            put(record + 4, begin + (uint64_t)((unsigned __int128)n * apart / tick), 8);
            put(record + 12, 0, 4);
            put(frame + 42, n, 8);
            memcpy(record + HEAD, frame, len);
            bytes += HEAD + len;
        }
        for (size_t written = 0; written < bytes;) {
            ssize_t wrote = write(sonic.port, records + written, bytes - written);
            if (wrote < 0 && errno != EINTR)
                goto end;
            written += wrote > 0 ? wrote : 0;
        }
    }
end:
    close(sonic.port);
    sonic.running = 0;
    return nothing;
}

static void end_run(void)
{
    sonic.stop = 1;
    if (sonic.has_thread)
        pthread_join(sonic.thread, NULL);
    sonic.has_thread = sonic.stop = 0;
}

static int run(int seconds)
{
    end_run();
    if (!(sonic.mode & SONIC_PKT_GEN))
        return 0;
    if (!sonic.has_info || seconds <= 0)
        return EINVAL;
    sonic.seconds = seconds;
    sonic.port = open(SONIC_PORT0_PATH, O_WRONLY);
    if (sonic.port < 0)
        return errno;
    sonic.running = 1;
    int error = pthread_create(&sonic.thread, NULL, generate, NULL);
    if (error) {
        sonic.running = 0;
        close(sonic.port);
    }
    sonic.has_thread = !error;
    return error;
}

int sonic_open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int file = open(path, flags, flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0);
    va_end(rest);
    /* The path may be what sonic_path() returned, which its next call overwrites. */
    char own[4096];
    snprintf(own, sizeof own, "%s", path);
    if (file >= 0 && !strcmp(own, SONIC_CONTROL_PATH))
        sonic.control = file;
    return file;
}

int sonic_ioctl(int file, unsigned long request, ...)
{
    unsigned char frame[1514];
    va_list rest;
    va_start(rest, request);
    if (file < 0 || file != sonic.control) {
        void *argument = va_arg(rest, void *);
        va_end(rest);
        return ioctl(file, request, argument);
    }
    int error = 0;
    pthread_mutex_lock(&sonic.lock);
    switch (request) {
    case SONIC_IOC_RESET:
        end_run();
        sonic.has_info = sonic.mode = 0;
        break;
    case SONIC_IOC_SET_MODE:
        sonic.mode = va_arg(rest, int);
        error = sonic.mode < SONIC_PKT_GEN || sonic.mode > SONIC_PKT_GEN_CAP ? EINVAL : 0;
        break;
    case SONIC_IOC_PORT0_INFO_SET:
        end_run();
        sonic.info = *va_arg(rest, struct sonic_pkt_gen_info *);
        error = make(&sonic.info, frame);
        sonic.has_info = !error;
        break;
    case SONIC_IOC_RUN:
        error = run(va_arg(rest, int));
        break;
    default:
        error = ENOTTY;
    }
    pthread_mutex_unlock(&sonic.lock);
    va_end(rest);
    errno = error ? error : errno;
    return error ? -1 : 0;
}

/* Of a port, whole packets, and 0 when the run is over and nothing has come for a while; of other files, what read(2) gives. */
ssize_t sonic_read(int file, void *buffer, size_t size)
{
    char name[4096], link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t len = readlink(link, name, sizeof name - 1);
    name[len > 0 ? len : 0] = 0;
    if (strcmp(name, SONIC_PORT0_PATH) && strcmp(name, SONIC_PORT1_PATH))
        return read(file, buffer, size);
    for (;;) {
        int was_running = sonic.running;
        struct pollfd ready = { .fd = file, .events = POLLIN };
        int found = poll(&ready, 1, QUIET);
        if (found > 0)
            return read(file, buffer, size);
        if (found < 0)
            return -1;
        if (!was_running)
            return 0;
    }
}

int sonic_close(int file)
{
    if (file == sonic.control && file >= 0) {
        pthread_mutex_lock(&sonic.lock);
        end_run();
        sonic.control = -1;
        pthread_mutex_unlock(&sonic.lock);
    }
    return close(file);
}
