package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"math/rand"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	again   = 50 * time.Millisecond // until the first retransmission of an unanswered request; each later one waits twice as long
	patient = 3 * time.Second       // until an operation is given up: it may still be done
	// Operations of a key before all go on to other keys: the checker's work grows with those that were given up.
	generation = 200
	atATime    = 8  // keys
	givenUp    = 50 // operations that one which was given up counts for
)

// load is the process of the clients.
func load(words []string) {
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	own := flags.String("address", "", "the address of this host")
	duration := flags.Duration("duration", time.Minute, "how long to ask")
	clients := flags.Int("clients", 24, "how many")
	seed := flags.Int64("seed", 1, "seed")
	path := flags.String("history", "history.jsonl", "where operations are written")
	must(flags.Parse(words))
	wire := listen(*own)
	file, err := os.Create(*path)
	must(err)
	history := bufio.NewWriter(file)
	var writing sync.Mutex
	record := func(one operation) {
		line, err := json.Marshal(one)
		must(err)
		writing.Lock()
		defer writing.Unlock()
		history.Write(line)
		history.WriteByte('\n')
	}
	begun := time.Now()
	var count, values atomic.Int64
	var all sync.WaitGroup
	for number := 0; number < *clients; number++ {
		all.Add(1)
		go func() {
			defer all.Done()
			random := rand.New(rand.NewSource(*seed + int64(number)))
			asking := newClient(wire)
			seen := map[uint64]uint64{}
			for time.Since(begun) < *duration {
				done := count.Add(1)
				key := uint64(done)/(generation*atATime)*atATime + uint64(random.Intn(atATime))
				one := operation{Client: number, Key: key, Verb: "get"}
				switch random.Intn(5) {
				case 0, 1:
					one.Verb, one.New = "put", uint64(values.Add(1))
				case 2:
					one.Verb, one.Old, one.New = "cas", seen[key], uint64(values.Add(1))
				}
				one.Call = int64(time.Since(begun))
				asking.do(&one)
				if one.Answered {
					one.Return = int64(time.Since(begun))
				} else {
					count.Add(givenUp)
				}
				switch {
				case one.Verb == "get" && one.Answered:
					seen[key] = one.Found
				case one.Verb == "put":
					seen[key] = one.New
				}
				record(one)
			}
		}()
	}
	all.Wait()
	must(history.Flush())
	must(file.Close())
}

// wire is the group's socket, and who waits for which answer.
type wire struct {
	socket  *net.UDPConn
	group   *net.UDPAddr
	mutex   sync.Mutex
	waiting map[request]chan message
}

// request says which answer is wanted: of a client's command, or to a new session, which is known by its nonce.
type request struct {
	client, sequence uint32
	nonce            [16]byte
}

func listen(own string) *wire {
	group := &net.UDPAddr{IP: net.IPv4(239, 0, 0, 1), Port: port}
	interfaces, err := net.Interfaces()
	must(err)
	var chosen *net.Interface
	for i := range interfaces {
		addresses, _ := interfaces[i].Addrs()
		for _, known := range addresses {
			if ip, _, err := net.ParseCIDR(known.String()); err == nil && ip.String() == own {
				chosen = &interfaces[i]
			}
		}
	}
	socket, err := net.ListenMulticastUDP("udp4", chosen, group)
	must(err)
	must(socket.SetReadBuffer(4 << 20))
	raw, err := socket.SyscallConn()
	must(err)
	var failed error
	must(raw.Control(func(fd uintptr) {
		var address [4]byte
		copy(address[:], net.ParseIP(own).To4())
		failed = syscall.SetsockoptInet4Addr(int(fd), syscall.IPPROTO_IP, syscall.IP_MULTICAST_IF, address)
	}))
	must(failed)
	made := &wire{socket: socket, group: group, waiting: map[request]chan message{}}
	go made.hear()
	return made
}

func (w *wire) hear() {
	bytes := make([]byte, 2048)
	for {
		length, _, err := w.socket.ReadFromUDP(bytes)
		must(err)
		answer, ok := parse(bytes[:length])
		if !ok || answer.kind != response {
			continue
		}
		wanted := request{client: answer.client, sequence: answer.sequence}
		if answer.client == opens {
			copy(wanted.nonce[:], answer.value[1:])
		}
		w.mutex.Lock()
		if waits := w.waiting[wanted]; waits != nil {
			select {
			case waits <- answer:
			default:
			}
		}
		w.mutex.Unlock()
	}
}

// ask asks until it is answered, or for as long as it is patient.
func (w *wire) ask(wanted request, value []byte) (message, bool) {
	answers := make(chan message, 1)
	w.mutex.Lock()
	w.waiting[wanted] = answers
	w.mutex.Unlock()
	defer func() {
		w.mutex.Lock()
		delete(w.waiting, wanted)
		w.mutex.Unlock()
	}()
	bytes := build(message{kind: asks, client: wanted.client, sequence: wanted.sequence, value: value})
	until := time.Now().Add(patient)
	for wait := again; time.Now().Before(until); wait *= 2 {
		// A link that is down, or a queue that is full, loses it: it is sent again.
		w.socket.WriteToUDP(bytes, w.group)
		select {
		case answer := <-answers:
			return answer, true
		case <-time.After(min(wait, time.Until(until))):
		}
	}
	return message{}, false
}
