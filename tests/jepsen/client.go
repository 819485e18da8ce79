package main

import (
	"crypto/rand"
	"encoding/binary"
)

// Messages, as crates/consensus/src/message.rs has them; written here a second time, on purpose.
const (
	port     = 57021
	length   = 128
	asks     = 1
	response = 15
	// The client number of those that ask for a session.
	opens = 0xFFFFFFFF
)

// First byte of a command's or an answer's value.
const (
	get, put, swap, open                      = 1, 2, 3, 4
	found, written, differs, opened, isClosed = 1, 2, 3, 4, 5
)

type message struct {
	kind             byte
	client, sequence uint32
	value            []byte
}

func build(m message) []byte {
	bytes := make([]byte, length)
	bytes[0], bytes[1] = m.kind, byte(len(m.value))
	binary.BigEndian.PutUint32(bytes[56:], m.client)
	binary.BigEndian.PutUint32(bytes[60:], m.sequence)
	copy(bytes[64:], m.value)
	return bytes
}

func parse(bytes []byte) (message, bool) {
	if len(bytes) < length || int(bytes[1]) > length-64 || bytes[1] == 0 {
		return message{}, false
	}
	value := append([]byte{}, bytes[64:64+int(bytes[1])]...)
	m := message{bytes[0], binary.BigEndian.Uint32(bytes[56:]), binary.BigEndian.Uint32(bytes[60:]), value}
	return m, m.client != opens || len(value) >= 17
}

func numbers(code byte, all ...uint64) []byte {
	value := []byte{code}
	for _, number := range all {
		value = binary.BigEndian.AppendUint64(value, number)
	}
	return value
}

// client asks for one operation after the other, in a session that the group grants.
type client struct {
	wire             *wire
	number, sequence uint32
}

func newClient(wire *wire) *client { return &client{wire: wire} }

// session opens one, if there is none; whether there is one.
func (c *client) session() bool {
	if c.number != 0 {
		return true
	}
	wanted := request{client: opens}
	if _, err := rand.Read(wanted.nonce[:]); err != nil {
		panic(err)
	}
	value := append([]byte{open}, wanted.nonce[:]...)
	value = append(value, 0, 0, 0, 0) // without a name
	answer, ok := c.wire.ask(wanted, value)
	if !ok || answer.value[0] != opened || len(answer.value) < 21 {
		return false
	}
	c.number, c.sequence = binary.BigEndian.Uint32(answer.value[17:]), 0
	return true
}

// do has an operation done. One that is given up may be done at any later time, so that the next one needs another session.
func (c *client) do(one *operation) {
	if !c.session() {
		// Nothing was asked for. It is in the history as an operation that may never be done, as it is.
		return
	}
	c.sequence++
	var value []byte
	switch one.Verb {
	case "get":
		value = numbers(get, one.Key, 0, 0)
	case "put":
		value = numbers(put, one.Key, one.New, 0)
	default:
		value = numbers(swap, one.Key, one.Old, one.New)
	}
	answer, ok := c.wire.ask(request{client: c.number, sequence: c.sequence}, value)
	if !ok || answer.value[0] == isClosed || len(answer.value) < 9 {
		c.number = 0
		return
	}
	one.Answered = true
	switch answer.value[0] {
	case found:
		one.Found = binary.BigEndian.Uint64(answer.value[1:])
	case written:
		one.Written = one.Verb == "cas"
	case differs:
	default:
		panic("an answer that means nothing")
	}
}
