"""The timing NIC: cocotbext-eth's GMII at the line, cocotbext-axi's streams and registers at the host."""

import random
import struct

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Event, RisingEdge
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource
from cocotbext.eth import GmiiFrame, GmiiSink, GmiiSource

TICK = 8  # nanoseconds
RX_LATENCY = 8


class Card:
    """The card, its line and its host."""

    async def start(self, dut):
        cocotb.start_soon(Clock(dut.clk, TICK, units="ns").start())
        self.dut = dut
        self.records = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.clk, dut.rst)
        self.received = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.clk, dut.rst)
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        self.line_in = GmiiSource(dut.gmii_rxd, dut.gmii_rx_er, dut.gmii_rx_dv, dut.clk, dut.rst)
        self.line_out = GmiiSink(dut.gmii_txd, dut.gmii_tx_er, dut.gmii_tx_en, dut.clk, dut.rst)
        dut.skip.value = 0
        dut.rst.value = 1
        await ClockCycles(dut.clk, 8)
        dut.rst.value = 0
        await RisingEdge(dut.clk)
        # The counter shows what is behind this edge: how far it is behind the simulator's time stays.
        await RisingEdge(dut.clk)
        self.behind = get_sim_time("ps") // 1000 - TICK * dut.counter.value.integer
        return self

    def tick(self, time):
        """What the counter becomes at the edge at this time, picoseconds."""
        return (time // 1000 - self.behind) // TICK + 1

    async def send(self, word, frame):
        await self.records.send(AxiStreamFrame(struct.pack(">HHQI", 0x3776, len(frame), word, 0) + frame))

    async def register(self, address):
        return await self.registers.read_dword(address)


@cocotb.test()
async def a_frame_leaves_at_its_tick_and_order_is_kept(dut):
    card = await Card().start(dut)
    seed = random.Random(4)
    frames = [seed.randbytes(length) for length in [60, 14, 200, 61, 1514, 60]]
    ticks = [500, 900, 901, 3000, 5000, 5001]
    for tick, frame in zip(ticks, frames):
        await card.send(tick, frame)
    left = [await card.line_out.recv() for _ in frames]
    for came, frame in zip(left, frames):
        assert came.get_preamble_len() == 8 and came.check_fcs()
        assert bytes(came.get_payload()) == frame.ljust(60, b"\0")
    # The sink has a byte when it samples it, an edge behind the one from which on it is there; the SFD is one byte earlier.
    first = [card.tick(came.sim_time_sfd) for came in left]
    on_time = [0, 1, 3, 4]
    assert [first[place] for place in on_time] == [ticks[place] for place in on_time], first
    # Those that were due while another left are right behind it: preamble, frame, FCS and gap.
    assert first[2] == first[1] + 84 and first[5] == first[4] + 8 + 1514 + 4 + 12, first
    assert (await card.register(0x10), await card.register(0x14)) == (6, 2)


@cocotb.test()
async def a_frame_is_stamped_when_it_comes_and_one_that_is_wrong_is_counted(dut):
    card = await Card().start(dut)
    frames = [bytes(range(length)) for length in [60, 61, 64, 255]]
    for frame in frames:
        done = Event()
        await card.line_in.send(GmiiFrame.from_payload(frame, tx_complete=done))
        record = bytes((await card.received.recv()).tdata)
        magic, length, word, _ = struct.unpack(">HHQI", record[:16])
        assert (magic, length, record[16:]) == (0x3776, len(frame), frame)
        await done.wait()
        # The source's time is that of the edge from which on the SFD is there; the first byte comes with the next.
        assert word == card.tick(done.data.sim_time_sfd) + 1 - RX_LATENCY
    wrong = GmiiFrame.from_payload(bytes(80))
    wrong.data[20] ^= 1
    await card.line_in.send(wrong)
    await card.line_in.send(GmiiFrame.from_payload(bytes(70)))
    assert len((await card.received.recv()).tdata) == 16 + 70
    assert (await card.register(0x20), await card.register(0x24)) == (5, 1)


@cocotb.test()
async def both_ways_run_at_line_rate_with_frames_of_64_bytes(dut):
    card = await Card().start(dut)
    frames = [bytes([number]) * 60 for number in range(200)]
    for frame in frames:
        await card.send(0, frame)
        await card.line_in.send(GmiiFrame.from_payload(frame))
    left = [await card.line_out.recv() for _ in frames]
    assert [bytes(came.get_payload()) for came in left] == frames
    starts = [card.tick(came.sim_time_sfd) for came in left]
    assert {after - before for before, after in zip(starts, starts[1:])} == {84}
    for frame in frames:
        assert bytes((await card.received.recv()).tdata)[16:] == frame
    assert await card.register(0x28) == 0
