package simtest

import (
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/rehearse"
)

func (d *draft) writeCanaryService(c rehearse.Case) {
	if !c.HasCanaryService() {
		return
	}
	if !c.World.UsesCloudMap() {
		d.writeGroups(c)
	}
	if c.World.HostingServices {
		writeLine(&d.input, "  hosting: services")
	}
}

// changeCanaryService calls an operation on the canary service, if it is ACTIVE.
func (f *simulation) changeCanaryService(operation string, in map[string]any) {
	stands := false
	f.env.InWorld(func(tx *world.Tx) {
		s := f.env.FindCanaryService(tx)
		stands = s != nil && s.Status == "ACTIVE"
	})
	if stands {
		in["cluster"], in["service"] = f.env.Case.World.Cluster, plan.CanaryServiceName(f.env.Case.World.Service)
		f.env.CallECS(operation, in)
	}
}
