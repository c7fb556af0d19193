package rehearse

import (
	"slices"
	"strings"
	"time"
)

// What a case makes impossible to promise where callers come by a name.

// lossyByName: ECS scales in, and rolls, without waiting for anybody who has the
// address, so that images must serve on after SIGTERM; an address that somebody made
// up leads nowhere.
func (c Case) lossyByName() bool {
	return c.World.byName() && (c.excuses(PutIn) || c.stopsAtOnce() && !c.servesOn() || c.lingers() || c.answersLate())
}

// answersLate: a version runs before it answers, and has no container health check to say
// so. ECS registers a task HEALTHY right after its start then, and neither AWS nor a
// deployment sees when it answers ("Cloud Map registration starts UNHEALTHY and becomes
// HEALTHY when the container health checks pass; without a container check right after
// start": ECS Developer Guide, "Service discovery").
func (c Case) answersLate() bool {
	return c.World.Check == 0 && (c.World.Boot > 0 || c.has("healthy-after"))
}

// stopsAtOnce: ECS or somebody else may stop a task while callers have its address.
// Where ECS puts back what is taken out, nobody can make callers forget a task of the
// primary before it stops.
func (c Case) stopsAtOnce() bool {
	return c.World.Controller == "ECS" && !c.rollsUnseen() || c.World.Scaling.moves() || c.excuses(Scale) || c.excuses(ScaleCanary) || c.excuses(PutBack) || c.World.Naming.Restores
}

// rollsUnseen: the primary is rolled while the canary alone is found, there and back.
// On the way back that takes room for a canary of the former version.
func (c Case) rollsUnseen() bool {
	alone := slices.ContainsFunc(c.Pipeline, func(s string) bool { return strings.HasSuffix(s, " canary=100") })
	return alone && !c.faulty("no-capacity", "slow-start", "failed-operation") && !c.excuses(TakeOut)
}

// lingers: somebody else, or auto scaling, stops tasks of the canary, and nobody may be
// there who takes their records out.
func (c Case) lingers() bool {
	stops := c.excuses(ScaleCanary) || c.excuses(Scale) || c.World.Scaling.moves()
	return stops && len(c.Kills)+len(c.Faults)+c.Full.Row > 0
}

// servesOn: both versions answer after SIGTERM until nobody has their address any
// more.
func (c Case) servesOn() bool {
	for _, options := range []string{c.Old, c.New} {
		if c.term(options) < c.forgets() && !strings.Contains(options, "ignores-term") {
			return false
		}
	}
	return true
}

// term is how long a version answers after SIGTERM.
func (c Case) term(options string) time.Duration {
	for _, o := range strings.Split(options, "&") {
		if v, ok := strings.CutPrefix(o, "term="); ok {
			d, _ := time.ParseDuration(v)
			return d
		}
	}
	return c.World.Stop
}

// forgets is how long callers may send requests to an address after its task was told
// to stop: ECS takes its record away at the same time.
func (c Case) forgets() time.Duration { return c.World.TTL + 15*time.Second }
