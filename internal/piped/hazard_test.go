package piped_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// These tests are named after the numbered hazards of PipeCD's ECS plugins that a
// plugin can cure; docs/reference/pipecd.md lists them. 1 and 5 stand with what else is
// killed, 14 and 15 with the live state.

// Task sets that failed deployments left are found and removed, so that AWS's
// limit is not reached: those of the official plugin too, nobody else's.
func TestHazard02LeftoverTaskSetsAreRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	r.flow()
	tags := map[string]string{"pipecd-dev-managed-by": "piped", "pipecd-dev-application": "app-1"}
	left := r.taskSet("web:1", 50, tags, canaryARN)
	tags["pipecd-dev-application"] = "app-of-others"
	others := r.taskSet("web:1", 50, tags, "")
	d := r.begin(source{image: "sim/web:v1"}, source{})
	d.all()
	for id, tells := range map[string]string{left: "was left by an earlier deployment: ECS_SYNC removes it",
		others: "sluice did not create it and does not change it"} {
		if log := r.piped.text(d.Stages[0].GetId()); !strings.Contains(log, "task set "+id+" (web:1) "+tells) &&
			!strings.Contains(log, "task set "+id+" (web:1) is ACTIVE, but "+tells) {
			t.Errorf("the log does not tell that %s %s:\n%s", id, tells, log)
		}
	}
	state := ""
	for _, ts := range r.service().TaskSets {
		if *ts.Status != "DRAINING" {
			state += *ts.Status + " " + *ts.Id + "; "
		}
	}
	if strings.Contains(state, left) || !strings.Contains(state, others) || strings.Count(state, ";") != 2 {
		t.Errorf("%s; left by the official plugin: %s; by others: %s", state, left, others)
	}
	r.noneLost()
}

// A canary is found though the plugin was killed before the stage could say that
// it made one.
func TestHazard03CanaryOfAnInterruptedStageIsFound(t *testing.T) {
	t.Parallel()
	r := newRig(t, external)
	d := r.usual()
	s := d.forward()[0]
	r.onLine(s.GetId(), "ecs:CreateTaskSet", func(string) { _ = r.plugin.cmd.Process.Kill() })
	if _, err := d.execute(context.Background(), s); err == nil {
		t.Fatal("the plugin was not killed")
	}
	r.restart()
	clean := d.forward()[4]
	d.run(clean)
	if state := r.state(); strings.Contains(state, "v2") {
		t.Errorf("the canary still stands: %s", state)
	}
	d.run(d.back())
	r.want(serves("v1"))
}

// No weight goes to a group without healthy targets.
func TestHazard07TrafficWaitsForHealthyTargets(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	r.flow()
	d := r.usual()
	if log := d.fails(d.forward()[1]); !strings.Contains(log, "the service has no canary task set") {
		t.Errorf("log:\n%s", log)
	}
	r.want(serves("v1"))
	r.noneLost()
}

// The old primary goes when the new one is healthy, and drains first; a rollback
// after that loses nothing either.
func TestHazard08OldPrimaryDrainsBeforeItIsDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, external)
	r.flow()
	d := r.begin(source{image: "sim/web:v1"}, source{image: "sim/web:v2?healthy-after=15s"}, stagesOf()...)
	for _, s := range d.forward()[:3] {
		d.run(s)
	}
	log := r.piped.text(d.forward()[2].GetId())
	at := -1
	for _, step := range []string{"targets healthy 2/2", "UpdateServicePrimaryTaskSet", "to drain",
		"ecs:DeleteTaskSet"} {
		next := strings.Index(log, step)
		if next <= at {
			t.Errorf("%q does not come in its turn:\n%s", step, log)
		}
		at = next
	}
	d.run(d.back())
	r.want(serves("v1"))
	r.noneLost()
}

// Only rules of our two groups are written, with all that they hold kept.
func TestHazard09OnlyOurRulesAreWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	sticky := r.rule(1, "/sticky/*", both(100, 0, true))
	other := r.rule(2, "/other/*", elbtypes.Action{Type: elbtypes.ActionTypeEnumFixedResponse,
		FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("404")}})
	d := r.usual()
	d.run(d.forward()[0])
	d.run(d.forward()[1])
	f := r.actions(sticky)[0].ForwardConfig
	if s := f.TargetGroupStickinessConfig; s == nil || !*s.Enabled || *s.DurationSeconds != 300 {
		t.Errorf("stickiness is %+v", s)
	}
	if *f.TargetGroups[0].Weight != 90 {
		t.Errorf("weights %v", f.TargetGroups)
	}
	log := r.piped.text(d.forward()[1].GetId())
	if strings.Contains(log, sluiceShort(other)) || strings.Count(log, "ModifyRule") != 1 {
		t.Errorf("log:\n%s", log)
	}
}

func sluiceShort(arn string) string { return arn[strings.LastIndex(arn, ":")+1:] }

// Tags that the file drops are removed if they are still as it gave them. Nobody
// else's are touched.
func TestHazard10OnlyOurTagsAreRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	for key, value := range map[string]string{"team": "a", "cost": "terraform", "changed": "by hand"} {
		r.tag(key, value)
	}
	before := serviceFile + "tags: [{key: team, value: a}, {key: changed, value: b}]\n"
	d := r.begin(source{image: "sim/web:v1", service: before},
		source{service: serviceFile + "tags: [{key: new, value: c}]\n"})
	d.all()
	tags := r.tags()
	if _, there := tags["team"]; there || tags["cost"] != "terraform" || tags["changed"] != "by hand" ||
		tags["new"] != "c" {
		t.Errorf("tags %v", tags)
	}
}

// Task definitions stay: others may run them. Only if the file says how many to
// keep, older ones of ours go that nothing runs.
func TestHazard11TaskDefinitionsStay(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.begin(source{image: "sim/web:v1"}, source{})
	d.all()
	if n := len(r.definitions()); n != 2 {
		t.Errorf("%d revisions are ACTIVE, want both", n)
	}

	keep := strings.Replace(appFile(pipeline), "      input:\n", "      input:\n        keepTaskDefinitions: 2\n", 1)
	for v := 3; v <= 6; v++ {
		d = r.begin(source{image: fmt.Sprintf("sim/web:v%d", v-1)}, source{image: fmt.Sprintf("sim/web:v%d", v),
			app: keep})
		d.all()
	}
	if n := len(r.definitions()); n != 4 { // the two of before, which are not signed, and the newest two
		t.Errorf("%d revisions are ACTIVE, want four", n)
	}
}

// A canary changes nothing that the primary would notice, and what the file does
// not give is never written.
func TestHazard12CanaryDoesNotChangeTheService(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	got(r.ecs.UpdateService(context.Background(), &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
		Service:              aws.String("web"),
		EnableECSManagedTags: aws.Bool(true), DesiredCount: aws.Int32(3)}))(t)
	d := r.begin(source{image: "sim/web:v1"}, source{service: serviceFile + "healthCheckGracePeriodSeconds: 7\n"},
		stagesOf()...)
	d.run(d.forward()[0])
	if log := r.piped.text(d.forward()[0].GetId()); strings.Contains(log, "UpdateService ") {
		t.Errorf("log:\n%s", log)
	}
	d.run(d.forward()[1])
	d.run(d.forward()[2])
	if s := r.service(); !s.EnableECSManagedTags || s.DesiredCount != 3 ||
		aws.ToInt32(s.HealthCheckGracePeriodSeconds) != 7 {
		t.Errorf("managed tags %t, desired count %d, grace period %v", s.EnableECSManagedTags, s.DesiredCount,
			s.HealthCheckGracePeriodSeconds)
	}
}

// standalone is an application without a service, and jobFile what it runs.
func standalone() string {
	return strings.Replace(appFile(""), "        serviceDefinitionFile: servicedef.yaml\n", `        runStandaloneTask: true
        clusterArn: arn:aws:ecs:us-east-1:123456789012:cluster/prod
        awsvpcConfiguration: {subnets: [subnet-0123456789abcdef0]}
`, 1)
}

func jobFile() string { return strings.Replace(taskFile, "family: web", "family: job", 1) }

// A standalone task is run: exactly the revision that was registered, with
// PipeCD's tags, watched to its end, its exit code and what it printed told. Run
// again after a kill, it is found and not doubled. There is nothing to roll back.
func TestHazard13StandaloneTaskIsRunAndObserved(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	app, job := standalone(), jobFile()
	d := r.begin(source{image: "sim/web:v1"}, source{app: app, task: job, image: "sim/web:v1-crash-after-3s-exit-0"})
	d.run(d.Stages[0])
	log := r.piped.text(d.Stages[0].GetId())
	for _, want := range []string{"RegisterTaskDefinition job: job:1", "RunTask prod/job:1",
		"ended: container web exited with 0"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	d.run(d.Stages[0]) // piped asks again for what it does not know the end of
	d.run(d.back())
	out := got(r.ecs.ListTasks(context.Background(), &awsecs.ListTasksInput{Cluster: aws.String("prod"),
		Family: aws.String("job"), DesiredStatus: "STOPPED"}))(t)
	if len(out.TaskArns) != 1 {
		t.Fatalf("%d tasks ran", len(out.TaskArns))
	}
	tasks := got(r.ecs.DescribeTasks(context.Background(), &awsecs.DescribeTasksInput{Cluster: aws.String("prod"),
		Tasks: out.TaskArns, Include: []ecstypes.TaskField{ecstypes.TaskFieldTags}}))(t)
	if task := tasks.Tasks[0]; !strings.HasSuffix(*task.TaskDefinitionArn, "job:1") ||
		tagOf(task.Tags, "pipecd-dev-application") != "app-1" {
		t.Errorf("%s %v", *task.TaskDefinitionArn, task.Tags)
	}

	d = r.begin(source{image: "sim/web:v1"}, source{app: app, task: job, image: "sim/web:v1-crash-after-3s-exit-3"})
	if log := d.fails(d.Stages[0]); !strings.Contains(log, "container web exited with 3") {
		t.Errorf("log:\n%s", log)
	}
	r.want(serves("v1"))
}

func tagOf(tags []ecstypes.Tag, key string) string {
	for _, t := range tags {
		if aws.ToString(t.Key) == key {
			return aws.ToString(t.Value)
		}
	}
	return ""
}

// A desired count of 0 is written, not taken for none.
func TestHazard17DesiredCountOfZero(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.begin(source{image: "sim/web:v1"}, source{service: serviceFile + "desiredCount: 0\n"})
	d.all()
	if n := r.service().DesiredCount; n != 0 {
		t.Errorf("desired count %d", n)
	}
}

// A service of another application, or one that another deployment works on, is
// refused untouched; the rollback that follows leaves it alone too.
func TestHazard18ServiceOfAnotherIsRefused(t *testing.T) {
	t.Parallel()
	for name, tag := range map[string][3]string{
		"application": {"pipecd-dev-application", "app-2", "belongs to another application"},
		"deployment":  {"sluice:deployment", "slc-other 2100-01-01T00:00:00Z", "another deployment owns the claim"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, external+quick)
			r.tag("pipecd-dev-managed-by", "piped-ecs-plugin")
			r.tag(tag[0], tag[1])
			before := r.tags()
			d := r.usual()
			if log := d.fails(d.forward()[0]); !strings.Contains(log, tag[2]) || !strings.Contains(log, "next: ") {
				t.Errorf("log:\n%s", log)
			}
			_, _ = d.execute(context.Background(), d.back())
			r.want(serves("v1"))
			if now := r.tags(); fmt.Sprint(now) != fmt.Sprint(before) {
				t.Errorf("tags %v, before %v", now, before)
			}
		})
	}
}

// A deployment that ended without a stage of ours left its claim: the next one of
// the application goes on all the same, and removes what it left.
func TestNextDeploymentRemovesLeftovers(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	r.flow()
	d := r.usual()
	d.run(d.forward()[0])
	d.run(d.forward()[1])
	next := r.begin(source{image: "sim/web:v1"}, source{image: "sim/web:v3"})
	next.all()
	r.want(serves("v3"))
	r.noneLost()
	r.free()
}

// A value that cannot be saved stops the stage before the write.
func TestFailedSaveStopsTheStage(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.usual()
	d.run(d.forward()[0])
	r.piped.set(func() {
		r.piped.putErr = func(key string) error {
			if key == "routes" {
				return errors.New("the control plane is away")
			}
			return nil
		}
	})
	if log := d.fails(d.forward()[1]); !strings.Contains(log, "the control plane is away") || written(log) {
		t.Errorf("log:\n%s", log)
	}
	if state := r.state(); !strings.Contains(state, "primary 100; canary 0") {
		t.Error(state)
	}
}

// piped is away for a while in the middle of a stage: the stage waits for it, and
// its log is complete in the end.
func TestPipedAwayForAWhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, external)
	d := r.usual()
	d.run(d.forward()[0])
	s := d.forward()[1]
	at := r.piped.addr
	r.piped.set(func() {
		r.piped.put = func(key, _ string) {
			if key == "primary-percentage" {
				r.piped.set(func() { r.piped.put = nil })
				go func() {
					r.piped.stop()
					r.piped.start(t, at)
				}()
			}
		}
	})
	status, err := d.execute(context.Background(), s)
	if err != nil || status != contract.StageStatus_STAGE_SUCCESS {
		t.Fatalf("%s %v\n%s", status, err, r.piped.text(s.GetId()))
	}
	if state := r.state(); !strings.Contains(state, "primary 90; canary 10") {
		t.Error(state)
	}
}
