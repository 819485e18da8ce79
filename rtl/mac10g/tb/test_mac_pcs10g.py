"""MAC and PCS: frames go in as streams, over blocks, and come out again; cocotbext-axi's streams at both ends."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamMonitor, AxiStreamSource


async def cable(dut, flips):
    """Takes each block to the receiver. `flips`: in how many blocks, and what of the payload, is wrong then."""
    while True:
        await RisingEdge(dut.clk)
        wrong = sum(mask for left, mask in flips if left == 0)
        flips[:] = [(left - 1, mask) for left, mask in flips if left > 0]
        dut.rx_header.value = dut.tx_header.value
        dut.rx_payload.value = dut.tx_payload.value.integer ^ wrong


async def start(dut, flips):
    cocotb.start_soon(Clock(dut.clk, 6400, units="ps").start())
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.clk, dut.rst)
    monitor = AxiStreamMonitor(AxiStreamBus.from_prefix(dut, "m_axis"), dut.clk, dut.rst)
    dut.rst.value, dut.rx_rst.value = 1, 1
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    cocotb.start_soon(cable(dut, flips))
    # The descrambler has what it needs after one block.
    await ClockCycles(dut.clk, 8)
    dut.rx_rst.value = 0
    await ClockCycles(dut.clk, 8)
    return source, monitor


def bad(frame):
    told = frame.tuser
    return bool(told[-1] if isinstance(told, list) else told)


@cocotb.test()
async def frames_come_out_as_they_went_in(dut):
    source, monitor = await start(dut, [])
    seed = random.Random(2)
    frames = [seed.randbytes(seed.randrange(60, 300)) for _ in range(200)]
    for frame in frames:
        await source.send(AxiStreamFrame(frame))
    for frame in frames:
        came = await monitor.recv()
        assert (bytes(came.tdata), bad(came)) == (frame, False)


@cocotb.test()
async def a_bit_that_is_wrong_on_the_line_spoils_its_frame_alone(dut):
    flips = []
    source, monitor = await start(dut, flips)
    frames = [bytes([number] * 400) for number in range(1, 4)]
    for frame in frames:
        await source.send(AxiStreamFrame(frame))
    while not dut.tx_begins.value:
        await RisingEdge(dut.clk)
    # The second frame's data: a frame is 53 blocks, and its scrambled bits count twice more, 39 and 58 bits later.
    flips.append((80, 1 << 20))
    came = [await monitor.recv() for _ in frames]
    assert [bad(frame) for frame in came] == [False, True, False]
    assert bytes(came[2].tdata) == frames[2]

