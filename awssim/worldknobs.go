package awssim

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// knobsFile changes the world's delays. A delay is "5s", or "5s..12s".
type knobsFile struct {
	// Delays is "aws" (as seen on AWS, the default) or "none".
	Delays                   string         `yaml:"delays"`
	Provisioning             string         `yaml:"provisioning"`
	Pending                  string         `yaml:"pending"`
	Activating               string         `yaml:"activating"`
	Deactivating             string         `yaml:"deactivating"`
	Deprovisioning           string         `yaml:"deprovisioning"`
	SchedulerLoop            string         `yaml:"schedulerLoop"`
	TargetRegistration       string         `yaml:"targetRegistration"`
	FirstCheck               string         `yaml:"firstCheck"`
	WeightPropagation        string         `yaml:"weightPropagation"`
	LoadBalancerProvisioning string         `yaml:"loadBalancerProvisioning"`
	DeployStep               string         `yaml:"deployStep"`
	StaleReads               string         `yaml:"staleReads"`
	RegistryOperation        string         `yaml:"registryOperation"`
	DNSPropagation           string         `yaml:"dnsPropagation"`
	RegistrationGap          string         `yaml:"registrationGap"`
	CustomHealth             *time.Duration `yaml:"customHealth"`
	ECSRestoresInstances     *bool          `yaml:"ecsRestoresInstances"`
	RestartBackoff           *time.Duration `yaml:"restartBackoff"`
	TaskSetLimit             int            `yaml:"taskSetLimit"`
	Throttle                 *bool          `yaml:"throttle"`
}

// ranges are the delays by name, with where each goes.
func (k *knobsFile) ranges(to *world.Knobs) []struct {
	name, value string
	to          *world.Range
} {
	return []struct {
		name, value string
		to          *world.Range
	}{
		{"provisioning", k.Provisioning, &to.Provisioning}, {"pending", k.Pending, &to.Pending},
		{"activating", k.Activating, &to.Activating}, {"deactivating", k.Deactivating, &to.Deactivating},
		{"deprovisioning", k.Deprovisioning, &to.Deprovisioning}, {"schedulerLoop", k.SchedulerLoop, &to.SchedulerLoop},
		{"targetRegistration", k.TargetRegistration, &to.TargetRegistration}, {"firstCheck", k.FirstCheck, &to.FirstCheck},
		{"weightPropagation", k.WeightPropagation, &to.WeightPropagation},
		{"loadBalancerProvisioning", k.LoadBalancerProvisioning, &to.LoadBalancerProvisioning},
		{"deployStep", k.DeployStep, &to.DeployStep}, {"staleReads", k.StaleReads, &to.StaleReads},
		{"registryOperation", k.RegistryOperation, &to.RegistryOperation}, {"dnsPropagation", k.DNSPropagation, &to.DNSPropagation},
		{"registrationGap", k.RegistrationGap, &to.RegistrationGap},
	}
}

func (k *knobsFile) check() error {
	if k.Delays != "" && k.Delays != "aws" && k.Delays != "none" {
		return wrong("knobs.delays", "%q is neither aws nor none", k.Delays)
	}
	var to world.Knobs
	for _, r := range k.ranges(&to) {
		if _, err := readRange(r.value); r.value != "" && err != nil {
			return wrong("knobs."+r.name, "%w", err)
		}
	}
	return nil
}

func readRange(s string) (r world.Range, err error) {
	lo, hi, ok := strings.Cut(s, "..")
	if !ok {
		hi = lo
	}
	r.Min, err = time.ParseDuration(lo)
	if err == nil {
		r.Max, err = time.ParseDuration(hi)
	}
	if err != nil || r.Min < 0 || r.Max < r.Min {
		return r, fmt.Errorf("%q is no delay such as 5s or 5s..12s", s)
	}
	return r, nil
}

// knobs are the world's, with what the file changes.
func (f *worldFile) knobs(given *world.Knobs) *world.Knobs {
	k := world.DefaultKnobs()
	switch {
	case f.Knobs.Delays == "none":
		k = world.NoDelays()
	case f.Knobs.Delays == "" && given != nil:
		k = *given
	}
	for _, r := range f.Knobs.ranges(&k) {
		if r.value != "" {
			*r.to, _ = readRange(r.value)
		}
	}
	if f.Knobs.CustomHealth != nil {
		k.CustomHealth = *f.Knobs.CustomHealth
	}
	if f.Knobs.ECSRestoresInstances != nil {
		k.ECSRestoresInstances = *f.Knobs.ECSRestoresInstances
	}
	if f.Knobs.RestartBackoff != nil {
		k.RestartBackoff = *f.Knobs.RestartBackoff
	}
	if f.Knobs.TaskSetLimit > 0 {
		k.TaskSetLimit = f.Knobs.TaskSetLimit
	}
	if f.Knobs.Throttle != nil {
		k.Throttle = *f.Knobs.Throttle
	}
	return &k
}
