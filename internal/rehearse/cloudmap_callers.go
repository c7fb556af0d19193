package rehearse

import (
	"cmp"
	"time"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// attachNameCallers starts callers that resolve the name: some by DNS, some by DiscoverInstances.
func (f *Rehearsal) attachNameCallers() {
	for _, c := range []loadgen.NameCaller{
		{},
		{KeepAlive: 30 * time.Second, Retry: true},
		{Poll: 10 * time.Second, Query: cloudmap.Query{Health: cloudmap.HealthyOrAny}},
	} {
		if f.World.Naming.HTTP && c.Poll == 0 {
			continue
		}
		c.Record = f.World.Naming.Records
		c.Key, c.Namespace, c.Service, c.Port, c.Rate = f.worldKey(), shape.Namespace, f.World.Service, f.World.Port,
			float64(cmp.Or(f.World.Rate, Rate))
		f.nameTallies = append(f.nameTallies, loadgen.AttachByName(f.Sim.World(), f.Sim.Registry(), c))
	}
}
