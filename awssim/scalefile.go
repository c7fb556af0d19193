package awssim

import (
	"fmt"
	"slices"
	"time"
)

// scalableFile is a scalable target of Application Auto Scaling.
type scalableFile struct {
	Service   string      `yaml:"service"`
	Cluster   string      `yaml:"cluster"`
	Min       int32       `yaml:"min"`
	Max       int32       `yaml:"max"`
	Suspended []string    `yaml:"suspended"` // in, out, scheduled
	Policy    *policyFile `yaml:"policy"`
}

// policyFile is a target-tracking policy on the average CPU utilization.
type policyFile struct {
	Name           string        `yaml:"name"`
	Target         float64       `yaml:"target"` // percent
	ScaleIn        time.Duration `yaml:"scaleInCooldown"`
	ScaleOut       time.Duration `yaml:"scaleOutCooldown"`
	DisableScaleIn bool          `yaml:"disableScaleIn"`
}

func (f *worldFile) checkScaling() error {
	for i, s := range f.Scalable {
		at := fmt.Sprintf("scalableTargets[%d]", i)
		switch {
		case s.Service == "":
			return wrong(at, "service is missing")
		case s.Cluster == "" && len(f.Clusters) != 1:
			return wrong(at, "cluster is missing; it may be left out where there is exactly one")
		case s.Policy != nil && (s.Policy.Name == "" || s.Policy.Target <= 0):
			return wrong(at+".policy", "needs a name and a target in percent")
		}
		for _, x := range s.Suspended {
			if !slices.Contains([]string{"in", "out", "scheduled"}, x) {
				return wrong(at+".suspended", "%q is neither in, out nor scheduled", x)
			}
		}
	}
	return nil
}

func (l *layer) scaling() error { return nil }
