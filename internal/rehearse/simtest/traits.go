package simtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// trait is a property of a generated world, as a word of a case's text: name=value. A case without
// the word has the value of [PlainWorld], so a new trait changes no existing case.
type trait struct {
	name     string
	getValue func(shape.World) string
	setValue func(*shape.World, string) error
}

// allTraits returns all traits, in the order of the text. A new one is added at the end; [Shrink]
// tries each in its plain form by itself.
func allTraits() []trait {
	return slices.Concat(balancerTraits(), runtimeTraits(), deployerTraits())
}

// balancerTraits returns the traits of the service, its target groups and its rules.
func balancerTraits() []trait {
	return []trait{
		wordTrait("controller", func(w *shape.World) *string { return &w.Controller }),
		numberTrait("tasks", func(w *shape.World) []*int { return []*int{&w.Tasks} }),
		{"zones", func(w shape.World) string { return strconv.Itoa(len(w.Subnets)) },
			func(w *shape.World, v string) error {
				n, err := strconv.Atoi(v)
				w.Subnets = shape.SubnetIDs(n)
				return err
			}},
		durationTrait("interval", func(w *shape.World) []*time.Duration {
			return []*time.Duration{&w.Primary.Interval,
				&w.Canary.Interval}
		}),
		numberTrait("healthy", func(w *shape.World) []*int { return []*int{&w.Primary.Healthy, &w.Canary.Healthy} }),
		numberTrait("unhealthy",
			func(w *shape.World) []*int { return []*int{&w.Primary.Unhealthy, &w.Canary.Unhealthy} }),
		durationTrait("drain", func(w *shape.World) []*time.Duration {
			return []*time.Duration{&w.Primary.Drain,
				&w.Canary.Drain}
		}),
		{"rules", func(w shape.World) string { return strconv.Itoa(len(w.Listeners[0].Rules)) },
			func(w *shape.World, v string) error {
				n, err := strconv.Atoi(v)
				setRuleCount(w, n)
				return err
			}},
		{"weight", func(w shape.World) string {
			r := w.Listeners[0].Rules[0]
			return fmt.Sprintf("%d/%d", r.Primary, r.Canary)
		}, func(w *shape.World, v string) error {
			r := &w.Listeners[0].Rules[0]
			_, err := fmt.Sscanf(v, "%d/%d", &r.Primary, &r.Canary)
			return err
		}},
		boolTrait("alone", func(w *shape.World) *bool { return &w.Listeners[0].Rules[0].Alone }),
		durationTrait("sticky",
			func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Listeners[0].Rules[0].Sticky} }),
		durationTrait("grace", func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Grace} }),
		durationTrait("nodes", func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Nodes} }),
	}
}

// runtimeTraits returns the traits of the tasks, of auto scaling and of names.
func runtimeTraits() []trait {
	return []trait{
		boolTrait("others", func(w *shape.World) *bool { return &w.OtherService }),
		boolTrait("beside", func(w *shape.World) *bool { return &w.HostingServices }),
		durationTrait("start", func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Start} }),
		durationTrait("boot", func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Boot} }),
		numberTrait("rate", func(w *shape.World) []*int { return []*int{&w.Rate} }),
		durationTrait("lasts", func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Lasts} }),
		{"scaling", func(w shape.World) string { return fmt.Sprintf("%d-%d", w.Scaling.Min, w.Scaling.Max) },
			func(w *shape.World, v string) error {
				_, err := fmt.Sscanf(v, "%d-%d", &w.Scaling.Min, &w.Scaling.Max)
				return err
			}},
		numberTrait("load", func(w *shape.World) []*int { return []*int{&w.Scaling.Load} }),
		wordTrait("suspended", func(w *shape.World) *string { return &w.Scaling.SuspendedBefore }),
		durationTrait("since", func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Scaling.Since} }),
		durationTrait("ttl", func(w *shape.World) []*time.Duration { return []*time.Duration{&w.TTL} }),
		durationTrait("check", func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Check} }),
		{"percents", func(w shape.World) string { return fmt.Sprintf("%d-%d", w.Percents.Least, w.Percents.Most) },
			func(w *shape.World, v string) error {
				_, err := fmt.Sscanf(v, "%d-%d", &w.Percents.Least, &w.Percents.Most)
				return err
			}},
	}
}

// deployerTraits returns the traits of CodeDeploy, the delays of AWS, and what else exists.
func deployerTraits() []trait {
	return []trait{
		wordTrait("config", func(w *shape.World) *string { return &w.Config }),
		boolTrait("undo", func(w *shape.World) *bool { return &w.Undo }),
		durationTrait("keep", func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Keep} }),
		durationTrait("stop", func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Stop} }),
		boolTrait("managed", func(w *shape.World) *bool { return &w.Managed }),
		durationTrait("ready", func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Ready} }),
		boolTrait("test", func(w *shape.World) *bool { return &w.Test }),
		wordTrait("hooks", func(w *shape.World) *string { return &w.Hooks }),
		boolTrait("alarm", func(w *shape.World) *bool { return &w.Alarm }),
		wordTrait("records", func(w *shape.World) *string { return &w.Naming.Records }),
		boolTrait("http", func(w *shape.World) *bool { return &w.Naming.HTTP }),
		boolTrait("restores", func(w *shape.World) *bool { return &w.Naming.Restores }),
		durationTrait("late-targets",
			func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Lags.Targets} }),
		durationTrait("late-stability",
			func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Lags.Stability} }),
		durationTrait("late-health", func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Lags.Health} }),
		durationTrait("late-names", func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Lags.Names} }),
		durationTrait("tokens-last", func(w *shape.World) []*time.Duration { return []*time.Duration{&w.Lags.Tokens} }),
		numberTrait("starts-a-minute", func(w *shape.World) []*int { return []*int{&w.Lags.Starts} }),
		boolTrait("marked", func(w *shape.World) *bool { return &w.CanaryOnlyRule }),
		boolTrait("left", func(w *shape.World) *bool { return &w.LeftoverCanary }),
		boolTrait("strange", func(w *shape.World) *bool { return &w.OtherToolSet }),
		{"network", func(w shape.World) string { return strconv.FormatBool(w.UsesNetworkBalancer()) },
			func(w *shape.World, v string) error { w.SetNetworkBalancer(v == "true"); return nil }},
		nativeTrait(),
	}
}

func wordTrait(name string, at func(*shape.World) *string) trait {
	return trait{name, func(w shape.World) string { return *at(&w) },
		func(w *shape.World, v string) error { *at(w) = v; return nil }}
}

func boolTrait(name string, at func(*shape.World) *bool) trait {
	return trait{name, func(w shape.World) string { return strconv.FormatBool(*at(&w)) },
		func(w *shape.World, v string) error { *at(w) = v == "true"; return nil }}
}

// numberTrait is a trait with one or several fields, all with the same value.
func numberTrait(name string, at func(*shape.World) []*int) trait {
	return trait{name, func(w shape.World) string { return strconv.Itoa(*at(&w)[0]) },
		func(w *shape.World, v string) error {
			n, err := strconv.Atoi(v)
			for _, p := range at(w) {
				*p = n
			}
			return err
		}}
}

func durationTrait(name string, at func(*shape.World) []*time.Duration) trait {
	return trait{name, func(w shape.World) string { return at(&w)[0].String() }, func(w *shape.World, v string) error {
		d, err := time.ParseDuration(v)
		for _, p := range at(w) {
			*p = d
		}
		return err
	}}
}

// traitText returns the traits of a generated world.
func traitText(w shape.World) string {
	var all []string
	for _, t := range allTraits() {
		all = append(all, t.name+"="+t.getValue(w))
	}
	return strings.Join(all, " ")
}

// setTrait applies one trait.
func setTrait(w *shape.World, name, value string) error {
	for _, t := range allTraits() {
		if t.name == name {
			return t.setValue(w, value)
		}
	}
	return fmt.Errorf("a world has no %q", name)
}

// setRuleCount gives the listener n rules: the default one, and others with a path.
func setRuleCount(w *shape.World, n int) {
	w.Listeners[0].Rules = w.Listeners[0].Rules[:1]
	for i := 1; i < n; i++ {
		w.Listeners[0].Rules = append(w.Listeners[0].Rules,
			shape.Rule{Priority: i * 10, Path: fmt.Sprintf("/part%d", i),
				Primary: 100})
	}
}
