package main

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"
)

// fault breaks the group and repairs it.
type fault struct {
	name   string
	strike func(*nemesis)
}

var faults = []fault{
	{"kill", func(n *nemesis) {
		// Killed, and started again by the same command: as a service manager does.
		name := n.one(members)
		n.group.kill(name)
		n.between(50, 800)
		n.group.start(name)
		n.between(300, 1200)
	}},
	{"kill-all", func(n *nemesis) {
		for _, name := range members {
			n.group.kill(name)
		}
		for _, name := range members {
			n.group.start(name)
		}
		n.between(2000, 3000)
	}},
	{"forget", func(n *nemesis) {
		// One acceptor, always the same, starts without its promises and votes. It has been let in again before anything else happens.
		n.group.kill("a2")
		n.group.start("a2", "--set", "volatile=true")
		n.between(3000, 4000)
	}},
	{"pause", func(n *nemesis) {
		name := n.one(members)
		n.group.signal(name, syscall.SIGSTOP)
		n.between(100, 1500)
		n.group.signal(name, syscall.SIGCONT)
		n.between(100, 500)
	}},
	{"partition", func(n *nemesis) {
		name := n.one(members)
		n.group.cut(name)
		n.between(100, 1500)
		n.group.join(name)
		n.between(100, 600)
	}},
	{"minority", func(n *nemesis) {
		// Two of three acceptors are away: nothing may be decided.
		order := n.random.Perm(len(n.group.voters))
		n.group.cut(n.group.voters[order[0]])
		n.group.cut(n.group.voters[order[1]])
		n.between(800, 1500)
		n.group.join(n.group.voters[order[0]])
		n.group.join(n.group.voters[order[1]])
		n.between(1000, 2000)
	}},
	{"kill-in-partition", func(n *nemesis) {
		// Another acceptor is killed while one is away: what the two had decided is with those that come back.
		order := n.random.Perm(len(n.group.voters))
		n.group.cut(n.group.voters[order[0]])
		n.between(100, 500)
		n.group.kill(n.group.voters[order[1]])
		n.group.start(n.group.voters[order[1]])
		n.group.join(n.group.voters[order[0]])
		n.group.cut(n.group.voters[order[2]])
		n.between(800, 1500)
		n.group.join(n.group.voters[order[2]])
		n.between(500, 1000)
	}},
	{"replace", func(n *nemesis) {
		// The acceptor that does not vote takes the place of one that does, which may be one that is slow or was killed just before.
		in := n.one(acceptors)
		for contains(n.group.voters, in) {
			in = n.one(acceptors)
		}
		n.group.replace(n.one(n.group.voters), in)
		n.between(300, 1000)
	}},
}

func faultNames() []string {
	var names []string
	for _, one := range faults {
		names = append(names, one.name)
	}
	return names
}

func faultsNamed(list string) ([]fault, error) {
	var chosen []fault
	for _, name := range strings.Split(list, ",") {
		found := false
		for _, one := range faults {
			if one.name == name {
				chosen, found = append(chosen, one), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no fault %q; there are: %s", name, strings.Join(faultNames(), ", "))
		}
	}
	return chosen, nil
}

type nemesis struct {
	group  *group
	random *rand.Rand
	chosen []fault
	log    *os.File
	counts map[string]int
}

func newNemesis(group *group, seed int64, chosen []fault) *nemesis {
	log, err := os.Create(filepath.Join(group.out, "faults.log"))
	must(err)
	return &nemesis{group, rand.New(rand.NewSource(seed)), chosen, log, map[string]int{}}
}

func (n *nemesis) strike() {
	one := n.chosen[n.random.Intn(len(n.chosen))]
	fmt.Fprintf(n.log, "%d %s\n", time.Now().UnixNano(), one.name)
	n.counts[one.name]++
	one.strike(n)
	// Pauses let clients send requests that a fault can break.
	n.between(300, 1000)
}

func (n *nemesis) report() {
	var all []string
	for name, count := range n.counts {
		all = append(all, fmt.Sprintf("%s %d", name, count))
	}
	sort.Strings(all)
	fmt.Println("faults:", strings.Join(all, ", "))
}

func (n *nemesis) one(of []string) string { return of[n.random.Intn(len(of))] }

func (n *nemesis) between(from, to int) {
	time.Sleep(time.Duration(from+n.random.Intn(to-from)) * time.Millisecond)
}
