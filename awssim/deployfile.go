package awssim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// functionFile is a Lambda function that hooks call; see [world.Function].
type functionFile struct {
	Name   string        `yaml:"name"`
	Result string        `yaml:"result"` // succeed (the default), fail, hang
	After  time.Duration `yaml:"after"`
}

// applicationFile is an application of CodeDeploy.
type applicationFile struct {
	Name   string                `yaml:"name"`
	Groups []deploymentGroupFile `yaml:"groups"`
}

type deploymentGroupFile struct {
	Name         string         `yaml:"name"`
	Cluster      string         `yaml:"cluster"`
	Service      string         `yaml:"service"`
	TargetGroups []string       `yaml:"targetGroups"` // two
	Listener     string         `yaml:"listener"`     // "<load balancer>:<port>"
	TestListener string         `yaml:"testListener"`
	Config       string         `yaml:"config"`
	Ready        *time.Duration `yaml:"ready"`     // wait for ContinueDeployment, then stop
	Terminate    time.Duration  `yaml:"terminate"` // keep the original task set that long
	KeepAlive    bool           `yaml:"keepAlive"` // or without limit
	Rollback     []string       `yaml:"rollback"`
	Alarms       []string       `yaml:"alarms"`
}

// configFile is a deployment configuration.
type configFile struct {
	Name   string        `yaml:"name"`
	Canary int32         `yaml:"canary"` // percent, then the rest
	Linear int32         `yaml:"linear"` // percent at a time
	Every  time.Duration `yaml:"every"`
}

func (f *worldFile) checkCodeDeploy() error {
	for i, x := range f.Functions {
		at := fmt.Sprintf("functions[%d]", i)
		switch {
		case x.Name == "":
			return invalidAt(at, "name is missing")
		case !slices.Contains([]string{"", world.FunctionSucceeds, world.FunctionFails, world.FunctionHangs}, x.Result):
			return invalidAt(at+".result", "%q is neither succeed, fail nor hang", x.Result)
		case x.After < 0:
			return invalidAt(at+".after", "%s is negative", x.After)
		}
	}
	for i, a := range f.Applications {
		at := fmt.Sprintf("applications[%d]", i)
		if a.Name == "" {
			return invalidAt(at, "name is missing")
		}
		for j, g := range a.Groups {
			if err := f.checkDeploymentGroup(fmt.Sprintf("%s.groups[%d]", at, j), g); err != nil {
				return err
			}
		}
	}
	return f.checkConfigs()
}

func (f *worldFile) checkDeploymentGroup(at string, g deploymentGroupFile) error {
	switch {
	case g.Name == "" || g.Service == "" || g.Listener == "":
		return invalidAt(at, "needs a name, a service and a listener")
	case len(g.TargetGroups) != 2:
		return invalidAt(at, "needs two targetGroups")
	case g.Cluster == "" && len(f.Clusters) != 1:
		return invalidAt(at, "cluster is missing; it is optional if there is exactly one")
	case g.Ready != nil && !isWholeMinutes(*g.Ready) || !isWholeMinutes(g.Terminate):
		return invalidAt(at, "ready and terminate must be whole minutes")
	}
	if !f.hasListener(g.Listener) {
		return invalidAt(at+".listener", "%q is not a listener of this file: <load balancer>:<port>", g.Listener)
	}
	if g.TestListener != "" && !f.hasListener(g.TestListener) {
		return invalidAt(at+".testListener", "%q is not a listener of this file: <load balancer>:<port>",
			g.TestListener)
	}
	return nil
}

func isWholeMinutes(d time.Duration) bool { return d >= 0 && d%time.Minute == 0 }

// hasListener reports whether "<load balancer>:<port>" is a listener of the file.
func (f *worldFile) hasListener(name string) bool {
	return slices.ContainsFunc(f.LoadBalancers, func(lb balancerFile) bool {
		return slices.ContainsFunc(lb.Listeners,
			func(l listenerFile) bool { return listenerName(lb.Name, l.Port) == name })
	})
}

func listenerName(balancer string, port int32) string { return fmt.Sprintf("%s:%d", balancer, port) }

func (f *worldFile) checkConfigs() error {
	for i, c := range f.Configs {
		at := fmt.Sprintf("deploymentConfigs[%d]", i)
		switch {
		case c.Name == "" || strings.HasPrefix(c.Name, "CodeDeployDefault."):
			return invalidAt(at, "needs a name, not one of CodeDeploy's own")
		case c.Canary > 0 && c.Linear > 0:
			return invalidAt(at, "is either canary or linear")
		case !isWholeMinutes(c.Every):
			return invalidAt(at+".every", "%s is not whole minutes", c.Every)
		}
	}
	return nil
}
