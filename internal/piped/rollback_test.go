package piped_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// After each stage another plugin's stage fails: the rollback puts back what was,
// and leaves nothing.
func TestRollbackFromEachStage(t *testing.T) {
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprintf("after stage %d", n), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, external)
			r.flow()
			d := r.usual()
			for _, s := range d.forward()[:n] {
				d.run(s)
			}
			d.run(d.back())
			r.want(serves("v1"))
			r.noneLost()
			r.free()
			r.commit("h1", n >= 3)
		})
	}
}

// A version that does not get healthy fails its stage with the reason, and the
// rollback leaves what was.
func TestUnhealthyVersionFailsWithItsReason(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	r.flow()
	d := r.begin(source{image: "sim/web:v1"}, source{image: "sim/web:v2?crash-after=2s&exit=3"}, stagesOf()...)
	log := d.fails(d.forward()[0])
	for _, want := range []string{"tasks stopped", "exit code 3", "next: "} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not tell %q:\n%s", want, log)
		}
	}
	d.run(d.back())
	r.want(serves("v1"))
	r.noneLost()
	r.free()
}

// A stage that is cancelled stops at a safe point; the rollback undoes it.
func TestCancelledStageIsUndone(t *testing.T) {
	for n := range 5 {
		t.Run(fmt.Sprintf("stage %d", n+1), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, external)
			r.flow()
			d := r.usual()
			for _, s := range d.forward()[:n] {
				d.run(s)
			}
			s := d.forward()[n]
			ctx, cancel := context.WithCancel(context.Background())
			r.onLine(s.GetId(), "", func(line string) {
				if written(line) {
					cancel()
				}
			})
			_, _ = d.execute(ctx, s)
			cancel()
			endWithServer(t, "the stage's log to be complete",
				func() bool { return r.piped.completeLog(s.GetId()) == nil })
			if log := r.piped.text(s.GetId()); !strings.Contains(log, "done") &&
				!strings.Contains(log, "stopped: piped ended the stage") {
				t.Errorf("log:\n%s", log)
			}
			d.run(d.back())
			r.want(serves("v1"))
			r.noneLost()
			r.free()
		})
	}
}

// A first deployment that fails leaves nothing behind; its rollback needs no running source. No version served before, so
// its stage does not end as if one was restored.
func TestRollbackWithoutAnythingBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick)
	d := r.begin(source{}, source{image: "sim/web:v2?crash-after=2s"})
	d.running, d.RunningCommitHash = nil, ""
	d.fails(d.forward()[0])
	if log := d.fails(d.back()); !strings.Contains(log, "no version served before") {
		t.Errorf("log:\n%s", log)
	}
	r.want("primary 100; canary 0")
	r.free()
}

// A rollback of a deployment that never began changes nothing, even if its files
// cannot be read.
func TestRollbackOfNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.begin(source{image: "sim/web:v1"}, source{app: appFile("  unknown: 1\n")}, stagesOf()...)
	if log := d.fails(d.forward()[0]); !strings.Contains(log, `unknown key "unknown"`) ||
		!strings.Contains(log, "app.pipecd.yaml:14") {
		t.Errorf("log:\n%s", log)
	}
	d.run(d.back())
	r.want(serves("v1"))
}

// written tells the log lines of writes.
func written(line string) bool {
	return strings.HasPrefix(line, "ecs:") || strings.HasPrefix(line, "elasticloadbalancing:")
}

// onLine is told the new lines of a stage that begin so.
func (r *rig) onLine(stage, prefix string, told func(line string)) {
	r.piped.set(func() {
		r.piped.line = func(of, line string) {
			if of == stage && strings.HasPrefix(line, prefix) {
				told(line)
			}
		}
	})
}

// endWithServer looks until it is so.
func endWithServer(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// tags are those of the service.
func (r *rig) tags() map[string]string {
	r.Helper()
	return r.tagsOf("web")
}

func (r *rig) tagsOf(service string) map[string]string {
	r.Helper()
	tags := map[string]string{}
	for _, t := range r.serviceOf(service).Tags {
		tags[*t.Key] = *t.Value
	}
	return tags
}

// free wants no claim left on the service.
func (r *rig) free() {
	r.Helper()
	if claim := r.tags()["sluice:deployment"]; claim != "" {
		r.Errorf("the service is still claimed: %s", claim)
	}
}

// commit wants the service to be tagged with a commit, or with none.
func (r *rig) commit(hash string, is bool) {
	r.Helper()
	if !is {
		hash = ""
	}
	if got := r.tags()["pipecd-dev-commit-hash"]; got != hash {
		r.Errorf("tagged with commit %q, want %q", got, hash)
	}
}

// Another process deregisters the former revision during the deployment. The rollback registers a copy of it, for every
// controller.
func TestRollbackToADeregisteredRevision(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ world, app, service string }{
		"task sets":  {external, appFile(pipeline), serviceFile},
		"beside":     {rolling, appFile(pipeline), rollingFile},
		"rolling":    {rolling, appFile(""), rollingFile},
		"CodeDeploy": {shifted, appFile(""), shiftedFile()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.world)
			var stages []*contract.BuildPipelineSyncStagesRequest_StageConfig
			if strings.Contains(c.app, "pipeline") {
				stages = stagesOf()
			}
			d := r.begin(source{image: "sim/web:v1", app: c.app, service: c.service},
				source{app: c.app, service: c.service}, stages...)
			d.all()
			got(r.ecs.DeregisterTaskDefinition(context.Background(),
				&awsecs.DeregisterTaskDefinitionInput{TaskDefinition: aws.String("web:1")}))(t)
			d.run(d.back())
			log := r.piped.text(d.back().GetId())
			if state := r.state(); !strings.Contains(state, "PRIMARY sim/web:v1 100% 2 running") ||
				!strings.Contains(log, "sluice restores its copy web:3") {
				t.Errorf("%s\n%s", state, log)
			}
			r.free()
		})
	}
}
