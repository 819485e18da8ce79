"""The receiving half of the 10 Gb/s MAC, fed by cocotbext-eth's XGMII."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiStreamBus, AxiStreamMonitor
from cocotbext.eth import XgmiiFrame, XgmiiSource


async def start(dut):
    cocotb.start_soon(Clock(dut.clk, 6400, units="ps").start())
    source = XgmiiSource(dut.xgmii_rxd, dut.xgmii_rxc, dut.clk, dut.rst)
    monitor = AxiStreamMonitor(AxiStreamBus.from_prefix(dut, "m_axis"), dut.clk, dut.rst)
    dut.rst.value = 1
    await ClockCycles(dut.clk, 8)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 8)
    return source, monitor


def bad(frame):
    """What is told with the last word."""
    told = frame.tuser
    return bool(told[-1] if isinstance(told, list) else told)


@cocotb.test()
async def frames_come_whole_from_either_lane_at_any_gap(dut):
    source, monitor = await start(dut)
    for gap, evenly in [(12, True), (12, False), (5, False), (40, True)]:
        source.ifg, source.enable_dic = gap, evenly
        seed = random.Random(gap)
        frames = [seed.randbytes(length) for length in list(range(60, 140)) + [1514, 60, 60, 1518]]
        for frame in frames:
            await source.send(XgmiiFrame.from_payload(frame))
        for frame in frames:
            came = await monitor.recv()
            assert bytes(came.tdata) == frame
            assert not bad(came)


@cocotb.test()
async def a_wrong_fcs_and_an_error_within_are_told_and_the_next_frame_is_whole(dut):
    source, monitor = await start(dut)
    wrong = XgmiiFrame.from_payload(bytes(range(90)))
    wrong.data[30] ^= 0x10
    error = XgmiiFrame.from_payload(bytes(range(90)))
    error.normalize()
    error.data[40], error.ctrl[40] = 0xFE, 1
    good = XgmiiFrame.from_payload(bytes(range(64)))
    for frame in [wrong, good, error, good]:
        await source.send(frame)
    assert [bad(await monitor.recv()) for _ in range(4)] == [True, False, True, False]
