// Paxos for switches (paper 002, section 3.5), to be included by programs for v1model (from version 20200408 on), `switch` or `bump`: the header of
// all messages, and an acceptor and a coordinator as controls that turn one message into its answer. What the answer is sent to is
// for the program that includes this.
//
// The same as `consensus::Acceptor` and `consensus::Sequencer`, message for message and register for register.

#ifndef _PAXOS_P4_
#define _PAXOS_P4_

/// How many instances are remembered: a power of two, so that the index of a cell is the lowest bits of its instance and
/// never leaves the array.
#ifndef PAXOS_WINDOW
#define PAXOS_WINDOW 1024
#endif
/// Bits of a value.
#ifndef PAXOS_VALUE
#define PAXOS_VALUE 512
#endif
#define PAXOS_PORT 57021

const bit<8> PAXOS_REQUEST = 1;
const bit<8> PAXOS_1A = 2;
const bit<8> PAXOS_1B = 3;
const bit<8> PAXOS_2A = 4;
const bit<8> PAXOS_2B = 5;
const bit<8> PAXOS_REFUSED = 6;
const bit<8> PAXOS_FORGOTTEN = 7;
const bit<8> PAXOS_ADMIT = 8;
const bit<8> PAXOS_TRIM = 9;
const bit<8> PAXOS_ACTIVATE = 10;
const bit<8> PAXOS_LEASE = 11;
const bit<8> PAXOS_DELIVERED = 12;
const bit<8> PAXOS_LEARN = 13;
const bit<8> PAXOS_DECIDED = 14;
const bit<8> PAXOS_RESPONSE = 15;
const bit<8> PAXOS_FETCH = 16;
const bit<8> PAXOS_CHECKPOINT = 17;

/// Who a message is for, as a sum. A switch that forwards it has a multicast group of that number, with the ports behind which they are.
const bit<16> PAXOS_COORDINATORS = 1;
const bit<16> PAXOS_ACCEPTORS = 2;
const bit<16> PAXOS_LEARNERS = 4;
const bit<16> PAXOS_CLIENTS = 8;
/// Acceptors that take part only while they are called (Cheap Paxos), beside the main ones. 16 is not Paxos', but the group of all ports.
const bit<16> PAXOS_AUXILIARIES = 32;

/// Whether what a coordinator says is for auxiliary acceptors, too.
#define FOR_AUXILIARIES(paxos) (paxos.high == 1)

/// Figure 3.13, and what is needed beyond: see `consensus::message`.
header paxos_t {
    bit<8> msgtype;
    bit<8> length;
    bit<16> swid;
    bit<16> boot;
    bit<64> inst;
    bit<64> rnd;
    bit<64> vrnd;
    bit<64> base;
    bit<64> high;
    bit<16> boot0;
    bit<16> boot1;
    bit<16> boot2;
    bit<16> boot3;
    bit<16> boot4;
    bit<32> client;
    bit<32> sequence;
    bit<PAXOS_VALUE> value;
}

/// A vote: for which instance, in which round, for what.
struct paxos_cell_t {
    bit<64> inst;
    bit<64> rnd;
    bit<8> length;
    bit<32> client;
    bit<32> sequence;
    bit<PAXOS_VALUE> value;
}

/// Who the switch is, which its control plane writes once it has started: 0 as `boot` is for never.
struct paxos_self_t {
    bit<16> swid;
    bit<16> boot;
    /// 1 when the group is formed; after that only a coordinator may let it take part.
    bit<8> admitted;
}

/// How often each acceptor has started, as far as this one was told.
struct paxos_boots_t {
    bit<16> boot0;
    bit<16> boot1;
    bit<16> boot2;
    bit<16> boot3;
    bit<16> boot4;
}

/// Who a message is for.
@noWarn("unused")
control PaxosAudience(in paxos_t paxos, out bit<16> audience) {
    action to(bit<16> whom) {
        audience = whom;
    }

    table audiences {
        key = {
            paxos.msgtype: exact;
        }
        actions = {
            to;
        }
        const default_action = to(0);
        const entries = {
            PAXOS_REQUEST: to(PAXOS_COORDINATORS);
            PAXOS_1A: to(PAXOS_ACCEPTORS);
            PAXOS_1B: to(PAXOS_COORDINATORS);
            PAXOS_2A: to(PAXOS_ACCEPTORS);
            PAXOS_2B: to(PAXOS_COORDINATORS + PAXOS_LEARNERS);
            PAXOS_REFUSED: to(PAXOS_COORDINATORS);
            PAXOS_FORGOTTEN: to(PAXOS_COORDINATORS);
            PAXOS_ADMIT: to(PAXOS_ACCEPTORS);
            PAXOS_TRIM: to(PAXOS_ACCEPTORS);
            PAXOS_ACTIVATE: to(PAXOS_COORDINATORS);
            PAXOS_LEASE: to(PAXOS_COORDINATORS + PAXOS_LEARNERS);
            PAXOS_DELIVERED: to(PAXOS_COORDINATORS + PAXOS_LEARNERS);
            PAXOS_LEARN: to(PAXOS_COORDINATORS + PAXOS_LEARNERS);
            PAXOS_DECIDED: to(PAXOS_LEARNERS);
            PAXOS_RESPONSE: to(PAXOS_CLIENTS);
            PAXOS_FETCH: to(PAXOS_LEARNERS);
            PAXOS_CHECKPOINT: to(PAXOS_LEARNERS);
        }
    }

    apply {
        audiences.apply();
        if (audience == PAXOS_ACCEPTORS && FOR_AUXILIARIES(paxos)) {
            audience = PAXOS_ACCEPTORS + PAXOS_AUXILIARIES;
        }
    }
}

/// An acceptor: figure 3.15. `audience` is who the answer is for that the message has become; 0 when it is none, and done with.
@noWarn("unused")
control PaxosAcceptor(inout paxos_t paxos, out bit<16> audience) {
    register<paxos_self_t, bit<1>>(1) acceptor;
    register<bit<64>, bit<1>>(1) promised;
    /// One less than the instance from which on votes are remembered, as registers begin as 0 and instances as 1.
    register<bit<64>, bit<1>>(1) trimmed;
    register<bit<64>, bit<1>>(1) highest;
    register<paxos_boots_t, bit<1>>(1) starts;
    register<paxos_cell_t, bit<32>>(PAXOS_WINDOW) cells;

    action greater(inout bit<16> known, in bit<16> told) {
        known = told > known ? told : known;
    }

    apply {
        bool answers = false;
        audience = PAXOS_COORDINATORS;
        @atomic {
            paxos_self_t own;
            bit<64> rnd;
            bit<64> below;
            bit<64> high;
            paxos_boots_t boots;
            paxos_cell_t cell;
            acceptor.read(own, 0);
            promised.read(rnd, 0);
            trimmed.read(below, 0);
            highest.read(high, 0);
            starts.read(boots, 0);
            bit<64> base = below + 1;
            bit<32> slot = (bit<32>)(paxos.inst & (PAXOS_WINDOW - 1));
            if (paxos.msgtype == PAXOS_1A || paxos.msgtype == PAXOS_2A) {
                if (own.admitted == 0) {
                    paxos.msgtype = PAXOS_FORGOTTEN;
                    answers = true;
                } else if (paxos.rnd < rnd) {
                    paxos.msgtype = PAXOS_REFUSED;
                    paxos.vrnd = rnd;
                    answers = true;
                } else if (paxos.msgtype == PAXOS_1A) {
                    promised.write(0, paxos.rnd);
                    greater(boots.boot0, paxos.boot0);
                    greater(boots.boot1, paxos.boot1);
                    greater(boots.boot2, paxos.boot2);
                    greater(boots.boot3, paxos.boot3);
                    greater(boots.boot4, paxos.boot4);
                    starts.write(0, boots);
                    cells.read(cell, slot);
                    if (paxos.inst < base || cell.inst != paxos.inst) {
                        cell.rnd = 0;
                        cell.length = 0;
                        cell.client = 0;
                        cell.sequence = 0;
                        cell.value = 0;
                    }
                    paxos.msgtype = PAXOS_1B;
                    paxos.vrnd = cell.rnd;
                    paxos.length = cell.length;
                    paxos.client = cell.client;
                    paxos.sequence = cell.sequence;
                    paxos.value = cell.value;
                    answers = true;
                } else {
                    promised.write(0, paxos.rnd);
                    // What is below the base is far above it, too.
                    if (paxos.inst - base < PAXOS_WINDOW) {
                        cell.inst = paxos.inst;
                        cell.rnd = paxos.rnd;
                        cell.length = paxos.length;
                        cell.client = paxos.client;
                        cell.sequence = paxos.sequence;
                        cell.value = paxos.value;
                        cells.write(slot, cell);
                        high = paxos.inst > high ? paxos.inst : high;
                        highest.write(0, high);
                        paxos.msgtype = PAXOS_2B;
                        paxos.vrnd = paxos.rnd;
                        answers = true;
                        // A switch that orders requests counts no votes, and gives its number: a vote makes one hop.
                        audience = paxos.boot == 0 ? PAXOS_COORDINATORS + PAXOS_LEARNERS : PAXOS_LEARNERS;
                    }
                }
                if (answers) {
                    paxos.swid = own.swid;
                    paxos.boot = own.boot;
                    paxos.base = base;
                    paxos.high = high;
                    paxos.boot0 = boots.boot0;
                    paxos.boot1 = boots.boot1;
                    paxos.boot2 = boots.boot2;
                    paxos.boot3 = boots.boot3;
                    paxos.boot4 = boots.boot4;
                }
            } else if (paxos.msgtype == PAXOS_ADMIT) {
                if (own.admitted == 0 && own.boot != 0 && paxos.swid == own.swid && paxos.boot == own.boot) {
                    own.admitted = 1;
                    boots.boot0 = paxos.boot0;
                    boots.boot1 = paxos.boot1;
                    boots.boot2 = paxos.boot2;
                    boots.boot3 = paxos.boot3;
                    boots.boot4 = paxos.boot4;
                    acceptor.write(0, own);
                    promised.write(0, paxos.rnd);
                    trimmed.write(0, paxos.base == 0 ? 0 : paxos.base - 1);
                    starts.write(0, boots);
                }
            } else if (paxos.msgtype == PAXOS_TRIM) {
                if (own.admitted != 0 && paxos.inst > base) {
                    trimmed.write(0, paxos.inst - 1);
                }
            }
        }
        if (!answers) {
            audience = 0;
        }
    }
}

/// Where a coordinator stands: whether it leads, whether auxiliary acceptors are called, the next instance, and below which one acceptors remember nothing.
struct paxos_place_t {
    bit<8> active;
    bit<8> auxiliaries;
    bit<64> next;
    bit<64> base;
}

/// A coordinator: figure 3.14, with rounds. `audience` is who the phase 2A is for that a request has become; 0 when the message is as it was. A switch
/// cannot take over: a host does phase 1, and hands on the round and the instances from `inst` on.
@noWarn("unused")
control PaxosCoordinator(inout paxos_t paxos, out bit<16> audience) {
    /// Written by the control plane once the switch has started, and never the same for two starts in a group, so that what was meant for
    /// another start is none of it.
    register<bit<16>, bit<1>>(1) boot;
    /// The highest that it took: no round is taken twice, or its instances would be used twice.
    register<bit<64>, bit<1>>(1) round;
    register<paxos_place_t, bit<1>>(1) place;

    apply {
        audience = 0;
        @atomic {
            bit<16> own;
            bit<64> rnd;
            paxos_place_t at;
            boot.read(own, 0);
            round.read(rnd, 0);
            place.read(at, 0);
            if (paxos.msgtype == PAXOS_REQUEST) {
                if (at.active != 0 && at.next - at.base < PAXOS_WINDOW) {
                    paxos.msgtype = PAXOS_2A;
                    paxos.boot = own;
                    paxos.inst = at.next;
                    paxos.rnd = rnd;
                    paxos.high = (bit<64>)at.auxiliaries;
                    at.next = at.next + 1;
                    place.write(0, at);
                    audience = FOR_AUXILIARIES(paxos) ? PAXOS_ACCEPTORS + PAXOS_AUXILIARIES : PAXOS_ACCEPTORS;
                }
            } else if (paxos.msgtype == PAXOS_ACTIVATE) {
                if (own != 0 && paxos.boot == own && paxos.rnd > rnd) {
                    at.active = 1;
                    at.next = paxos.inst;
                    at.base = paxos.base;
                    at.auxiliaries = FOR_AUXILIARIES(paxos) ? (bit<8>)1 : (bit<8>)0;
                    round.write(0, paxos.rnd);
                    place.write(0, at);
                }
            } else if (paxos.msgtype == PAXOS_TRIM) {
                if (at.active != 0 && paxos.inst > at.base && paxos.inst <= at.next) {
                    at.base = paxos.inst;
                    place.write(0, at);
                }
            } else if (paxos.msgtype == PAXOS_REFUSED) {
                if (paxos.rnd == rnd && paxos.vrnd > rnd) {
                    at.active = 0;
                    place.write(0, at);
                }
            }
        }
    }
}

/// Whether a message is one that an acceptor takes.
#define FOR_ACCEPTOR(paxos) (paxos.isValid() && (paxos.msgtype == PAXOS_1A || paxos.msgtype == PAXOS_2A || paxos.msgtype == PAXOS_ADMIT || paxos.msgtype == PAXOS_TRIM))

#endif
