package awssim

import (
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-ecs/sluice/awssim/applicationautoscaling"
	"github.com/sluice-ecs/sluice/awssim/autoscaler"
	"github.com/sluice-ecs/sluice/awssim/cloudformation"
	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/cloudwatch"
	"github.com/sluice-ecs/sluice/awssim/cloudwatchlogs"
	"github.com/sluice-ecs/sluice/awssim/codedeploy"
	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/dataplane"
	"github.com/sluice-ecs/sluice/awssim/ec2"
	"github.com/sluice-ecs/sluice/awssim/ecr"
	"github.com/sluice-ecs/sluice/awssim/ecs"
	"github.com/sluice-ecs/sluice/awssim/elbv2"
	"github.com/sluice-ecs/sluice/awssim/fault"
	"github.com/sluice-ecs/sluice/awssim/iam"
	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/lambda"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/s3"
	"github.com/sluice-ecs/sluice/awssim/secretsmanager"
	"github.com/sluice-ecs/sluice/awssim/servicediscovery"
	"github.com/sluice-ecs/sluice/awssim/ssm"
	"github.com/sluice-ecs/sluice/awssim/sts"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Options configure a simulator. The zero value is a real-time AWS with the delays seen on AWS.
type Options struct {
	Clock    world.Clock     // nil: the system clock
	Seed     uint64          // every random number is keyed by it
	Settings *world.Settings // nil: [world.DefaultSettings]; a world file may change them
	Images   image.Catalog
	// Account and Region are those of [Sim.Config]: "000000000000" and "us-east-1"
	// if empty. A world file may name others.
	Account, Region string
	// Strict panics when an invariant of the world is violated. Tests and rehearsals set it.
	Strict bool
	// Direct lets the clients of [Sim.Config] pass their inputs to the APIs without encoding: six
	// times faster, with the same answers. Such calls act in Account, whatever credentials the
	// client has.
	Direct bool
	// AllowHostImages lets tasks with images "host:<command>" run that command on this machine.
	// They need [Sim.Listen], and real or scaled time.
	AllowHostImages bool
	// AllowRemote allows [Sim.Listen] to bind an address outside loopback. The simulator has no
	// authentication.
	AllowRemote bool
	// DNS is the address of [Sim.Listen]'s name server for Cloud Map's namespaces; "127.0.0.1:0" if
	// empty.
	DNS string
	// LogLimit is how many of the newest entries the world's log keeps; 0 keeps all.
	LogLimit int
	// Speed is how much faster than the machine's the Clock runs; 0 is 1. GET /_sluice/world reports
	// it, and the response times of real requests in CloudWatch are divided by it, but for the
	// latency of images.
	Speed float64
}

// Sim is a simulated AWS. All methods are safe for concurrent use.
type Sim struct {
	options Options
	current atomic.Pointer[generation]
	dns     atomic.Pointer[string] // address of the name server; nil: none

	mu        sync.Mutex // serializes Load, Reset, Listen and Close
	file      *worldFile // what Reset loads again; nil: an empty world
	listening *Listening
}

// generation is a world from its start to the next reset, with everything that serves it.
type generation struct {
	id              string // random, see [TimeView]
	account, region string
	clock           *pausedClock
	world           *world.World
	server          *wire.Server
	faults          *fault.Set
	ecs             *ecs.Service
	elb             *elbv2.Service
	codeDeploy      *codedeploy.Service
	scaling         *applicationautoscaling.Service
	lbController    *loadbalancer.Controller
	cloudMap        *cloudmap.Controller
	discovery       *servicediscovery.Service
	operations      []operation
	dataPlane       atomic.Pointer[dataplane.Plane]
}

// New creates a simulator with an empty world.
func New(o Options) (*Sim, error) {
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.Account == "" {
		o.Account = wire.Anonymous
	}
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	if !isAccount(o.Account) {
		return nil, errors.New("awssim: account " + o.Account + " is not 12 digits")
	}
	s := &Sim{options: o}
	s.current.Store(s.newGeneration(&worldFile{}, o.Clock.Now()))
	return s, nil
}

// newGeneration creates an empty world that starts at a time, with the settings and images that a
// world file adds.
func (s *Sim) newGeneration(f *worldFile, start time.Time) *generation {
	o := s.options
	e := &generation{id: rand.Text(), account: o.Account, region: o.Region, clock: &pausedClock{Clock: o.Clock}}
	if f.Account != "" {
		e.account = f.Account
	}
	if f.Region != "" {
		e.region = f.Region
	}
	e.clock.pauseAt(start)
	defer e.clock.resume()
	roles := f.rolesOf(world.Key{Account: e.account, Region: e.region})
	e.world = world.New(world.Options{
		Clock: e.clock, Seed: o.Seed, Settings: f.worldSettings(o.Settings), Images: s.imageCatalog(f),
		Strict: o.Strict, LogLimit: o.LogLimit, Roles: knownRoles(roles, f.principals),
	})
	e.world.Watch(func(tx *world.Tx, c world.Change) {
		if p := e.dataPlane.Load(); p != nil {
			p.Watch(tx, c)
		}
	})
	e.ecs, e.lbController = ecs.New(e.world), loadbalancer.New(e.world)
	e.elb, e.cloudMap = elbv2.New(e.world, e.lbController), cloudmap.New(e.world)
	e.discovery = servicediscovery.New(e.world, e.cloudMap)
	e.cloudMap.SetFailFunc(func(tx *world.Tx, call string) bool {
		return e.faults.OperationFails("servicediscovery", call, tx.Now())
	})
	e.faults = fault.New(e.world, o.Seed, e.ecs.Scheduler())
	e.codeDeploy = codedeploy.New(e.world, codedeployer.New(e.world, e.ecs))
	e.scaling = applicationautoscaling.New(e.world, autoscaler.New(e.world, e.ecs))
	principals := append(f.principals, roles...)
	access := iam.New(principals)
	access.EveryRole = !slices.ContainsFunc(principals, iam.Principal.IsRole)
	rooms := []wire.API{e.ecs.API(), e.elb.API(), sts.NewAPI(e.world), ec2.NewAPI(e.world),
		e.scaling.API(), e.discovery.API(), cloudwatch.NewAPI(e.world), cloudwatchlogs.NewAPI(e.world),
		e.codeDeploy.API(), access.API(), secretsmanager.NewAPI(e.world), ssm.NewAPI(e.world),
		ecr.NewAPI(e.world), lambda.NewAPI(e.world), s3.NewAPI(e.world), cloudformation.NewAPI(e.world)}
	e.server, e.operations = wire.New(e.world, rooms...), operationsOf(rooms)
	e.server.SetFaulter(faultInjector{e})
	return e
}

func (s *Sim) imageCatalog(f *worldFile) image.Catalog {
	all := image.Catalog{}
	maps.Copy(all, s.options.Images)
	maps.Copy(all, f.catalog)
	if s.options.AllowHostImages {
		all[image.HostImages] = image.Behaviour{}
	}
	return all
}

// World returns the state behind the APIs. [Sim.Load] and [Sim.Reset] replace it.
func (s *Sim) World() *world.World { return s.current.Load().world }

// Balancer returns the controller of the world's load balancers: their routing tables, which
// modelled callers follow.
func (s *Sim) Balancer() *loadbalancer.Controller { return s.current.Load().lbController }

// Registry returns the controller of Cloud Map: the instances that callers discover, which modelled
// callers follow.
func (s *Sim) Registry() *cloudmap.Controller { return s.current.Load().cloudMap }

// Account returns the account that [Sim.Config] calls in: an access key id of twelve digits is that
// account.
func (s *Sim) Account() string { return s.current.Load().account }

// Region returns the Region that [Sim.Config] calls in.
func (s *Sim) Region() string { return s.current.Load().region }

// ClearFaults ends all faults.
func (s *Sim) ClearFaults() { s.current.Load().faults.Clear() }

// Faults returns the faults injected since the last [Sim.ClearFaults].
func (s *Sim) Faults() []fault.Status { return s.current.Load().faults.List() }

// Traffic returns the results of the requests that load balancers took since they listen, or since
// [Sim.ResetTraffic]. Without [Sim.Listen] there are none.
func (s *Sim) Traffic() dataplane.Traffic {
	if p := s.current.Load().dataPlane.Load(); p != nil {
		return p.Traffic()
	}
	return dataplane.Traffic{Statuses: map[int]int64{}, Rows: []dataplane.TrafficRow{}}
}

// ResetTraffic resets the traffic counts.
func (s *Sim) ResetTraffic() {
	if p := s.current.Load().dataPlane.Load(); p != nil {
		p.ResetTraffic()
	}
}

func isAccount(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return len(s) == 12
}
