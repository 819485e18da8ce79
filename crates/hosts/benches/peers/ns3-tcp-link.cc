// One cell of benches/tcp.rs in ns-3: flows from one host to another over one link that has a rate, a delay, a queue of packets and
// losses in both directions. The options are Linux's: initial window of 10 segments, least time-out of 200 ms, acknowledgements delayed
// by 40 ms at most, selective acknowledgements, proportional rate reduction. A frame has two bytes of overhead in ns-3 and 38 on Ethernet:
// the rate is changed so that a full segment takes as long.
// Prints: bytes of the users' data received.
#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <cstdio>
#include <cstdlib>
#include <string>

using namespace ns3;

int main(int argc, char** argv) {
    if (argc != 9) {
        std::fprintf(stderr, "usage: ns3-tcp-link BITS_A_SECOND DELAY_US QUEUE LOSS FLOWS cubic|reno SECONDS SEED\n");
        return 2;
    }
    double rate = std::strtod(argv[1], nullptr) * 1502 / 1538;
    std::string kind = argv[6];
    double seconds = std::strtod(argv[7], nullptr);
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(std::strtoul(argv[8], nullptr, 10) + 1);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       StringValue(kind == "cubic" ? "ns3::TcpCubic" : "ns3::TcpLinuxReno"));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::TcpPrrRecovery"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    NodeContainer hosts;
    hosts.Create(2);
    InternetStackHelper stack;
    stack.Install(hosts);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
    link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(std::strtoul(argv[2], nullptr, 10))));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::string(argv[3]) + "p"));
    NetDeviceContainer devices = link.Install(hosts);
    for (uint32_t end = 0; end < 2; end++) {
        Ptr<RateErrorModel> errors = CreateObject<RateErrorModel>();
        errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        errors->SetRate(std::strtod(argv[4], nullptr));
        devices.Get(end)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
    }
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    Ipv4InterfaceContainer own = addresses.Assign(devices);
    // Without this, an fq_codel of ns-3 is before the queue that is meant.
    TrafficControlHelper().Uninstall(devices);
    uint32_t flows = std::strtoul(argv[5], nullptr, 10);
    ApplicationContainer sinks;
    for (uint32_t flow = 0; flow < flows; flow++) {
        uint16_t port = 5001 + flow;
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(own.GetAddress(1), port));
        bulk.SetAttribute("SendSize", UintegerValue(14600));
        bulk.Install(hosts.Get(0)).Start(MilliSeconds(10 * flow));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.Add(sink.Install(hosts.Get(1)));
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < sinks.GetN(); i++) {
        bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    }
    std::printf("%llu\n", (unsigned long long)bytes);
    Simulator::Destroy();
    return 0;
}
