package stage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// A pipeline that ends while both versions run is a success, and its outcome says which of them gets which part of the
// requests. The modelled callers confirm it.
func TestOutcomeNamesTheShareOfEachVersion(t *testing.T) {
	const keep = "{name: ECS_PRIMARY_ROLLOUT, with: {keepOld: true}}"
	const kept = "the tasks of web:1 are kept: the pipeline has no ECS_CANARY_CLEAN after keepOld, so "
	for name, c := range map[string]struct {
		stages      []string
		cause, gets string
	}{
		"both in one group": {[]string{keep}, kept + "web:2 gets 50 % of the requests, and web:1 the others", "v1 v2"},
		"a canary too": {[]string{stagetest.CanaryRollout, stagetest.ShiftFifth, keep},
			kept + "web:2 gets 60 % of the requests, and web:1 the others", "v1 v2"},
		"all with the canary": {[]string{stagetest.CanaryRollout, "{name: ECS_TRAFFIC_ROUTING, with: {canary: 100}}", keep},
			kept + "web:2 gets 100 % of the requests", "v2"},
		"a canary without a promotion": {[]string{stagetest.CanaryRollout, stagetest.ShiftFifth}, "nothing was promoted: the " +
			"pipeline has no ECS_PRIMARY_ROLLOUT, so web:2 gets 20 % of the requests, as the canary, and web:1 the others",
			"v1 v2"},
		"a canary of the promoted version": {[]string{stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.PrimaryRollout},
			"", "v2"},
		"cleaned": {[]string{stagetest.CanaryRollout, stagetest.ShiftFifth, keep, stagetest.ShiftBack, stagetest.CleanCanary},
			"", "v2"},
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				files := b.Files("sim/web:v2", stagetest.Pipeline(c.stages...))
				p := stagetest.Got(b.Plan(files, mode.Options{}))(b)
				warns := strings.Contains(strings.Join(p.Warnings, "\n"), "keeps the tasks of web:1")
				end := b.Deploy(files)
				var versions []string
				for got, v := b.CallersGet(), 1; v <= 2; v++ {
					if name := fmt.Sprint("v", v); strings.Contains(got, name) {
						versions = append(versions, name)
					}
				}
				got := strings.Join(versions, " ")
				if end.Outcome != sluice.Succeeded || end.Cause != c.cause || got != c.gets || warns != strings.HasPrefix(c.cause, kept) {
					b.Errorf("%s: %q, callers get %s, the plan warns %t; want %q and %s", end.Outcome, end.Cause, got, warns, c.cause,
						c.gets)
				}
			})
		})
	}
}

// Tasks that callers resolve by a name serve as soon as they are healthy: a canary that no stage shifts gets requests too.
func TestOutcomeNamesTheShareOfARegisteredCanary(t *testing.T) {
	for _, controller := range []string{"EXTERNAL", "ECS"} {
		stagetest.RunByName(t, stagetest.Named{Controller: controller, Image: "?term=80s"}, func(b *stagetest.NameBench) {
			end := b.Deploy(b.NamedFiles("sim/api:v2?term=80s", stagetest.Pipeline(stagetest.CanaryRollout)))
			const want = "so api:2 gets 33 % of the requests, as the canary, and api:1 the others"
			if end.Outcome != sluice.Succeeded || !strings.Contains(end.Cause, want) || b.Found() != "4 primary, 2 canary" {
				b.Errorf("%s: %s: %q, %s; want %q", controller, end.Outcome, end.Cause, b.Found(), want)
			}
		})
	}
}
