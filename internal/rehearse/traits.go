package rehearse

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// trait is a property of a generated world, as a word of a case's text: name=value. A case without
// the word has the value of [PlainWorld], so a new trait changes no existing case.
type trait struct {
	name     string
	getValue func(World) string
	setValue func(*World, string) error
}

// allTraits returns all traits, in the order of the text. A new one is added at the end; [Shrink]
// tries each in its plain form by itself.
func allTraits() []trait {
	return []trait{
		wordTrait("controller", func(w *World) *string { return &w.Controller }),
		numberTrait("tasks", func(w *World) []*int { return []*int{&w.Tasks} }),
		{"zones", func(w World) string { return strconv.Itoa(len(w.Subnets)) }, func(w *World, v string) error {
			n, err := strconv.Atoi(v)
			w.Subnets = subnetIDs(n)
			return err
		}},
		durationTrait("interval", func(w *World) []*time.Duration {
			return []*time.Duration{&w.Primary.Interval,
				&w.Canary.Interval}
		}),
		numberTrait("healthy", func(w *World) []*int { return []*int{&w.Primary.Healthy, &w.Canary.Healthy} }),
		numberTrait("unhealthy", func(w *World) []*int { return []*int{&w.Primary.Unhealthy, &w.Canary.Unhealthy} }),
		durationTrait("drain", func(w *World) []*time.Duration {
			return []*time.Duration{&w.Primary.Drain,
				&w.Canary.Drain}
		}),
		{"rules", func(w World) string { return strconv.Itoa(len(w.Listeners[0].Rules)) },
			func(w *World, v string) error {
				n, err := strconv.Atoi(v)
				w.setRuleCount(n)
				return err
			}},
		{"weight", func(w World) string {
			r := w.Listeners[0].Rules[0]
			return fmt.Sprintf("%d/%d", r.Primary, r.Canary)
		}, func(w *World, v string) error {
			r := &w.Listeners[0].Rules[0]
			_, err := fmt.Sscanf(v, "%d/%d", &r.Primary, &r.Canary)
			return err
		}},
		boolTrait("alone", func(w *World) *bool { return &w.Listeners[0].Rules[0].Alone }),
		durationTrait("sticky", func(w *World) []*time.Duration { return []*time.Duration{&w.Listeners[0].Rules[0].Sticky} }),
		durationTrait("grace", func(w *World) []*time.Duration { return []*time.Duration{&w.Grace} }),
		durationTrait("nodes", func(w *World) []*time.Duration { return []*time.Duration{&w.Nodes} }),
		boolTrait("others", func(w *World) *bool { return &w.OtherService }),
		boolTrait("beside", func(w *World) *bool { return &w.HostingServices }),
		durationTrait("start", func(w *World) []*time.Duration { return []*time.Duration{&w.Start} }),
		durationTrait("boot", func(w *World) []*time.Duration { return []*time.Duration{&w.Boot} }),
		numberTrait("rate", func(w *World) []*int { return []*int{&w.Rate} }),
		durationTrait("lasts", func(w *World) []*time.Duration { return []*time.Duration{&w.Lasts} }),
		{"scaling", func(w World) string { return fmt.Sprintf("%d-%d", w.Scaling.Min, w.Scaling.Max) },
			func(w *World, v string) error {
				_, err := fmt.Sscanf(v, "%d-%d", &w.Scaling.Min, &w.Scaling.Max)
				return err
			}},
		numberTrait("load", func(w *World) []*int { return []*int{&w.Scaling.Load} }),
		wordTrait("suspended", func(w *World) *string { return &w.Scaling.SuspendedBefore }),
		durationTrait("since", func(w *World) []*time.Duration { return []*time.Duration{&w.Scaling.Since} }),
		durationTrait("ttl", func(w *World) []*time.Duration { return []*time.Duration{&w.TTL} }),
		durationTrait("check", func(w *World) []*time.Duration { return []*time.Duration{&w.Check} }),
		{"percents", func(w World) string { return fmt.Sprintf("%d-%d", w.Percents.Least, w.Percents.Most) },
			func(w *World, v string) error {
				_, err := fmt.Sscanf(v, "%d-%d", &w.Percents.Least, &w.Percents.Most)
				return err
			}},
		wordTrait("config", func(w *World) *string { return &w.Config }),
		boolTrait("undo", func(w *World) *bool { return &w.Undo }),
		durationTrait("keep", func(w *World) []*time.Duration { return []*time.Duration{&w.Keep} }),
		durationTrait("stop", func(w *World) []*time.Duration { return []*time.Duration{&w.Stop} }),
		boolTrait("managed", func(w *World) *bool { return &w.Managed }),
		durationTrait("ready", func(w *World) []*time.Duration { return []*time.Duration{&w.Ready} }),
		boolTrait("test", func(w *World) *bool { return &w.Test }),
		wordTrait("hooks", func(w *World) *string { return &w.Hooks }),
		boolTrait("alarm", func(w *World) *bool { return &w.Alarm }),
		wordTrait("records", func(w *World) *string { return &w.Naming.Records }),
		boolTrait("http", func(w *World) *bool { return &w.Naming.HTTP }),
		boolTrait("restores", func(w *World) *bool { return &w.Naming.Restores }),
		durationTrait("late-targets", func(w *World) []*time.Duration { return []*time.Duration{&w.Lags.Targets} }),
		durationTrait("late-stability", func(w *World) []*time.Duration { return []*time.Duration{&w.Lags.Stability} }),
		durationTrait("late-health", func(w *World) []*time.Duration { return []*time.Duration{&w.Lags.Health} }),
		durationTrait("late-names", func(w *World) []*time.Duration { return []*time.Duration{&w.Lags.Names} }),
		durationTrait("tokens-last", func(w *World) []*time.Duration { return []*time.Duration{&w.Lags.Tokens} }),
		numberTrait("starts-a-minute", func(w *World) []*int { return []*int{&w.Lags.Starts} }),
		boolTrait("marked", func(w *World) *bool { return &w.CanaryOnlyRule }),
		boolTrait("left", func(w *World) *bool { return &w.LeftoverCanary }),
		boolTrait("strange", func(w *World) *bool { return &w.OtherToolSet }),
	}
}

func wordTrait(name string, at func(*World) *string) trait {
	return trait{name, func(w World) string { return *at(&w) },
		func(w *World, v string) error { *at(w) = v; return nil }}
}

func boolTrait(name string, at func(*World) *bool) trait {
	return trait{name, func(w World) string { return strconv.FormatBool(*at(&w)) },
		func(w *World, v string) error { *at(w) = v == "true"; return nil }}
}

// numberTrait is a trait with one or several fields, all with the same value.
func numberTrait(name string, at func(*World) []*int) trait {
	return trait{name, func(w World) string { return strconv.Itoa(*at(&w)[0]) }, func(w *World, v string) error {
		n, err := strconv.Atoi(v)
		for _, p := range at(w) {
			*p = n
		}
		return err
	}}
}

func durationTrait(name string, at func(*World) []*time.Duration) trait {
	return trait{name, func(w World) string { return at(&w)[0].String() }, func(w *World, v string) error {
		d, err := time.ParseDuration(v)
		for _, p := range at(w) {
			*p = d
		}
		return err
	}}
}

// traitText returns the traits of a generated world.
func (w World) traitText() string {
	var all []string
	for _, t := range allTraits() {
		all = append(all, t.name+"="+t.getValue(w))
	}
	return strings.Join(all, " ")
}

// setTrait applies one trait.
func (w *World) setTrait(name, value string) error {
	for _, t := range allTraits() {
		if t.name == name {
			return t.setValue(w, value)
		}
	}
	return fmt.Errorf("a world has no %q", name)
}

// setRuleCount gives the listener n rules: the default one, and others with a path.
func (w *World) setRuleCount(n int) {
	w.Listeners[0].Rules = w.Listeners[0].Rules[:1]
	for i := 1; i < n; i++ {
		w.Listeners[0].Rules = append(w.Listeners[0].Rules, Rule{Priority: i * 10, Path: fmt.Sprintf("/part%d", i),
			Primary: 100})
	}
}
