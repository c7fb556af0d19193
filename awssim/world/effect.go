package world

import (
	"net/netip"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
)

// Effect is something that must be done outside the world. The data plane does
// it, later and on its own goroutines; the answer enters as a later step.
type Effect interface{ effect() }

// StartProcess: a container has started; behind Address and Ports something
// must answer from now on, as Behaviour says.
type StartProcess struct {
	Key         Key
	Task        string // ARN
	TaskID      string
	Container   string
	Service     string // "" for a standalone task
	Address     netip.Addr
	Ports       []int32
	Behaviour   image.Behaviour
	Environment map[string]string
	StopTimeout time.Duration
	At          time.Time
}

// SignalProcess: SIGTERM, or SIGKILL if Kill, to every process of the task.
type SignalProcess struct {
	Key  Key
	Task string
	Kill bool
}

// ProbeTarget: one health check of a target whose image is not modelled. The
// answer goes to balancer.Probed.
type ProbeTarget struct {
	Key     Key
	Group   string // ARN
	Target  string // id
	Port    int32  // registered port
	Address netip.Addr
	Check   int32 // port to check
	Path    string
	Timeout time.Duration
	N       int
}

// ListenersChanged: the load balancer's listeners came or went; its sockets must
// follow. Listeners are "port -> listener ARN"; an empty map closes all.
type ListenersChanged struct {
	Key      Key
	Balancer string // ARN
	Address  string // wanted loopback address
	Ports    map[int32]string
}

// TargetGone: the drain of a target ended, or it was cut off; connections to it
// that are still open are closed.
type TargetGone struct {
	Key   Key
	Group string
	ID    string
	Port  int32
}

// Vanished: the whole Region was reset.
type Vanished struct{ Key Key }

func (StartProcess) effect()     {}
func (SignalProcess) effect()    {}
func (ProbeTarget) effect()      {}
func (ListenersChanged) effect() {}
func (TargetGone) effect()       {}
func (Vanished) effect()         {}
