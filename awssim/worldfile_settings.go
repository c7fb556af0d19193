package awssim

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// settingsFile changes the world's delays. A delay is "5s", or "5s..12s".
type settingsFile struct {
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
	NetworkWeightPropagation string         `yaml:"networkWeightPropagation"`
	NetworkTargetPropagation string         `yaml:"networkTargetPropagation"`
	NetworkConnectionClose   string         `yaml:"networkConnectionClose"`
	LoadBalancerProvisioning string         `yaml:"loadBalancerProvisioning"`
	DeployStep               string         `yaml:"deployStep"`
	LifecycleStep            string         `yaml:"lifecycleStep"`
	ScaledOutLimit           *time.Duration `yaml:"scaledOutLimit"`
	StabilityLag             string         `yaml:"stabilityLag"`
	StaleReads               string         `yaml:"staleReads"`
	MetricDelay              string         `yaml:"metricDelay"`
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
func (k *settingsFile) delayFields(to *world.Settings) []struct {
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
		{"targetRegistration", k.TargetRegistration, &to.TargetRegistration},
		{"firstCheck", k.FirstCheck, &to.FirstCheck},
		{"weightPropagation", k.WeightPropagation, &to.WeightPropagation},
		{"networkWeightPropagation", k.NetworkWeightPropagation, &to.NetworkWeightPropagation},
		{"networkTargetPropagation", k.NetworkTargetPropagation, &to.NetworkTargetPropagation},
		{"networkConnectionClose", k.NetworkConnectionClose, &to.NetworkConnectionClose},
		{"loadBalancerProvisioning", k.LoadBalancerProvisioning, &to.LoadBalancerProvisioning},
		{"deployStep", k.DeployStep, &to.DeployStep}, {"lifecycleStep", k.LifecycleStep, &to.LifecycleStep},
		{"staleReads", k.StaleReads, &to.StaleReads},
		{"metricDelay", k.MetricDelay, &to.MetricDelay},
		{"registryOperation", k.RegistryOperation, &to.RegistryOperation},
		{"dnsPropagation", k.DNSPropagation, &to.DNSPropagation},
		{"registrationGap", k.RegistrationGap, &to.RegistrationGap}, {"targetPropagation", k.TargetPropagation,
			&to.TargetPropagation},
		{"stabilityLag", k.StabilityLag, &to.StabilityLag}, {"instanceHealthGap", k.InstanceHealthGap,
			&to.InstanceHealthGap},
	}
}

func (k *settingsFile) checkSettings() error {
	if k.Delays != "" && k.Delays != "aws" && k.Delays != "none" {
		return invalidAt("knobs.delays", "%q is neither aws nor none", k.Delays)
	}
	var to world.Settings
	for _, r := range k.delayFields(&to) {
		if _, err := readRange(r.value); r.value != "" && err != nil {
			return invalidAt("knobs."+r.name, "%w", err)
		}
	}
	for name, d := range map[string]*time.Duration{"scaledOutLimit": k.ScaledOutLimit,
		"tokenLifetime": k.TokenLifetime} {
		if d != nil && *d < 0 {
			return invalidAt("knobs."+name, "%s is negative", *d)
		}
	}
	for name, n := range map[string]*int{"taskStartsPerMinute": k.TaskStartsPerMinute,
		"fargateStartsPerSecond": k.FargateStartsPerSecond} {
		if n != nil && *n < 0 {
			return invalidAt("knobs."+name, "%d is negative", *n)
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
		return r, fmt.Errorf("%q is not a delay such as 5s or 5s..12s", s)
	}
	return r, nil
}

// worldSettings returns the world's settings, with the changes of the file.
func (f *worldFile) worldSettings(given *world.Settings) *world.Settings {
	k := world.DefaultSettings()
	switch {
	case f.Settings.Delays == "none":
		k = world.NoDelays()
	case f.Settings.Delays == "" && given != nil:
		k = *given
	}
	if given != nil {
		k.Throttle = given.Throttle
	}
	for _, r := range f.Settings.delayFields(&k) {
		if r.value != "" {
			*r.to, _ = readRange(r.value)
		}
	}
	setGiven(&k.CustomHealth, f.Settings.CustomHealth)
	setGiven(&k.ECSRestoresInstances, f.Settings.ECSRestoresInstances)
	setGiven(&k.RestartBackoff, f.Settings.RestartBackoff)
	setGiven(&k.ScaledOutLimit, f.Settings.ScaledOutLimit)
	setGiven(&k.TokenLifetime, f.Settings.TokenLifetime)
	setGiven(&k.TaskStartsPerMinute, f.Settings.TaskStartsPerMinute)
	setGiven(&k.FargateStartsPerSecond, f.Settings.FargateStartsPerSecond)
	setGiven(&k.StartsWithoutLogGroup, f.Settings.StartsWithoutLogGroup)
	setGiven(&k.Throttle, f.Settings.Throttle)
	if f.Settings.TaskSetLimit > 0 {
		k.TaskSetLimit = f.Settings.TaskSetLimit
	}
	return &k
}

// setGiven sets a value that the file gives.
func setGiven[T any](to *T, given *T) {
	if given != nil {
		*to = *given
	}
}
