package rehearse

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// trait is a property of a generated world, as a word of a case's text: name=value. A case without
// the word has the value of [Plain], so a new trait changes no existing case.
type trait struct {
	name string
	get  func(World) string
	set  func(*World, string) error
}

// allTraits returns all traits, in the order of the text. A new one is added at the end; [Shrink]
// tries each in its plain form by itself.
func traits() []trait {
	return []trait{
		word("controller", func(w *World) *string { return &w.Controller }),
		number("tasks", func(w *World) []*int { return []*int{&w.Tasks} }),
		{"zones", func(w World) string { return strconv.Itoa(len(w.Subnets)) }, func(w *World, v string) error {
			n, err := strconv.Atoi(v)
			w.Subnets = subnets(n)
			return err
		}},
		span("interval", func(w *World) []*time.Duration { return []*time.Duration{&w.Primary.Interval, &w.Canary.Interval} }),
		number("healthy", func(w *World) []*int { return []*int{&w.Primary.Healthy, &w.Canary.Healthy} }),
		number("unhealthy", func(w *World) []*int { return []*int{&w.Primary.Unhealthy, &w.Canary.Unhealthy} }),
		span("drain", func(w *World) []*time.Duration { return []*time.Duration{&w.Primary.Drain, &w.Canary.Drain} }),
		{"rules", func(w World) string { return strconv.Itoa(len(w.Listeners[0].Rules)) }, func(w *World, v string) error {
			n, err := strconv.Atoi(v)
			w.spread(n)
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
		yesNo("alone", func(w *World) *bool { return &w.Listeners[0].Rules[0].Alone }),
		span("sticky", func(w *World) []*time.Duration { return []*time.Duration{&w.Listeners[0].Rules[0].Sticky} }),
		span("grace", func(w *World) []*time.Duration { return []*time.Duration{&w.Grace} }),
		span("nodes", func(w *World) []*time.Duration { return []*time.Duration{&w.Nodes} }),
		yesNo("others", func(w *World) *bool { return &w.Others }),
		yesNo("beside", func(w *World) *bool { return &w.Beside }),
		span("start", func(w *World) []*time.Duration { return []*time.Duration{&w.Start} }),
		span("boot", func(w *World) []*time.Duration { return []*time.Duration{&w.Boot} }),
		number("rate", func(w *World) []*int { return []*int{&w.Rate} }),
		span("lasts", func(w *World) []*time.Duration { return []*time.Duration{&w.Lasts} }),
		{"scaling", func(w World) string { return fmt.Sprintf("%d-%d", w.Scaling.Min, w.Scaling.Max) }, func(w *World, v string) error {
			_, err := fmt.Sscanf(v, "%d-%d", &w.Scaling.Min, &w.Scaling.Max)
			return err
		}},
		number("load", func(w *World) []*int { return []*int{&w.Scaling.Load} }),
		word("suspended", func(w *World) *string { return &w.Scaling.Was }),
		span("since", func(w *World) []*time.Duration { return []*time.Duration{&w.Scaling.Since} }),
		span("ttl", func(w *World) []*time.Duration { return []*time.Duration{&w.TTL} }),
		span("check", func(w *World) []*time.Duration { return []*time.Duration{&w.Check} }),
		{"percents", func(w World) string { return fmt.Sprintf("%d-%d", w.Percents.Least, w.Percents.Most) }, func(w *World, v string) error {
			_, err := fmt.Sscanf(v, "%d-%d", &w.Percents.Least, &w.Percents.Most)
			return err
		}},
		word("config", func(w *World) *string { return &w.Config }),
		yesNo("undo", func(w *World) *bool { return &w.Undo }),
		span("keep", func(w *World) []*time.Duration { return []*time.Duration{&w.Keep} }),
		span("stop", func(w *World) []*time.Duration { return []*time.Duration{&w.Stop} }),
		yesNo("managed", func(w *World) *bool { return &w.Managed }),
		span("ready", func(w *World) []*time.Duration { return []*time.Duration{&w.Ready} }),
		yesNo("test", func(w *World) *bool { return &w.Test }),
		word("hooks", func(w *World) *string { return &w.Hooks }),
		yesNo("alarm", func(w *World) *bool { return &w.Alarm }),
		word("records", func(w *World) *string { return &w.Naming.Records }),
		yesNo("http", func(w *World) *bool { return &w.Naming.HTTP }),
		yesNo("restores", func(w *World) *bool { return &w.Naming.Restores }),
		span("late-targets", func(w *World) []*time.Duration { return []*time.Duration{&w.Lags.Targets} }),
		span("late-stability", func(w *World) []*time.Duration { return []*time.Duration{&w.Lags.Stability} }),
		span("late-health", func(w *World) []*time.Duration { return []*time.Duration{&w.Lags.Health} }),
		span("late-names", func(w *World) []*time.Duration { return []*time.Duration{&w.Lags.Names} }),
		span("tokens-last", func(w *World) []*time.Duration { return []*time.Duration{&w.Lags.Tokens} }),
		number("starts-a-minute", func(w *World) []*int { return []*int{&w.Lags.Starts} }),
		yesNo("marked", func(w *World) *bool { return &w.Marked }),
		yesNo("left", func(w *World) *bool { return &w.Left }),
		yesNo("strange", func(w *World) *bool { return &w.Strange }),
	}
}

func word(name string, at func(*World) *string) trait {
	return trait{name, func(w World) string { return *at(&w) }, func(w *World, v string) error { *at(w) = v; return nil }}
}

func yesNo(name string, at func(*World) *bool) trait {
	return trait{name, func(w World) string { return strconv.FormatBool(*at(&w)) }, func(w *World, v string) error { *at(w) = v == "true"; return nil }}
}

// numberTrait is a trait with one or several fields, all with the same value.
func number(name string, at func(*World) []*int) trait {
	return trait{name, func(w World) string { return strconv.Itoa(*at(&w)[0]) }, func(w *World, v string) error {
		n, err := strconv.Atoi(v)
		for _, p := range at(w) {
			*p = n
		}
		return err
	}}
}

func span(name string, at func(*World) []*time.Duration) trait {
	return trait{name, func(w World) string { return at(&w)[0].String() }, func(w *World, v string) error {
		d, err := time.ParseDuration(v)
		for _, p := range at(w) {
			*p = d
		}
		return err
	}}
}

// traitText returns the traits of a generated world.
func (w World) words() string {
	var all []string
	for _, t := range traits() {
		all = append(all, t.name+"="+t.get(w))
	}
	return strings.Join(all, " ")
}

// setTrait applies one trait.
func (w *World) set(name, value string) error {
	for _, t := range traits() {
		if t.name == name {
			return t.set(w, value)
		}
	}
	return fmt.Errorf("a world has no %q", name)
}

// setRuleCount gives the listener n rules: the default one, and others with a path.
func (w *World) spread(n int) {
	w.Listeners[0].Rules = w.Listeners[0].Rules[:1]
	for i := 1; i < n; i++ {
		w.Listeners[0].Rules = append(w.Listeners[0].Rules, Rule{Priority: i * 10, Path: fmt.Sprintf("/part%d", i), Primary: 100})
	}
}
