package piped_test

import (
	"strings"
	"testing"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// piped does not restart a plugin that dies alone: the deployment fails and what it made
// stays. The next pipeline removes it before its own canary starts: no caller gets it.
func TestCanaryOfAPluginThatDiedIsRemovedByTheNextPipeline(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	r.flow()
	d := r.begin(source{image: "sim/web:v1"}, source{image: "sim/web:v4"}, stagesOf()...)
	d.run(d.forward()[0])
	r.restart() // the plugin is gone and with it the deployment: no rollback runs
	next := r.begin(source{image: "sim/web:v1"}, source{image: "sim/web:v5"}, stagesOf()...)
	for i, s := range next.forward() {
		next.run(s)
		if i == 0 {
			log := r.piped.text(s.GetId())
			for _, text := range []string{"was left by an earlier deployment: sluice removes it before the first stage",
				"has ended and left its claim on the service: removing the claim"} {
				if !strings.Contains(log, text) {
					t.Errorf("the log does not tell what was left, %q:\n%s", text, log)
				}
			}
			if strings.Contains(log, "another deployment has the claim on the service") {
				t.Errorf("the log warns of a claim that was removed:\n%s", log)
			}
			if state := r.state(); strings.Contains(state, "v4") {
				t.Errorf("after the first stage: %s", state)
			}
		}
	}
	r.want(serves("v5"))
	if sets := r.service().TaskSets; len(sets) != 1 {
		t.Errorf("%d task sets, want one: %v", len(sets), sets)
	}
	r.noneLost()
	r.free()
	if n := r.load.versions()["v4"]; n > 0 {
		t.Errorf("%d requests were answered by v4, which had failed", n)
	}
}

// A rollback of the deployment that found something left leaves it removed.
func TestRollbackAfterALeftoverWasRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	r.flow()
	d := r.begin(source{image: "sim/web:v1"}, source{image: "sim/web:v4"}, stagesOf()...)
	d.run(d.forward()[0])
	d.run(d.forward()[1])
	next := r.begin(source{image: "sim/web:v1"}, source{image: "sim/web:v5"}, stagesOf()...)
	next.run(next.forward()[0])
	next.run(next.forward()[1])
	next.run(next.back())
	r.want(serves("v1"))
	r.noneLost()
	r.free()
}

// A service that was deployed by hand before: its old task set still serves beside what
// was promoted since. That is no synced state; ECS_SYNC does not report success over it.
func TestTaskSetOfOthersInThePrimaryGroup(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	r.flow()
	r.begin(source{image: "sim/web:v1"}, source{}).all()
	r.inSync(source{}.write(t), inSync)
	id := r.taskSet("web:1", 100, nil, primaryARN)
	r.pass("2m")
	r.inSync(source{}.write(t), drifted,
		"task set "+id+": is of web:1, not created by sluice, 2 running in target group web-primary, should be none")
	sync := r.begin(source{image: "sim/web:v1"}, source{image: "sim/web:v3"})
	text := sync.fails(sync.forward()[0])
	if !strings.Contains(text, "sluice did not create it") || !strings.Contains(text, "onOtherTargets: remove") {
		t.Errorf("the stage says: %s", text)
	}
	r.want("PRIMARY sim/web:v2 100% 2 running; ACTIVE sim/web:v1 100% 2 running; primary 100; canary 0")
	removes := source{image: "sim/web:v3", app: strings.Replace(appFile(pipeline), "      input:\n",
		"      input:\n        onOtherTargets: remove\n", 1)}
	r.begin(source{image: "sim/web:v1"}, removes).all()
	r.want(serves("v3"))
	r.inSync(removes.write(t), inSync)
	r.noneLost()
}

// A task set that PipeCD's plugin made for the application is removed by a pipeline, as
// one of sluice's is.
func TestTaskSetOfTheOfficialPluginIsRemovedByAPipeline(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	r.flow()
	id := r.taskSet("web:1", 50, map[string]string{"pipecd-dev-managed-by": "piped", "pipecd-dev-application": "app-1"},
		canaryARN)
	r.inSync(source{image: "sim/web:v1"}.write(t), drifted, "task set "+id)
	d := r.usual()
	for _, s := range d.forward() {
		d.run(s)
	}
	r.want(serves("v2"))
	r.noneLost()
}

// A rule that always forwards to the canary group is no change of others.
func TestRollbackWithARuleThatAlwaysForwardsToTheCanaryGroup(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	r.flow()
	arn := r.rule(1, "/marked", elbtypes.Action{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: ptr(canaryARN)})
	d := r.usual()
	d.run(d.forward()[0])
	if log := r.piped.text(d.forward()[0].GetId()); !strings.Contains(log,
		"rule 1 of port 80 always forwards to the canary target group") {
		t.Errorf("the log does not tell of the rule:\n%s", log)
	}
	d.run(d.forward()[1])
	d.run(d.back())
	r.want("PRIMARY sim/web:v1 100% 2 running; canary 1") // the first rule is the one that always forwards
	if a := r.actions(arn)[0]; *a.TargetGroupArn != canaryARN {
		t.Errorf("the rule became %v", a)
	}
	r.noneLost()
	r.free()
}

func ptr(s string) *string { return &s }
