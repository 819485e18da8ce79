"""A PCS with DTP in it, with its own blocks: cocotbext-eth's XGMII sees nothing of the messages."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.eth import XgmiiFrame, XgmiiSink, XgmiiSource


async def cable(dut):
    while True:
        await RisingEdge(dut.clk)
        dut.rx_header.value = dut.tx_header.value
        dut.rx_payload.value = dut.tx_payload.value


@cocotb.test()
async def frames_pass_unchanged_between_messages(dut):
    cocotb.start_soon(Clock(dut.clk, 6400, units="ps").start())
    source = XgmiiSource(dut.xgmii_txd, dut.xgmii_txc, dut.clk, dut.rst)
    sink = XgmiiSink(dut.xgmii_rxd, dut.xgmii_rxc, dut.clk, dut.rst)
    dut.alpha.value, dut.beacon.value, dut.log.value = 3, 20, 0
    dut.start_low.value, dut.start_high.value = 1000, 0
    dut.rst.value, dut.rx_rst.value = 1, 1
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    cocotb.start_soon(cable(dut))
    await ClockCycles(dut.clk, 8)
    dut.rx_rst.value = 0
    await ClockCycles(dut.clk, 8)
    seed = random.Random(3)
    source.ifg = 40
    frames = [seed.randbytes(seed.randrange(60, 400)) for _ in range(150)]
    for frame in frames:
        await source.send(XgmiiFrame.from_payload(frame))
    for frame in frames:
        came = await sink.recv()
        assert came.check_fcs() and bytes(came.get_payload()) == frame
    # A port that hears itself is in step with itself.
    assert dut.is_sync.value == 1
    sent, heard = dut.beacons_sent.value.integer, dut.beacons_heard.value.integer
    assert sent > 20 and 0 <= sent - heard <= 1, (sent, heard)
    assert (dut.damaged.value, dut.out_of_range.value) == (0, 0)
