/* Open vSwitch's classifier with the flows and the packets of `cargo bench -p wireline-openflow --bench switch`; `.ci/ovs-classifier` builds it
 * against the sources of Open vSwitch and runs both. Times are of the thread on its processor, best of several runs, as there. */
#include <config.h>
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "classifier.h"
#include "dp-packet.h"
#include "flow.h"
#include "openvswitch/match.h"
#include "ovs-rcu.h"
#include "packets.h"

enum { NONE, TO, BOTH };
static const struct { int source, destination, ports; } masks[20] = {
    {32, 32, BOTH}, {32, 32, TO},   {32, 32, NONE}, {32, 24, TO},   {24, 32, TO},
    {24, 24, TO},   {32, 24, NONE}, {24, 32, NONE}, {24, 24, NONE}, {28, 28, TO},
    {16, 32, TO},   {16, 24, TO},   {32, 16, NONE}, {16, 32, NONE}, {0, 32, TO},
    {0, 28, NONE},  {32, 0, NONE},  {20, 20, NONE}, {0, 24, NONE},  {0, 16, TO},
};

static uint64_t
scramble(uint64_t number)
{
    uint64_t x = number * 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

static uint64_t addresses_of(uint32_t n) { return scramble(n); }
static uint32_t ports_of(uint32_t n) { return scramble(n | 1ULL << 40); }

static uint64_t state;
static uint64_t
draw(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1d;
}

static double
on_processor(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static ovs_be32
prefix(int bits)
{
    return htonl(bits ? ~0U << (32 - bits) : 0);
}

static void
fill(struct classifier *cls, int mixed, uint32_t count)
{
    classifier_init(cls, flow_segment_u64s);
    /* As Open vSwitch does by default: tries over the addresses. */
    enum mf_field_id fields[] = { MFF_IPV4_DST, MFF_IPV4_SRC };
    classifier_set_prefix_fields(cls, fields, 2);
    classifier_defer(cls);
    for (uint32_t n = 0; n < count; n++) {
        int kind = mixed ? n % 20 : 0;
        uint64_t addresses = addresses_of(n);
        uint32_t ports = ports_of(n);
        struct match match;
        match_init_catchall(&match);
        match_set_dl_type(&match, htons(ETH_TYPE_IP));
        match_set_nw_src_masked(&match, htonl(addresses >> 32), prefix(masks[kind].source));
        match_set_nw_dst_masked(&match, htonl(addresses), prefix(masks[kind].destination));
        if (masks[kind].ports != NONE) {
            match_set_nw_proto(&match, 6);
            match_set_tp_dst(&match, htons(ports));
        }
        if (masks[kind].ports == BOTH) {
            match_set_tp_src(&match, htons(ports >> 16));
        }
        struct cls_rule *rule = malloc(sizeof *rule);
        cls_rule_init(rule, &match, 1000 - kind);
        if (classifier_find_rule_exactly(cls, rule, OVS_VERSION_MIN)) {
            cls_rule_destroy(rule);
            free(rule);
        } else {
            classifier_insert(cls, rule, OVS_VERSION_MIN, NULL, 0);
        }
    }
    classifier_publish(cls);
}

enum { PACKETS = 1 << 20, CHUNK = 4096, RUNS = 7 };

static uint32_t *
sequence(int zipf, uint32_t count)
{
    uint32_t *all = malloc(PACKETS * sizeof *all);
    double *shares = malloc(count * sizeof *shares), sum = 0;
    for (uint32_t rank = 1; rank <= count; rank++) {
        shares[rank - 1] = sum += 1.0 / rank;
    }
    state = 0x123456789ABCDEF1;
    for (int i = 0; i < PACKETS; i++) {
        if (!zipf) {
            all[i] = (draw() >> 32) * count >> 32;
            continue;
        }
        double at = (draw() >> 11) / (double) (1ULL << 53) * sum;
        uint32_t low = 0, high = count;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (shares[middle] < at) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        all[i] = (uint64_t) low * 7919 % count;
    }
    free(shares);
    return all;
}

int
main(void)
{
    static const uint8_t template[60] = "\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0"
        "\x45\0\0\x2e\0\0\0\0\x40\x06";
    printf("classifier of Open vSwitch: flow_extract and classifier_lookup, million a second on one core\n");
    printf("  %-36s %12s %12s %18s\n", "flows, packets", "lookup", "ns", "with wildcards, ns");
    for (int mixed = 0; mixed < 2; mixed++) {
        for (int big = 0; big < 2; big++) {
            uint32_t count = big ? 500000 : 1000;
            struct classifier cls;
            fill(&cls, mixed, count);
            for (int zipf = 1; zipf >= 0; zipf--) {
                uint32_t *numbers = sequence(zipf, count);
                double best[2] = { 1e9, 1e9 };
                for (int run = 0; run < 2 * RUNS; run++) {
                    int wild = run % 2, done = 0;
                    double start = on_processor(), took;
                    do {
                        for (int i = 0; i < CHUNK; i++) {
                            uint32_t n = numbers[(run * 65536 + done) % PACKETS];
                            uint8_t frame[60];
                            memcpy(frame, template, 60);
                            frame[46] = 0x50;
                            uint64_t addresses = htonll(addresses_of(n));
                            uint32_t ports = htonl(ports_of(n));
                            memcpy(frame + 26, &addresses, 8);
                            memcpy(frame + 34, &ports, 4);
                            struct dp_packet packet;
                            struct flow flow;
                            struct flow_wildcards wc;
                            dp_packet_use_const(&packet, frame, 60);
                            flow_extract(&packet, &flow);
                            if (wild) {
                                flow_wildcards_init_catchall(&wc);
                            }
                            assert(classifier_lookup(&cls, OVS_VERSION_MIN, &flow, wild ? &wc : NULL));
                            done++;
                        }
                        took = on_processor() - start;
                    } while (took < 0.05);
                    best[wild] = took / done < best[wild] ? took / done : best[wild];
                }
                printf("  %-8s %7u flows, %-18s %12.2f %12.1f %18.1f\n", mixed ? "20 masks" : "exact", count,
                       zipf ? "zipf" : "uniform", 1e-6 / best[0], best[0] * 1e9, best[1] * 1e9);
                free(numbers);
            }
        }
    }
    return 0;
}
