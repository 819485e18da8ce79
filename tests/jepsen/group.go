package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A member's namespace is named tag + its name; all are on one bridge.
const tag = "jep"

var hosts = map[string]int{"a0": 20, "a1": 21, "a2": 22, "a3": 23, "c1": 31, "c2": 32, "r0": 40, "r1": 41, "k": 50}

var (
	acceptors    = []string{"a0", "a1", "a2", "a3"}
	coordinators = []string{"c1", "c2"}
	replicas     = []string{"r0", "r1"}
	members      = append(append(append([]string{}, acceptors...), coordinators...), replicas...)
)

// lossy members are behind a link that delays, loses, repeats and reorders frames.
var lossy = []string{"a1", "c2", "r1"}

const impairment = "1ms 1ms loss 2% duplicate 2% reorder 5%"

func address(name string) string { return fmt.Sprintf("10.66.0.%d", hosts[name]) }

// group is the processes of a Paxos group.
type group struct {
	wire, out string
	processes map[string]*exec.Cmd
	links     []*exec.Cmd
	voters    []string // the acceptors that the group has decided on
}

func newGroup(wire, out string) *group {
	made := &group{wire: wire, out: out, processes: map[string]*exec.Cmd{}, voters: []string{"a0", "a1", "a2"}}
	made.remove()
	lan := tag + "lan"
	shell("ip netns add %s; ip -n %s link set lo up; ip -n %s link add br0 type bridge mcast_snooping 0; ip -n %s link set br0 up", lan, lan, lan, lan)
	for name := range hosts {
		space, port := tag+name, "v"+name
		shell("ip netns add %s; ip -n %s link add %s type veth peer name eth0 netns %s", space, lan, port, space)
		shell("ip -n %s addr add %s/24 dev eth0; ip -n %s link set lo up; ip -n %s link set eth0 up; ip -n %s route add 239.0.0.0/8 dev eth0; ip -n %s link set %s up",
			space, address(name), space, space, space, lan, port)
		if !contains(lossy, name) {
			shell("ip -n %s link set %s master br0", lan, port)
			continue
		}
		shell("ip -n %s link add d%s type veth peer name e%s; ip -n %s link set d%s up; ip -n %s link set e%s master br0 up", lan, name, name, lan, name, lan, name)
		link := exec.Command("ip", append(append([]string{"netns", "exec", lan, wire, "delay"}, strings.Fields(impairment)...), "--on", port, "d"+name)...)
		made.log(link, "link-"+name)
		must(link.Start())
		made.links = append(made.links, link)
	}
	time.Sleep(time.Second)
	return made
}

func (g *group) startAll() {
	for _, name := range members {
		g.start(name)
	}
	time.Sleep(time.Second)
}

// command is one in a member's namespace.
func (g *group) command(name string, words ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", tag + name}, words...)...)
}

// start starts a member by the command that it always has, with more keys.
func (g *group) start(name string, more ...string) {
	number := name[1:]
	var words []string
	switch name[0] {
	case 'a':
		words = []string{"paxos-acceptor", "--set", "id=" + number}
	case 'c':
		words = []string{"paxos-coordinator", "--set", "identity=" + number, "--set", "replicas=2", "--set", "lease=300 ms"}
	default:
		words = []string{"paxos-replica", "--set", "id=" + number}
	}
	words = append([]string{g.wire, "run"}, words...)
	words = append(words, "--set", "state="+filepath.Join(g.out, "state"),
		"--on", "multicast:239.0.0.1:57021@"+address(name))
	words = append(words, more...)
	process := g.command(name, words...)
	g.log(process, name)
	must(process.Start())
	g.processes[name] = process
}

func (g *group) log(command *exec.Cmd, name string) {
	file, err := os.OpenFile(filepath.Join(g.out, name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	must(err)
	command.Stdout, command.Stderr = file, file
}

// replace has the group replace one acceptor by another one, and waits until that applies. Whether it was decided where no answer
// came, the next answer says.
func (g *group) replace(out, in string) {
	change := []string{"--add", "acceptor:" + in[1:], "--remove", "acceptor:" + out[1:]}
	for try := 0; try < 10; try++ {
		words := append([]string{g.wire, "paxos", "members", "--json", "--duration", "5s", "--on", "multicast:239.0.0.1:57021@" + address("k")}, change...)
		said, _ := g.command("k", words...).Output()
		var members struct {
			Acceptors []int `json:"acceptors"`
			Pending   bool  `json:"pending"`
		}
		if json.Unmarshal(said, &members) != nil || len(members.Acceptors) == 0 || members.Pending {
			continue
		}
		g.voters = nil
		for _, number := range members.Acceptors {
			g.voters = append(g.voters, fmt.Sprintf("a%d", number))
		}
		return
	}
	fmt.Printf("%s was not replaced by %s in ten tries\n", out, in)
}

func (g *group) signal(name string, what syscall.Signal) { g.processes[name].Process.Signal(what) }

func (g *group) kill(name string) {
	g.signal(name, syscall.SIGKILL)
	g.processes[name].Wait()
}

func (g *group) cut(name string)  { shell("ip -n %slan link set v%s down", tag, name) }
func (g *group) join(name string) { shell("ip -n %slan link set v%s up", tag, name) }

func (g *group) end() {
	for _, process := range g.processes {
		process.Process.Signal(syscall.SIGCONT)
		// It writes its counters into its log.
		process.Process.Signal(syscall.SIGINT)
		late := time.AfterFunc(3*time.Second, func() { process.Process.Kill() })
		process.Wait()
		late.Stop()
	}
	for _, link := range g.links {
		link.Process.Kill()
		link.Wait()
	}
	g.remove()
}

func (g *group) remove() {
	for name := range hosts {
		exec.Command("ip", "netns", "del", tag+name).Run()
	}
	exec.Command("ip", "netns", "del", tag+"lan").Run()
}

func shell(format string, words ...any) {
	command := fmt.Sprintf(format, words...)
	if said, err := exec.Command("sh", "-ec", command).CombinedOutput(); err != nil {
		must(fmt.Errorf("%s: %w: %s", command, err, said))
	}
}

func contains(all []string, name string) bool {
	for _, known := range all {
		if known == name {
			return true
		}
	}
	return false
}
