"""The transmitting half of the 10 Gb/s MAC, seen by cocotbext-eth's XGMII."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSource
from cocotbext.eth import XgmiiSink

BYTE = 800  # picoseconds at 10 Gb/s


async def start(dut):
    cocotb.start_soon(Clock(dut.clk, 6400, units="ps").start())
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.clk, dut.rst)
    sink = XgmiiSink(dut.xgmii_txd, dut.xgmii_txc, dut.clk, dut.rst)
    dut.rst.value = 1
    await ClockCycles(dut.clk, 8)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 8)
    return source, sink


@cocotb.test()
async def frames_leave_whole_with_padding_fcs_and_gaps_of_12_bytes_on_average(dut):
    source, sink = await start(dut)
    seed = random.Random(1)
    frames = [seed.randbytes(length) for length in list(range(1, 140)) + [1514, 60, 1518] + [60] * 100]
    for frame in frames:
        await source.send(AxiStreamFrame(frame))
    before, gaps = None, []
    for frame in frames:
        came = await sink.recv()
        assert came.get_preamble_len() == 8
        assert came.check_fcs(), frame
        assert bytes(came.get_payload()) == frame.ljust(60, b"\0")
        if before is not None:
            gaps.append((came.sim_time_start - before) // BYTE)
        before = came.sim_time_start
    # From start to start: preamble and SFD, frame, FCS, gap; the sink's times are those of cycles of 8 bytes, in picoseconds.
    due = [8 + max(60, len(frame)) + 4 + 12 for frame in frames[:-1]]
    for had, want in zip(gaps, due):
        assert abs(had - want) <= 8, (had, want)
    assert abs(sum(gaps) - sum(due)) <= 8, (sum(gaps), sum(due))


@cocotb.test()
async def a_frame_whose_word_is_missing_ends_with_an_error(dut):
    source, sink = await start(dut)
    await source.send(AxiStreamFrame(bytes(range(200))))
    while not dut.begins.value:
        await ClockCycles(dut.clk, 1)
    await ClockCycles(dut.clk, 4)
    source.pause = True
    await ClockCycles(dut.clk, 2)
    source.pause = False
    await source.send(AxiStreamFrame(bytes(100)))
    broken, whole = await sink.recv(compact=False), await sink.recv()
    assert any(broken.ctrl), broken
    assert whole.check_fcs() and bytes(whole.get_payload()) == bytes(100)
