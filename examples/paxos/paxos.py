"""A client of a Paxos group, in Python alone: `submit` and `deliver` of the paper (002, section 3.5.2) over UDP multicast.

    from paxos import Group

    with Group(interface="10.0.0.9") as group:
        instance, answer = group.submit(b"hello")       # decided once, in this instance
        for instance, value in group.deliver(10):       # later decisions, in order
            print(instance, value)

A group with a key: Group(key=bytes.fromhex(open("group.key").read())). As a program: paxos.py [--interface ADDRESS] [--group ADDRESS] VALUE...
"""
import argparse
import os
import socket
import struct
import time

PORT = 57021
REQUEST, PHASE_2B, DELIVERED, LEARN, DECIDED, RESPONSE = 1, 5, 12, 13, 14, 15
# kind, bytes of the value, sender, boot, instance, round, vote round, base, high, boots, client, sequence, value
HEADER = struct.Struct(">BBHHQQQQQ10sII64s")
# The client number of a request for a session, and the first byte of that request and of its answer.
OPENS, OPEN = 0xFFFFFFFF, 4
# The answer to a command of a session that is closed: it is not done now; an earlier request for it may have been done.
CLOSED = struct.pack(">BQ", 5, 0)


class NoAnswer(Exception):
    """No answer in time. The value may be decided later, or not."""


class SessionClosed(Exception):
    """The group closed the session: the value may be decided, or not."""


class Group:
    """A session with a group. One thread may use it at a time."""

    def __init__(self, group="239.0.0.1", interface="0.0.0.0", key=None, again=0.1):
        """`interface` is the own address towards the group, `again` how long until a request is sent again, in seconds."""
        self.group, self.key, self.again = group, key, again
        self.client, self.sequence = None, 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((group, PORT))
        own = socket.inet_aton(interface)
        if interface != "0.0.0.0":
            self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, own)
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + own)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Leaves the group. Its session stays until the group needs its place."""
        self.socket.close()

    def submit(self, value, timeout=10.0):
        """Has `value`, up to 64 bytes, decided once: (instance, answer of the application)."""
        if len(value) > 64:
            raise ValueError("a value has at most 64 bytes")
        until = time.monotonic() + timeout
        if self.client is None:
            nonce = os.urandom(16)
            opened = lambda answer: answer[:17] == bytes([OPEN]) + nonce and len(answer) == 21
            _, answer = self._ask(OPENS, 0, bytes([OPEN]) + nonce + bytes(4), opened, until)
            self.client, self.sequence = struct.unpack(">I", answer[17:])[0], 0
        self.sequence += 1
        try:
            instance, answer = self._ask(self.client, self.sequence, value, lambda _: True, until)
        except NoAnswer:
            # The next value needs another session: replicas remember one answer of each.
            self.client = None
            raise
        if answer == CLOSED:
            self.client = None
            raise SessionClosed("the session was closed; submit opens another one")
        return instance, answer

    def deliver(self, count=None, acceptors=(0, 1, 2), timeout=None):
        """What is decided, in order, from where the first replica heard has come to: (instance, value). No-ops have None as value.

        `acceptors` are the members that vote. Ends after `count`, or after `timeout` seconds without anything new.
        """
        following, decided, votes, high = None, {}, {}, 0
        last = asked = time.monotonic()
        while count is None or count > 0:
            message = self._receive(time.monotonic() + 0.02)
            now = time.monotonic()
            if timeout is not None and now - last > timeout:
                return
            if message is not None:
                kind, sender, instance, round_, client, _, value = message
                value = None if client == 0 else value
                if kind == DELIVERED:
                    following = following or instance
                    high = max(high, instance - 1)
                elif following is None or instance < following:
                    pass
                elif kind == DECIDED:
                    decided[instance] = value
                elif kind == PHASE_2B and sender in acceptors:
                    of = votes.setdefault((instance, round_), {})
                    of[sender] = value
                    if len(of) > len(acceptors) // 2:
                        decided[instance] = value
            while following in decided and (count is None or count > 0):
                yield following, decided.pop(following)
                votes = {key: of for key, of in votes.items() if key[0] > following}
                following, last = following + 1, now
                count = None if count is None else count - 1
            if following is not None and high >= following and now - max(asked, last) > 0.02:
                asked = now
                self._send(LEARN, instance=following)

    def _ask(self, client, sequence, value, is_answer, until):
        wait = self.again
        while (now := time.monotonic()) < until:
            self._send(REQUEST, client=client, sequence=sequence, value=value)
            again = min(until, now + wait)
            # Exponential back-off, as on any network.
            wait = min(2 * wait, 2.0)
            while (message := self._receive(again)) is not None or time.monotonic() < again:
                if message is None:
                    continue
                kind, _, instance, _, to, number, answer = message
                if kind == RESPONSE and (to, number) == (client, sequence) and is_answer(answer):
                    return instance, answer
        raise NoAnswer(f"no answer from the group {self.group}: are its members running?")

    def _send(self, kind, instance=0, client=0, sequence=0, value=b""):
        message = HEADER.pack(kind, len(value), 0, 0, instance, 0, 0, 0, 0, bytes(10), client, sequence, value)
        if self.key is not None:
            message += self._tag(message)
        self.socket.sendto(message, (self.group, PORT))

    def _receive(self, until):
        """The next message until then, if there is one: kind, sender, instance, round, client, sequence, value."""
        while (left := until - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                datagram = self.socket.recv(2048)
            except (socket.timeout, BlockingIOError):
                return None
            message = datagram[: HEADER.size]
            if len(message) < HEADER.size or message[1] > 64:
                continue
            if self.key is not None and datagram[HEADER.size : HEADER.size + 8] != self._tag(message):
                continue
            kind, length, sender, _, instance, round_, _, _, _, _, client, sequence, value = HEADER.unpack(message)
            return kind, sender, instance, round_, client, sequence, value[:length]
        return None

    def _tag(self, message):
        return siphash(self.key, socket.inet_aton(self.group) + message)


def siphash(key, message):
    """SipHash-2-4 (Aumasson and Bernstein, 2012), its number in network order."""
    mask = (1 << 64) - 1
    k0, k1 = struct.unpack("<QQ", key)
    a, b, c, d = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573

    def turned(word, bits):
        return (word << bits | word >> 64 - bits) & mask

    def rounds(count):
        nonlocal a, b, c, d
        for _ in range(count):
            a = (a + b) & mask
            b = turned(b, 13) ^ a
            a = turned(a, 32)
            c = (c + d) & mask
            d = turned(d, 16) ^ c
            a = (a + d) & mask
            d = turned(d, 21) ^ a
            c = (c + b) & mask
            b = turned(b, 17) ^ c
            c = turned(c, 32)

    whole = message + bytes(7 - len(message) % 8) + bytes([len(message) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", whole):
        d ^= word
        rounds(2)
        a ^= word
    c ^= 0xFF
    rounds(4)
    return struct.pack(">Q", a ^ b ^ c ^ d)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Have values decided by a Paxos group; prints their instances.")
    parser.add_argument("values", metavar="VALUE", nargs="+")
    parser.add_argument("--group", default="239.0.0.1")
    parser.add_argument("--interface", default="0.0.0.0")
    parser.add_argument("--key", help="the file of the group's key")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds (default 10)")
    options = parser.parse_args()
    key = bytes.fromhex(open(options.key).read()) if options.key else None
    with Group(options.group, options.interface, key) as group:
        for value in options.values:
            instance, _ = group.submit(value.encode(), options.timeout)
            print(instance, value)
