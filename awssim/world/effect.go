package world

import (
	"net/netip"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
)

// Effect is work that must be done outside the world. The data plane does it later, on its own
// goroutines. The result comes back as a later step.
type Effect interface{ isEffect() }

// StartProcess says that a container has started. The data plane must answer at Address and Ports
// from now on, as Behaviour says.
type StartProcess struct {
	Key         Key
	Task        string // ARN
	TaskID      string
	Container   string
	Service     string // "" for a standalone task
	Address     netip.Addr
	Ports       []int32 // published ones
	OwnPorts    []int32 // those of the container, in the same order; nil: Ports
	Behaviour   image.Behaviour
	Environment map[string]string
	StopTimeout time.Duration
	At          time.Time
}

// OwnPort returns the container's own port behind the published port at an index of Ports.
func (e StartProcess) OwnPort(i int) int32 {
	if e.OwnPorts == nil {
		return e.Ports[i]
	}
	return e.OwnPorts[i]
}

// SignalProcess sends SIGTERM, or SIGKILL if Kill is set, to every process of the task.
type SignalProcess struct {
	Key  Key
	Task string
	Kill bool
}

// ProbeTarget requests one health check of a target whose image is not modelled. The result goes to
// the balancer's method Probed.
type ProbeTarget struct {
	Key     Key
	Group   string // ARN
	Target  string // id
	Port    int32  // registered port
	Address netip.Addr
	Check   int32 // port to check
	TCP     bool  // a connection is enough
	Path    string
	Timeout time.Duration
	N       int
}

// ListenersChanged says that listeners of a load balancer were added or removed, so that its
// sockets follow. Ports maps a port to the listener's ARN; an empty map closes all sockets.
type ListenersChanged struct {
	Key      Key
	Balancer string // ARN
	Network  bool   // it forwards connections, not requests
	Address  string // wanted loopback address
	Ports    map[int32]string
}

// TargetGone says that a target was removed: its drain ended or was cut short. The data plane
// closes the connections to it that are still open.
type TargetGone struct {
	Key   Key
	Group string
	ID    string
	Port  int32
}

// ConnectionsClosed says that a node of a Network Load Balancer closes its open connections to a
// group, because the group's weight is 0.
type ConnectionsClosed struct {
	Key      Key
	Balancer string // ARN
	Group    string // ARN
	Node     int
}

// RegionReset says that the whole Region was reset.
type RegionReset struct{ Key Key }

func (StartProcess) isEffect()      {}
func (SignalProcess) isEffect()     {}
func (ProbeTarget) isEffect()       {}
func (ListenersChanged) isEffect()  {}
func (TargetGone) isEffect()        {}
func (ConnectionsClosed) isEffect() {}
func (RegionReset) isEffect()       {}
