package simtest

import (
	"strings"

	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// Shrink makes a case that breaks a promise as small as possible. It removes faults, interventions,
// kills, stages and traits of the world one by one, as long as the same promise is broken. breaks
// returns the promise that a case breaks, "" for none; see [BrokenPromise].
func Shrink(c rehearse.Case, breaks func(rehearse.Case) string) rehearse.Case {
	promise := breaks(c)
	if promise == "" {
		return c
	}
	for smaller := true; smaller; {
		smaller = false
		for _, try := range smallerCases(c) {
			if breaks(try) == promise {
				c, smaller = try, true
				break
			}
		}
	}
	return c
}

// BrokenPromise returns the first promise that a case breaks, "P1" to "P7", or "".
func BrokenPromise(c rehearse.Case) string {
	for _, v := range Run(c).Violations {
		if promise, _, _ := strings.Cut(v, ":"); promise != "rehearsal" {
			return promise
		}
	}
	return ""
}

// smallerCases returns the cases with one element removed.
func smallerCases(c rehearse.Case) (all []rehearse.Case) {
	keep := func(change func(*rehearse.Case)) {
		less := c
		less.World.Listeners = []shape.Listener{c.World.Listeners[0]}
		less.World.Listeners[0].Rules = append([]shape.Rule(nil), c.World.Listeners[0].Rules...)
		change(&less)
		if Format(less) != Format(c) {
			all = append(all, less)
		}
	}
	for i := range c.Faults {
		keep(func(l *rehearse.Case) { l.Faults = withoutIndex(c.Faults, i) })
	}
	for i := range c.Kills {
		keep(func(l *rehearse.Case) { l.Kills = withoutIndex(c.Kills, i) })
	}
	for i := range c.Interventions {
		keep(func(l *rehearse.Case) { l.Interventions = withoutIndex(c.Interventions, i) })
	}
	keep(func(l *rehearse.Case) { l.FullDisk = rehearse.FullDisk{} })
	keep(func(l *rehearse.Case) { l.Pipeline, l.Interventions = nil, moveEarlier(c.Interventions, 1) })
	for i, s := range c.Pipeline {
		if isNeededStage(s) {
			continue
		}
		keep(func(l *rehearse.Case) {
			l.Pipeline = withoutIndex(c.Pipeline, i)
			l.Interventions = moveEarlier(c.Interventions, i+1)
		})
	}
	keep(func(l *rehearse.Case) { l.Before = "" })
	all = append(all, smallerJobs(c)...)
	keep(func(l *rehearse.Case) { l.After = "" })
	keep(func(l *rehearse.Case) { l.Old = "" })
	keep(func(l *rehearse.Case) { l.New = "" })
	keep(func(l *rehearse.Case) { l.Codec = false })
	keep(func(l *rehearse.Case) { l.AllowRoute = false })
	keep(func(l *rehearse.Case) { l.Exchanged = false })
	keep(func(l *rehearse.Case) { l.PipeCD = false })
	plain := PlainWorld()
	for _, trait := range strings.Fields(traitText(plain)) {
		name, value, _ := strings.Cut(trait, "=")
		// tasks are set to one below; setting the plain four too would never end
		if name != "controller" && name != "tasks" {
			keep(func(l *rehearse.Case) { _ = setTrait(&l.World, name, value) })
		}
	}
	keep(func(l *rehearse.Case) { l.World.Tasks = 1 })
	return all
}

// isNeededStage reports whether a pipeline needs the stage to end fully new and without leftovers.
func isNeededStage(stage string) bool {
	return strings.HasPrefix(stage, "ECS_PRIMARY_ROLLOUT") || strings.HasPrefix(stage, "ECS_CANARY_CLEAN")
}

// moveEarlier moves interventions that wait for a stage after the removed one.
func moveEarlier(hands []rehearse.Intervention, gone int) []rehearse.Intervention {
	all := append([]rehearse.Intervention(nil), hands...)
	for i := range all {
		if all[i].Stage >= gone && all[i].Stage > 1 {
			all[i].Stage--
		}
	}
	return all
}

func withoutIndex[T any](list []T, i int) []T {
	return append(append([]T(nil), list[:i]...), list[i+1:]...)
}
