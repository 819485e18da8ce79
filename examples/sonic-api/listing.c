/* The listing of figure 4.2 of paper 002 as a program: port 0 generates, port 1 captures. What it processes is counted and shown.
 * usage: listing [PACKETS [IDLES]]: by default 1000 packets of 1,518 bytes, 12 idle characters apart */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sonic.h"

int main(int argc, char **argv)
{
    struct sonic_pkt_gen_info info = {
        .pkt_num    = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000,
        .pkt_len    = 1518,
        .mac_src    = "00:11:22:33:44:55",
        .mac_dst    = "aa:bb:cc:dd:ee:ff",
        .ip_src     = "192.168.0.1",
        .ip_dst     = "192.168.0.2",
        .port_src    = 5000,
        .port_dst    = 5000,
        .idle        = argc > 2 ? strtoul(argv[2], NULL, 0) : 12, };
    static unsigned char buf[65536];
    unsigned long count = 0, bytes = 0, wrong = 0;
    uint64_t first = 0, last = 0;
    ssize_t ret;

    int fd1 = open(SONIC_CONTROL_PATH, O_RDWR);
    int fd2 = open(SONIC_PORT1_PATH, O_RDONLY);
    if (fd1 < 0 || fd2 < 0) {
        perror("no ports: wire mount DIR --on A B, and SONIC_DIR=DIR");
        return 2;
    }

    if (ioctl(fd1, SONIC_IOC_RESET) || ioctl(fd1, SONIC_IOC_SET_MODE, SONIC_PKT_GEN_CAP)
        || ioctl(fd1, SONIC_IOC_PORT0_INFO_SET, &info) || ioctl(fd1, SONIC_IOC_RUN, 10)) {
        perror("ioctl");
        return 2;
    }

    while ((ret = read(fd2, buf, 65536)) > 0) {
        // process data
        struct sonic_pkt packet;
        for (size_t at = 0, took; (took = sonic_next(buf + at, ret - at, &packet)); at += took) {
            unsigned long number = 0;
            for (int n = 0; n < 8; n++)
                number = number << 8 | packet.frame[42 + n];
            wrong += number != count || packet.len != 1514 || memcmp(packet.frame, "\xAA\xBB\xCC\xDD\xEE\xFF\x00\x11\x22\x33\x44\x55", 12);
            first = count ? first : packet.stamp;
            last = packet.stamp;
            bytes += packet.len;
            count++;
        }
    }

    close(fd1);
    close(fd2);
    printf("%lu packets captured, %lu bytes, %lu out of order or changed\n", count, bytes, wrong);
    if (count > 1)
        fprintf(stderr, "mean distance %.1f ns, asked for %.1f ns\n", (last - first) * (sonic_tick(1) / 1e3) / (count - 1), 0.8 * (1526 + info.idle));
    return count == 0;
}
