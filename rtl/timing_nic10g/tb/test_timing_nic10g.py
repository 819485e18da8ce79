"""The timing NIC at 10 Gb/s: cocotbext-eth's XGMII at the line, cocotbext-axi's streams and registers at the host."""

import random
import struct

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Event, RisingEdge
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp, AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource
from cocotbext.eth import XgmiiFrame, XgmiiSink, XgmiiSource

TICK = 6400  # picoseconds
RX_LATENCY = 8


def begins_in_lane_0(frame):
    """Start and SFD are in one word then."""
    return frame.sim_time_start == frame.sim_time_sfd


class Card:
    """The card, its line and its host."""

    async def start(self, dut):
        cocotb.start_soon(Clock(dut.clk, TICK, units="ps").start())
        self.dut = dut
        self.records = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.clk, dut.rst)
        self.received = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.clk, dut.rst)
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        self.line_in = XgmiiSource(dut.xgmii_rxd, dut.xgmii_rxc, dut.clk, dut.rst)
        self.line_out = XgmiiSink(dut.xgmii_txd, dut.xgmii_txc, dut.clk, dut.rst)
        dut.skip.value = 0
        dut.rst.value = 1
        await ClockCycles(dut.clk, 8)
        dut.rst.value = 0
        await RisingEdge(dut.clk)
        # The counter shows what is behind this edge: how far it is behind the simulator's time stays.
        await RisingEdge(dut.clk)
        self.behind = get_sim_time("ps") - TICK * dut.counter.value.integer
        return self

    def tick(self, time):
        """What the counter becomes at the edge at this time, picoseconds."""
        return (time - self.behind) // TICK + 1

    def left(self, frame):
        """The place of a frame's first byte, in halves of ticks. The sink has a word when it samples it, an edge behind the one from which on it
        is there. The first byte is in the word behind the one with the SFD, or in lane 4 of the same."""
        tick = self.tick(frame.sim_time_sfd)
        return 2 * tick if begins_in_lane_0(frame) else 2 * (tick - 1) + 1

    async def send(self, word, frame):
        await self.records.send(AxiStreamFrame(struct.pack(">HHQI", 0x3776, len(frame), word, 0) + frame))

    async def register(self, address):
        return await self.registers.read_dword(address)


@cocotb.test()
async def a_frame_leaves_at_its_tick_and_order_is_kept(dut):
    card = await Card().start(dut)
    seed = random.Random(4)
    frames = [seed.randbytes(length) for length in [60, 14, 200, 61, 1514, 60, 60]]
    ticks = [500, 900, 901, 3000, 5000, 5001, 6000]
    for tick, frame in zip(ticks, frames):
        await card.send(tick, frame)
    left = [await card.line_out.recv() for _ in frames]
    for came, frame in zip(left, frames):
        assert came.get_preamble_len() == 8 and came.check_fcs()
        assert bytes(came.get_payload()) == frame.ljust(60, b"\0")
    first = [card.left(came) for came in left]
    on_time = [0, 1, 3, 4, 6]
    assert [first[place] for place in on_time] == [2 * ticks[place] for place in on_time], first
    # Those that were due while another left are right behind it: preamble, frame, FCS and gap, less the deficit.
    assert first[2] == first[1] + 21 and 0 <= 8 + 1514 + 4 + 12 - 4 * (first[5] - first[4]) <= 3, first
    assert (await card.register(0x10), await card.register(0x14)) == (7, 2)


@cocotb.test()
async def a_frame_is_stamped_when_it_comes_and_one_that_is_wrong_is_counted(dut):
    card = await Card().start(dut)
    # Before it has counted what the PHY takes, a stamp would be one of before zero.
    await ClockCycles(dut.clk, RX_LATENCY)
    frames = [bytes(number % 256 for number in range(length)) for length in [60, 61, 64, 255] + list(range(60, 90))]
    done = [Event() for _ in frames]
    for frame, event in zip(frames, done):
        await card.line_in.send(XgmiiFrame.from_payload(frame, tx_complete=event))
    lanes = set()
    for frame, event in zip(frames, done):
        record = bytes((await card.received.recv()).tdata)
        magic, length, word, _ = struct.unpack(">HHQI", record[:16])
        assert (magic, length, record[16:]) == (0x3776, len(frame), frame)
        await event.wait()
        # The source's time is that of the edge from which on the SFD is there; in lane 7 of its word, or in lane 3.
        low = begins_in_lane_0(event.data)
        lanes.add(low)
        assert word == card.tick(event.data.sim_time_sfd) + low - RX_LATENCY
    assert lanes == {False, True}
    wrong = XgmiiFrame.from_payload(bytes(80))
    wrong.data[20] ^= 1
    await card.line_in.send(wrong)
    await card.line_in.send(XgmiiFrame.from_payload(bytes(70)))
    assert len((await card.received.recv()).tdata) == 16 + 70
    assert (await card.register(0x20), await card.register(0x24)) == (len(frames) + 1, 1)


@cocotb.test()
async def both_ways_run_at_line_rate_with_frames_of_64_bytes(dut):
    card = await Card().start(dut)
    frames = [bytes([number]) * 60 for number in range(200)]
    for frame in frames:
        await card.send(0, frame)
        await card.line_in.send(XgmiiFrame.from_payload(frame))
    left = [await card.line_out.recv() for _ in frames]
    assert [bytes(came.get_payload()) for came in left] == frames
    starts = [card.left(came) for came in left]
    assert {after - before for before, after in zip(starts, starts[1:])} == {21}
    for frame in frames:
        assert bytes((await card.received.recv()).tdata)[16:] == frame
    assert await card.register(0x28) == 0


@cocotb.test()
async def a_record_that_the_ring_has_no_words_for_is_refused_and_counted(dut):
    card = await Card().start(dut)
    longest = min(16000, 8 << dut.RING.value)
    for length in [longest, longest + 1, 60, longest + 9, 60]:
        await card.send(0, bytes([length % 251]) * length)
    left = [bytes((await card.line_out.recv()).get_payload()) for _ in range(3)]
    assert left == [bytes([length % 251]) * length for length in [longest, 60, 60]]
    assert (await card.register(0x10), await card.register(0x18)) == (3, 2)


@cocotb.test()
async def a_reset_forgets_what_timers_were_marked_with(dut):
    card = await Card().start(dut)
    await ClockCycles(dut.clk, 3000)
    await card.send(0x13 << 56, bytes(60))
    await card.line_out.recv()
    assert await card.register(0x58) > 3000
    dut.rst.value = 1
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2)
    card.behind = get_sim_time("ps") - TICK * dut.counter.value.integer
    assert await card.register(0x58) == 0
    # A time relative to a timer without a mark is relative to 0.
    await card.send(3 << 56 | 300, bytes(60))
    assert card.left(await card.line_out.recv()) == 2 * 300
    assert await card.register(0x14) == 0


@cocotb.test()
async def records_that_wait_for_years_are_flushed_and_others_go_on(dut):
    card = await Card().start(dut)
    frames = [bytes([number]) * (60 + 90 * number) for number in range(5)]
    # The first leaves, and the others would wait: one for a tick that never comes, and two behind
    # it.
    for word, frame in zip([0, (1 << 56) - 1, 0, 0x12 << 56], frames):
        await card.send(word, frame)
    assert bytes((await card.line_out.recv()).get_payload()) == frames[0]
    await ClockCycles(dut.clk, 300)
    assert (await card.register(0x10), await card.register(0x1C)) == (1, 0)
    assert (await card.registers.write(0x30, b"\1\0\0\0")).resp == AxiResp.OKAY
    while await card.register(0x30):
        pass
    await card.send(0, frames[4])
    assert bytes((await card.line_out.recv()).get_payload()) == frames[4]
    assert (await card.register(0x10), await card.register(0x1C), await card.register(0x14)) == (2, 3, 0)
    # A flushed record marks no timer.
    assert await card.register(0x50) == 0


@cocotb.test()
async def an_address_without_a_register_is_answered_with_an_error(dut):
    card = await Card().start(dut)
    readable = {*range(0x00, 0x2C, 4), 0x30, *range(0x48, 0x80, 4)}
    for address in range(0, 256, 4):
        came = await card.registers.read(address, 4)
        assert (came.resp == AxiResp.OKAY) == (address in readable), hex(address)
        assert address in readable or came.data == bytes(4), hex(address)
        # Nothing waits to be flushed.
        came = await card.registers.write(address, b"\1\0\0\0")
        assert (came.resp == AxiResp.OKAY) == (address == 0x30), hex(address)
    assert await card.register(0) == 0x57495245
