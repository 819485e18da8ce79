// The star of benches/star.rs in ns-3: hosts on full-duplex links of 100 Mb/s and 1 ms to one node in the middle, each of the
// first half sends to one of the second by TCP as fast as it goes. ns-3's full-duplex links cannot be bridged, so that the
// middle routes; its queues have 100 packets, segments 1448 bytes as with timestamps on Ethernet.
// Prints: packets received on all links, bytes of the users' data received, seconds on the processor.
#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace ns3;

static uint64_t g_received = 0;

static void Received(Ptr<const Packet>) { g_received++; }

static double OnProcessor() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: ns3-tcp-star HOSTS SECONDS BOTH\n");
        return 2;
    }
    uint32_t count = std::strtoul(argv[1], nullptr, 10);
    double seconds = std::strtod(argv[2], nullptr);
    bool both = std::strtoul(argv[3], nullptr, 10) != 0;

    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));
    NodeContainer hosts;
    hosts.Create(count);
    Ptr<Node> middle = CreateObject<Node>();
    InternetStackHelper stack;
    stack.Install(hosts);
    stack.Install(middle);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    link.SetChannelAttribute("Delay", StringValue("1ms"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100p"));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    std::vector<Ipv4Address> own;
    for (uint32_t i = 0; i < count; i++) {
        NetDeviceContainer devices = link.Install(hosts.Get(i), middle);
        own.push_back(addresses.Assign(devices).GetAddress(0));
        addresses.NewNetwork();
        for (uint32_t end = 0; end < 2; end++) {
            devices.Get(end)->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&Received));
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    ApplicationContainer sinks;
    for (uint32_t i = 0; i < (both ? count : count / 2); i++) {
        uint32_t to = (i + count / 2) % count;
        InetSocketAddress address(own[to], 5001);
        BulkSendHelper bulk("ns3::TcpSocketFactory", address);
        bulk.SetAttribute("SendSize", UintegerValue(14480));
        bulk.Install(hosts.Get(i)).Start(MilliSeconds(i));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5001));
        sinks.Add(sink.Install(hosts.Get(to)));
    }
    Simulator::Stop(Seconds(seconds));
    double start = OnProcessor();
    Simulator::Run();
    double took = OnProcessor() - start;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < sinks.GetN(); i++) {
        bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    }
    std::printf("%llu %llu %.6f\n", (unsigned long long)g_received, (unsigned long long)bytes, took);
    Simulator::Destroy();
    return 0;
}
