package awssim

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// settingsFile changes the world's delays. A delay is "5s", or "5s..12s".
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
	TargetPropagation        string         `yaml:"targetPropagation"`
	LoadBalancerProvisioning string         `yaml:"loadBalancerProvisioning"`
	DeployStep               string         `yaml:"deployStep"`
	ScaledOutLimit           *time.Duration `yaml:"scaledOutLimit"`
	StabilityLag             string         `yaml:"stabilityLag"`
	StaleReads               string         `yaml:"staleReads"`
	RegistryOperation        string         `yaml:"registryOperation"`
	InstanceHealthGap        string         `yaml:"instanceHealthGap"`
	DNSPropagation           string         `yaml:"dnsPropagation"`
	RegistrationGap          string         `yaml:"registrationGap"`
	CustomHealth             *time.Duration `yaml:"customHealth"`
	ECSRestoresInstances     *bool          `yaml:"ecsRestoresInstances"`
	RestartBackoff           *time.Duration `yaml:"restartBackoff"`
	TokenLifetime            *time.Duration `yaml:"tokenLifetime"`
	TaskStartsPerMinute      *int           `yaml:"taskStartsPerMinute"`
	FargateStartsPerSecond   *int           `yaml:"fargateStartsPerSecond"`
	StartsWithoutLogGroup    *bool          `yaml:"startsWithoutLogGroup"`
	TaskSetLimit             int            `yaml:"taskSetLimit"`
	Throttle                 *bool          `yaml:"throttle"`
}

// delayFields returns the delays by name, each with its place in the settings.
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
		{"registrationGap", k.RegistrationGap, &to.RegistrationGap}, {"targetPropagation", k.TargetPropagation, &to.TargetPropagation},
		{"stabilityLag", k.StabilityLag, &to.StabilityLag}, {"instanceHealthGap", k.InstanceHealthGap, &to.InstanceHealthGap},
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
	for name, d := range map[string]*time.Duration{"scaledOutLimit": k.ScaledOutLimit, "tokenLifetime": k.TokenLifetime} {
		if d != nil && *d < 0 {
			return wrong("knobs."+name, "%s is less than nothing", *d)
		}
	}
	for name, n := range map[string]*int{"taskStartsPerMinute": k.TaskStartsPerMinute, "fargateStartsPerSecond": k.FargateStartsPerSecond} {
		if n != nil && *n < 0 {
			return wrong("knobs."+name, "%d is less than nothing", *n)
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

// worldSettings returns the world's settings, with the changes of the file.
func (f *worldFile) knobs(given *world.Knobs) *world.Knobs {
	k := world.DefaultKnobs()
	switch {
	case f.Knobs.Delays == "none":
		k = world.NoDelays()
	case f.Knobs.Delays == "" && given != nil:
		k = *given
	}
	if given != nil {
		k.Throttle = given.Throttle
	}
	for _, r := range f.Knobs.ranges(&k) {
		if r.value != "" {
			*r.to, _ = readRange(r.value)
		}
	}
	setGiven(&k.CustomHealth, f.Knobs.CustomHealth)
	setGiven(&k.ECSRestoresInstances, f.Knobs.ECSRestoresInstances)
	setGiven(&k.RestartBackoff, f.Knobs.RestartBackoff)
	setGiven(&k.ScaledOutLimit, f.Knobs.ScaledOutLimit)
	setGiven(&k.TokenLifetime, f.Knobs.TokenLifetime)
	setGiven(&k.TaskStartsPerMinute, f.Knobs.TaskStartsPerMinute)
	setGiven(&k.FargateStartsPerSecond, f.Knobs.FargateStartsPerSecond)
	setGiven(&k.StartsWithoutLogGroup, f.Knobs.StartsWithoutLogGroup)
	setGiven(&k.Throttle, f.Knobs.Throttle)
	if f.Knobs.TaskSetLimit > 0 {
		k.TaskSetLimit = f.Knobs.TaskSetLimit
	}
	return &k
}

// setGiven sets a value that the file gives.
func setGiven[T any](to *T, given *T) {
	if given != nil {
		*to = *given
	}
}
