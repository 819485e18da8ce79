// The star of benches/graphs.rs in ns-3: hosts on CSMA links of 10 Gb/s to one learning bridge. Every host
// sends a number of frames of 64 bytes to the host across, one a microsecond. ns-3's links that can be bridged are
// half-duplex; the times are such that no link is busy when a frame comes, so that none backs off and none is lost.
// Prints: frames sent, frames received on all links, events, seconds on the processor.
#include <ns3/bridge-module.h>
#include <ns3/core-module.h>
#include <ns3/csma-module.h>
#include <ns3/network-module.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace ns3;

static uint64_t g_sent = 0;
static uint64_t g_received = 0;

static void Received(Ptr<const Packet>) { g_received++; }

static void Send(Ptr<NetDevice> device, Address to, uint32_t left) {
    // 46 bytes of payload, 14 of header and 4 of FCS: 64 bytes.
    device->Send(Create<Packet>(46), to, 0x0800);
    g_sent++;
    if (left > 1) {
        Simulator::Schedule(MicroSeconds(1), &Send, device, to, left - 1);
    }
}

static double OnProcessor() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: ns3-star HOSTS FRAMES\n");
        return 2;
    }
    uint32_t count = std::strtoul(argv[1], nullptr, 10);
    uint32_t frames = std::strtoul(argv[2], nullptr, 10);

    NodeContainer hosts;
    hosts.Create(count);
    Ptr<Node> bridge = CreateObject<Node>();
    CsmaHelper csma;
    csma.SetChannelAttribute("DataRate", StringValue("10Gbps"));
    csma.SetChannelAttribute("Delay", TimeValue(NanoSeconds(50)));
    NetDeviceContainer host_devices;
    NetDeviceContainer bridge_devices;
    for (uint32_t i = 0; i < count; i++) {
        NetDeviceContainer link = csma.Install(NodeContainer(hosts.Get(i), bridge));
        host_devices.Add(link.Get(0));
        bridge_devices.Add(link.Get(1));
        for (uint32_t end = 0; end < 2; end++) {
            link.Get(end)->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&Received));
        }
    }
    BridgeHelper().Install(bridge, bridge_devices);
    for (uint32_t i = 0; i < count; i++) {
        Address to = host_devices.Get((i + count / 2) % count)->GetAddress();
        Ptr<NetDevice> device = host_devices.Get(i);
        // The bridge learns where everybody is while the links are quiet.
        Simulator::Schedule(MicroSeconds(20 * i), &Send, device, device->GetBroadcast(), 1);
        Simulator::Schedule(MilliSeconds(2) + NanoSeconds(10 * i), &Send, device, to, frames);
    }

    double start = OnProcessor();
    Simulator::Run();
    double seconds = OnProcessor() - start;
    std::printf("%llu %llu %llu %.6f\n", (unsigned long long)g_sent, (unsigned long long)g_received,
                (unsigned long long)Simulator::GetEventCount(), seconds);
    Simulator::Destroy();
    return 0;
}
