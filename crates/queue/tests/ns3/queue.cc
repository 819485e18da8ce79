// Feeds a line from one of ns-3's queue discs, for a comparison. Input, by lines: the type of the queue disc; the number of attributes, and their names and
// values; ps that a byte takes on the line; then for each packet its time in ps, length, flow, and whether it is ECN-capable. Output for each packet: `sent`,
// `marked` or `dropped`, and the time in the queue in ps until then.
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"
#include <iostream>
#include <vector>

using namespace ns3;

struct Fate
{
    const char* verdict = "waiting";
    int64_t came = 0;
    int64_t waited = 0;
};

static std::vector<Fate> fates;

class Item : public QueueDiscItem
{
  public:
    Item(uint32_t number, uint32_t length, uint32_t flow, bool capable)
        : QueueDiscItem(Create<Packet>(length), Address(), 0),
          m_number(number),
          m_flow(flow),
          m_capable(capable)
    {
    }

    void AddHeader() override
    {
    }

    bool Mark() override
    {
        return m_capable;
    }

    uint32_t Hash(uint32_t) const override
    {
        return m_flow;
    }

    const uint32_t m_number;

  private:
    uint32_t m_flow;
    bool m_capable;
};

static int64_t Clock()
{
    return Simulator::Now().GetPicoSeconds();
}

static void Decide(const char* verdict, Ptr<const QueueDiscItem> item)
{
    auto own = dynamic_cast<const Item*>(PeekPointer(item));
    Fate& fate = fates.at(own->m_number);
    if (fate.verdict[0] != 'm' || verdict[0] == 'd')
    {
        fate.verdict = verdict;
    }
    fate.waited = Clock() - fate.came;
}

static void Dropped(Ptr<const QueueDiscItem> item, const char*)
{
    Decide("dropped", item);
}

static void Marked(Ptr<const QueueDiscItem> item, const char*)
{
    Decide("marked", item);
}

static Ptr<QueueDisc> queue;
static int64_t byteTime;
static bool busy = false;

static void Free();

static void Serve()
{
    if (busy)
    {
        return;
    }
    Ptr<QueueDiscItem> item = queue->Dequeue();
    if (!item)
    {
        return;
    }
    Decide("sent", item);
    busy = true;
    Simulator::Schedule(PicoSeconds(byteTime * item->GetSize()), &Free);
}

static void Free()
{
    busy = false;
    Serve();
}

static void Arrive(Ptr<Item> item)
{
    fates.at(item->m_number).came = Clock();
    queue->Enqueue(item);
    Serve();
}

int main()
{
    Time::SetResolution(Time::PS);
    std::string type;
    std::cin >> type;
    ObjectFactory factory;
    factory.SetTypeId(type);
    size_t attributes;
    std::cin >> attributes;
    for (size_t n = 0; n < attributes; n++)
    {
        std::string name;
        std::string value;
        std::cin >> name >> value;
        factory.Set(name, StringValue(value));
    }
    queue = factory.Create<QueueDisc>();
    if (auto flows = DynamicCast<FqCoDelQueueDisc>(queue))
    {
        // Otherwise it asks a device for its MTU, which there is none of.
        flows->SetQuantum(1514);
    }
    queue->Initialize();
    queue->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Dropped));
    queue->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&Dropped));
    queue->TraceConnectWithoutContext("Mark", MakeCallback(&Marked));
    std::cin >> byteTime;
    int64_t at = 0;
    uint32_t length;
    uint32_t flow;
    int capable;
    while (std::cin >> at >> length >> flow >> capable)
    {
        auto item = Create<Item>(fates.size(), length, flow, capable != 0);
        fates.emplace_back();
        Simulator::Schedule(PicoSeconds(at), &Arrive, item);
    }
    Simulator::Stop(PicoSeconds(at) + Seconds(60));
    Simulator::Run();
    for (const Fate& fate : fates)
    {
        std::cout << fate.verdict << ' ' << fate.waited << '\n';
    }
    Simulator::Destroy();
    return 0;
}
