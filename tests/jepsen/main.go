// Jepsen runs a Paxos group of wire processes in network namespaces, breaks it, and has porcupine check what clients saw.
//
// Usage (as root): jepsen [-wire PATH] [-duration 10m] [-operations N] [-seed N] [-faults kill,pause,...] [-out DIR]
//
// It exits with 0 when the history is linearizable and long enough, with 1 when not, with 2 when it cannot run. The history, the faults and
// the members' standard error are kept in DIR.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "load" {
		load(os.Args[2:])
		return
	}
	wire := flag.String("wire", "wire", "the program under test")
	duration := flag.Duration("duration", 10*time.Minute, "how long clients ask")
	atLeast := flag.Int("operations", 0, "how many operations must be answered")
	clients := flag.Int("clients", 24, "how many clients ask at a time")
	seed := flag.Int64("seed", time.Now().UnixNano(), "seed of all random numbers")
	names := flag.String("faults", strings.Join(faultNames(), ","), "the faults, by name")
	out := flag.String("out", "out", "where histories and logs are kept")
	only := flag.String("check", "", "only check this history")
	flag.Parse()
	if *only != "" {
		os.Exit(verdict(*only, *out, 0))
	}
	if os.Geteuid() != 0 {
		fmt.Println("skipped: namespaces need root")
		return
	}
	chosen, err := faultsNamed(*names)
	must(err)
	must(os.RemoveAll(*out))
	must(os.MkdirAll(*out, 0o755))
	path, err := exec.LookPath(*wire)
	must(err)
	path, err = filepath.Abs(path)
	must(err)
	fmt.Printf("seed %d, %s of %s\n", *seed, *duration, *names)
	history := filepath.Join(*out, "history.jsonl")
	run(path, *out, history, *duration, *clients, *seed, chosen)
	os.Exit(verdict(history, *out, *atLeast))
}

// run has clients ask while faults come and go.
func run(wire, out, history string, duration time.Duration, clients int, seed int64, chosen []fault) {
	group := newGroup(wire, out)
	defer group.end()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	group.startAll()
	own, err := os.Executable()
	must(err)
	asks := group.command("k", own, "load", "-address", address("k"), "-duration", duration.String(),
		"-clients", fmt.Sprint(clients), "-seed", fmt.Sprint(seed), "-history", history)
	asks.Stdout, asks.Stderr = os.Stdout, os.Stderr
	must(asks.Start())
	done := make(chan error, 1)
	go func() { done <- asks.Wait() }()
	nemesis := newNemesis(group, seed, chosen)
	for {
		select {
		case err := <-done:
			must(err)
			nemesis.report()
			return
		case <-interrupted:
			asks.Process.Kill()
			return
		default:
			nemesis.strike()
		}
	}
}

// verdict checks a history, and prints the result.
func verdict(path, out string, atLeast int) int {
	operations, err := read(path)
	must(err)
	answered := 0
	for _, operation := range operations {
		if operation.Answered {
			answered++
		}
	}
	result := check(operations)
	fmt.Printf("%d operations, %d answered, %d anomalies, %d keys not checked to the end\n",
		len(operations), answered, len(result.illegal), len(result.unknown))
	for _, key := range result.illegal {
		fmt.Printf("NOT linearizable, by what was seen of key %d: see %s\n", key, path)
	}
	for _, key := range result.unknown {
		fmt.Printf("not checked to the end: key %d\n", key)
	}
	if answered < atLeast {
		fmt.Printf("only %d operations were answered, not %d\n", answered, atLeast)
	}
	if len(result.illegal)+len(result.unknown) > 0 || answered < atLeast || answered == 0 {
		return 1
	}
	return 0
}

func read(path string) ([]operation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []operation
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var one operation
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, one)
	}
	return all, lines.Err()
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		panic(err)
	}
}
