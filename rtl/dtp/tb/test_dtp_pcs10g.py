"""A PCS with DTP in it, with its own blocks: cocotbext-eth's XGMII sees nothing of the messages, and cocotbext-axi's master reads and sets it."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from cocotbext.eth import XgmiiFrame, XgmiiSink, XgmiiSource


STATE, DELAY, BEACON, SENT = 0x100, 0x104, 0x108, 0x110
SYNC = 3


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
    registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
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

    # The control interface.
    assert await registers.read_dword(STATE) == SYNC
    assert await registers.read_dword(DELAY) == dut.delay.value.integer
    assert await registers.read_dword(BEACON) == 20
    assert await registers.read_dword(SENT) >= sent
    await registers.write_dword(BEACON, 500)
    assert await registers.read_dword(BEACON) == 500
    refused = await registers.write(BEACON, (1).to_bytes(4, "little"))
    assert refused.resp == AxiResp.SLVERR
    assert await registers.read_dword(BEACON) == 500
    # A counter of 106 bits, the highest ones last.
    for word, bits in enumerate([0x89ABCDEF, 0x01234567, 0x76543210, 0x2A5]):
        await registers.write_dword(0x30 + 4 * word, bits)
    counter = [await registers.read_dword(0x10 + 4 * word) for word in range(4)]
    assert counter[1:] == [0x01234567, 0x76543210, 0x2A5] and 0 < counter[0] - 0x89ABCDEF < 100, counter
    beacons = dut.beacons_sent.value.integer
    await ClockCycles(dut.clk, 2000)
    assert 3 <= dut.beacons_sent.value.integer - beacons <= 5
