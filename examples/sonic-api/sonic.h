/* The programming interface of SoNIC (paper 002, section 4.1.5 and figure 4.2) over ports that are files: a packet generator at port 0, which keeps a number of
 * idle characters between packets, and a capturer at port 1. `wire mount` serves the ports; SONIC_DIR names the mount, /dev/ethpipe without it.
 *
 * Link with sonic.c and -pthread. A program that includes this header has open(2), ioctl(2), read(2) and close(2) replaced by functions that pass all other
 * files on, so that the paper's listing compiles as it is printed, but for the semicolons that it lacks. */
#ifndef SONIC_H
#define SONIC_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <unistd.h>

/* Packets to generate: UDP over IPv4, with a number in the first eight bytes of the payload. */
struct sonic_pkt_gen_info {
    uint64_t pkt_num;               /* at most so many */
    uint32_t pkt_len;               /* bytes with FCS, 64 to 1518 */
    const char *mac_src, *mac_dst;  /* such as "00:11:22:33:44:55" */
    const char *ip_src, *ip_dst;    /* such as "192.168.0.1" */
    uint16_t port_src, port_dst;
    uint32_t idle;                  /* idle characters between packets, 800 ps each; 12 is the full rate */
};

/* Requests for the control file; each returns 0, or -1 with errno. */
enum {
    SONIC_IOC_RESET = 0x5301,       /* ends a run and forgets the settings */
    SONIC_IOC_SET_MODE,             /* int: a mode */
    SONIC_IOC_PORT0_INFO_SET,       /* struct sonic_pkt_gen_info * */
    SONIC_IOC_RUN                   /* int: starts the generator, for so many seconds at most */
};

/* Modes. */
enum { SONIC_PKT_GEN = 1, SONIC_PKT_CAP = 2, SONIC_PKT_GEN_CAP = 3 };

/* A captured packet: this header, and behind it `len` bytes of the frame without FCS. */
struct sonic_pkt {
    uint16_t len;
    uint64_t stamp;                 /* first bit, ticks of the port since its counter's zero */
    uint32_t hash;                  /* of addresses, protocol and ports */
    const unsigned char *frame;
};

/* The packet at `at` of `len` bytes that read(2) gave, into `packet`; the bytes that it took, 0 if it is not whole. */
size_t sonic_next(const unsigned char *at, size_t len, struct sonic_pkt *packet);

/* A tick of a port, ps; 0 if the port is not there. */
uint64_t sonic_tick(int port);

const char *sonic_path(const char *name);
int sonic_open(const char *path, int flags, ...);
int sonic_ioctl(int file, unsigned long request, ...);
ssize_t sonic_read(int file, void *buffer, size_t size);
int sonic_close(int file);

#define SONIC_CONTROL_PATH sonic_path("0.d/ctl")
#define SONIC_PORT0_PATH sonic_path("r0")
#define SONIC_PORT1_PATH sonic_path("r1")

#ifndef SONIC_LIBRARY
#define open sonic_open
#define ioctl sonic_ioctl
#define read sonic_read
#define close sonic_close
#endif

#endif
