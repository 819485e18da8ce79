/* The clock that `wire sync --page FILE` keeps, for programs in C and C++. The layout is that of crates/live/src/kernel/page.rs.
 *
 *     struct wireclock clock;
 *     struct wireclock_time time;
 *     if (wireclock_open(&clock, "/run/wire/clock") == 0 && wireclock_read(&clock, &time))
 *         printf("%llu ns, to within %llu ns\n", (unsigned long long)time.ns, (unsigned long long)time.bound_ns);
 *
 * One process writes, any number read, without a system call and without a lock. Link with nothing; GCC or Clang, Linux.
 */
#ifndef WIRECLOCK_H
#define WIRECLOCK_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define WIRECLOCK_SIZE 4096
/* `wireclk` and a zero. */
#define WIRECLOCK_MAGIC UINT64_C(0x006b6c6365726977)

enum wireclock_state {
    WIRECLOCK_UNSET = 0, /* nothing is known yet */
    WIRECLOCK_SET = 1,   /* it follows another clock, or is the one that others follow */
    WIRECLOCK_ALONE = 2, /* it has lost the one that it followed */
    WIRECLOCK_ENDED = 3  /* its writer has ended in order */
};

/* An open page. */
struct wireclock {
    const uint64_t *page;
    uint64_t counter;
};

/* A time. */
struct wireclock_time {
    uint64_t ns;            /* since the clock's epoch, which is 1970 */
    uint64_t bound_ns;      /* how far that may be off */
    uint64_t age_ns;        /* how long ago the page was written */
    uint32_t era;           /* another one: the clock was set, and not only steered */
    int32_t ahead_of_utc_s; /* as far as anybody has said */
    enum wireclock_state state;
    int stale; /* nobody keeps it any more: it goes on by its last rate, and the bound grows */
};

/* Opens a page; 0, or -1 with errno: EINVAL if it is none, ENOTSUP if it is of another version or counts by what this machine does not have. */
static inline int wireclock_open(struct wireclock *clock, const char *path)
{
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size != WIRECLOCK_SIZE) {
        close(file);
        errno = EINVAL;
        return -1;
    }
    void *at = mmap(NULL, WIRECLOCK_SIZE, PROT_READ, MAP_SHARED, file, 0);
    int error = errno;
    close(file);
    if (at == MAP_FAILED) {
        errno = error;
        return -1;
    }
    const uint64_t *page = (const uint64_t *)at;
    error = 0;
    if (__atomic_load_n(&page[0], __ATOMIC_ACQUIRE) != WIRECLOCK_MAGIC)
        error = EINVAL;
    else if (page[1] != 1)
        error = ENOTSUP;
#if defined(__x86_64__)
    else if (page[2] > 1)
#else
    else if (page[2] > 0)
#endif
        error = ENOTSUP;
    if (error != 0) {
        munmap(at, WIRECLOCK_SIZE);
        errno = error;
        return -1;
    }
    clock->page = page;
    clock->counter = page[2];
    return 0;
}

static inline void wireclock_close(struct wireclock *clock)
{
    munmap((void *)(uintptr_t)clock->page, WIRECLOCK_SIZE);
    clock->page = NULL;
}

static inline uint64_t wireclock_ticks(const struct wireclock *clock)
{
#if defined(__x86_64__)
    if (clock->counter == 1) {
        _mm_lfence();
        return __rdtsc();
    }
#endif
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* The time now; 0 while nothing is known. */
static inline int wireclock_read(const struct wireclock *clock, struct wireclock_time *time)
{
    for (;;) {
        uint64_t sequence = __atomic_load_n(&clock->page[8], __ATOMIC_ACQUIRE), slot[8];
        const uint64_t *from = &clock->page[sequence & 1 ? 24 : 16];
        for (int word = 0; word < 8; word++)
            slot[word] = __atomic_load_n(&from[word], __ATOMIC_RELAXED);
        uint64_t ticks = wireclock_ticks(clock);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        /* Written meanwhile. */
        if (__atomic_load_n(&clock->page[8], __ATOMIC_RELAXED) != sequence)
            continue;
        time->state = slot[5] >> 32 <= 3 ? (enum wireclock_state)(slot[5] >> 32) : WIRECLOCK_UNSET;
        if (time->state == WIRECLOCK_UNSET)
            return 0;
        /* Another processor's counter may be a little behind. */
        int64_t ahead = (int64_t)(ticks - slot[0]);
        uint64_t passed = ahead > 0 ? (uint64_t)ahead : 0;
        uint64_t since = (uint64_t)(((unsigned __int128)passed * slot[3] + ((unsigned __int128)slot[2] << 24)) >> 56);
        uint64_t grown = (uint64_t)((unsigned __int128)since * (slot[5] & UINT32_MAX) / UINT64_C(1000000000));
        time->ns = slot[1] + since;
        time->bound_ns = slot[4] > UINT64_MAX - grown ? UINT64_MAX : slot[4] + grown;
        time->age_ns = since;
        time->era = (uint32_t)(slot[6] >> 32);
        time->ahead_of_utc_s = (int32_t)(uint32_t)slot[6];
        time->stale = passed > slot[7] || time->state == WIRECLOCK_ENDED;
        return 1;
    }
}

#endif
