package piped_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/piped/contract/contracttest"
)

// look asks for the live state as piped does once a minute.
func (r *rig) look(src *contract.DeploymentSource) *contract.GetLivestateResponse {
	r.Helper()
	out := got(r.plugin.live.GetLivestate(context.Background(), &contract.GetLivestateRequest{PipedId: "piped-1",
		ApplicationId:   "app-1",
		ApplicationName: "web", DeploySource: src, DeployTargets: []string{"dt"}}))(r)
	must(r, contracttest.Check(out))
	return out
}

// inSync wants a status, and a reason that tells of what.
func (r *rig) inSync(src *contract.DeploymentSource, status contract.ApplicationSyncStatus, tells ...string) {
	r.Helper()
	s := r.look(src).GetSyncState()
	if s.GetStatus() != status {
		r.Errorf("%s (%s): %s, want %s", s.GetStatus(), s.GetShortReason(), s.GetReason(), status)
	}
	for _, text := range tells {
		if !strings.Contains(s.GetReason(), text) {
			r.Errorf("the reason does not tell %q: %s", text, s.GetReason())
		}
	}
}

const (
	inSync  = contract.ApplicationSyncStatus_SYNCED
	drifted = contract.ApplicationSyncStatus_OUT_OF_SYNC
)

func TestLiveStateShowsServiceTaskSetsAndTasks(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	out := r.look(source{image: "sim/web:v1"}.write(t)).GetApplicationLiveState()
	count := map[string]int{}
	parent := map[string]string{}
	for _, s := range out.GetResources() {
		count[s.GetResourceType()]++
		parent[s.GetResourceType()] = strings.Join(s.GetParentIds(), ",")
		if s.GetDeployTarget() != "dt" || s.GetPluginName() != "ecs" ||
			s.GetHealthStatus() != contract.ResourceState_HEALTHY {
			t.Errorf("%v", s)
		}
	}
	if fmt.Sprint(count) != "map[ECS:Service:1 ECS:Task:2 ECS:TaskSet:1]" || parent["ECS:Service"] != "" ||
		!strings.Contains(parent["ECS:TaskSet"], ":service/prod/web") ||
		!strings.Contains(parent["ECS:Task"], ":task-set/prod/web/") {
		t.Errorf("%v %v", count, parent)
	}
	if out.GetHealthStatus() != contract.ApplicationLiveState_HEALTHY {
		t.Error(out.GetHealthStatus())
	}
}

// What differs is told field by field, AWS's defaults known; the commit plays no
// part.
func TestHazard15DriftIsOfFieldsNotOfCommits(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.begin(source{image: "sim/web:v1"}, source{})
	d.all()
	r.inSync(source{hash: "another"}.write(t), inSync)
	r.inSync(source{task: taskFile + "    essential: true\n"}.write(t), inSync)
	r.inSync(source{image: "sim/web:v3"}.write(t), drifted,
		"task definition containerDefinitions[web].image: is sim/web:v2, should be sim/web:v3")
	got(r.ecs.UpdateService(context.Background(), &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), DesiredCount: aws.Int32(5)}))(t)
	r.inSync(source{}.write(t), inSync)
	r.inSync(source{service: serviceFile + "desiredCount: 2\n"}.write(t), drifted,
		"service desiredCount: is 5, should be 2")
	got(awsaas.NewFromConfig(r.sim.Config()).RegisterScalableTarget(context.Background(),
		&awsaas.RegisterScalableTargetInput{ServiceNamespace: "ecs", ResourceId: aws.String("service/prod/web"),
			ScalableDimension: "ecs:service:DesiredCount", MinCapacity: aws.Int32(2), MaxCapacity: aws.Int32(8)}))(t)
	r.inSync(source{service: serviceFile + "desiredCount: 2\n"}.write(t), inSync) // Application Auto Scaling sets the count
	r.inSync(source{app: appFile("  unknown: 1\n")}.write(t), contract.ApplicationSyncStatus_INVALID_CONFIG,
		`unknown key "unknown"`)
	r.inSync(source{service: strings.Replace(serviceFile, "serviceName: web", "serviceName: none", 1)}.write(t),
		drifted, "there is no service none")
}

// A rolled back application differs from its files; one that is deployed now is
// neither.
func TestLiveStateWithinADeployment(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.usual()
	d.run(d.forward()[0])
	r.inSync(source{}.write(t), contract.ApplicationSyncStatus_DEPLOYING, "has the claim on the service")
	d.run(d.back())
	r.inSync(source{}.write(t), drifted, "containerDefinitions[web].image: is sim/web:v1, should be sim/web:v2")
}

// A claim that no process renews any more is not a deployment: the differences that it left are listed.
func TestLiveStateAfterADeploymentThatDied(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.usual()
	d.run(d.forward()[0])
	r.piped.set(func() { delete(r.piped.known, d.Id) })
	r.inSync(source{image: "sim/web:v1"}.write(t), drifted, "- task set ")
	now := r.sim.View().Now
	for left, want := range map[time.Duration]contract.ApplicationSyncStatus{
		12 * time.Minute: drifted, 16 * time.Minute: contract.ApplicationSyncStatus_DEPLOYING} {
		r.tag("sluice:deployment", "slc-others "+now.Add(left).UTC().Format(time.RFC3339))
		r.restart() // reads are shared for some seconds
		r.inSync(source{}.write(t), want, "")
	}
}

// One DescribeServices takes ten applications along that piped asks for within seconds.
func TestHazard14ReadsAreShared(t *testing.T) {
	t.Parallel()
	services := "\nservices:\n"
	const many = 20
	for i := range many {
		services += fmt.Sprintf("  - {name: web%d, cluster: prod, controller: EXTERNAL, count: 1, image: "+
			"sim/web:v1, port: 80, targetGroup: web-primary}\n", i)
	}
	r := newRig(t, services+quick)
	var sources []*contract.DeploymentSource
	for i := range many {
		sources = append(sources, source{image: "sim/web:v1", service: strings.Replace(serviceFile, "serviceName: web",
			fmt.Sprintf("serviceName: web%d", i), 1)}.write(t))
	}
	calls := r.counted()
	round := func() int {
		before := calls()["ecs:DescribeServices"]
		r.clock.unhurried(func() {
			for _, s := range sources {
				r.look(s)
			}
		})
		return calls()["ecs:DescribeServices"] - before
	}
	round()
	r.pass("1m")
	if n := round(); n > many/10 {
		t.Errorf("%d calls of DescribeServices for %d applications", n, many)
	}
}

// The stages of a preview have the numbers of PipeCD's page, which lists those of all plugins.
func TestPlanPreview(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	env := "    environment: [{name: KEY, value: secret-%s}]\n"
	ask := func(running, target *contract.DeploymentSource) *contract.PlanPreviewResult {
		out := got(r.plugin.preview.GetPlanPreview(context.Background(),
			&contract.GetPlanPreviewRequest{ApplicationId: "app-1", ApplicationName: "web",
				PipedId: "piped-1", DeployTargets: []string{"dt"}, RunningDeploymentSource: running,
				TargetDeploymentSource: target}))(t)
		return out.GetResults()[0]
	}
	v1, v2 := source{image: "sim/web:v1", task: taskFile + fmt.Sprintf(env, "one")}.write(t),
		source{task: taskFile + fmt.Sprintf(env, "two")}.write(t)
	p := ask(v1, v2)
	text := string(p.GetDetails())
	for _, want := range []string{"-  image: sim/web:v1", "+  image: sim/web:v2", "(secret value changed)",
		"#   0 ECS_CANARY_ROLLOUT 50%", "#   1 ECS_TRAFFIC_ROUTING",
		"default rule of port 80: primary 90 / canary 10", "#   2 ANALYSIS, a stage of another plugin",
		"#   3 ECS_PRIMARY_ROLLOUT\n", "#   5 ECS_CANARY_CLEAN\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the preview does not show %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret-") || p.GetSummary() != "2 changes" || p.GetNoChange() ||
		p.GetDeployTarget() != "dt" {
		t.Errorf("%s %t:\n%s", p.GetSummary(), p.GetNoChange(), text)
	}
	if p := ask(v2, v2); !p.GetNoChange() || p.GetSummary() != "0 changes" {
		t.Errorf("%s %t", p.GetSummary(), p.GetNoChange())
	}
	alone := source{app: strings.Replace(appFile(""), "        serviceDefinitionFile: servicedef.yaml\n", "",
		1)}.write(t)
	if text := string(ask(nil, alone).GetDetails()); !strings.Contains(text, "+family: web") ||
		!strings.Contains(text, "#   0 REGISTER") {
		t.Errorf("a standalone task:\n%s", text)
	}
	abroad := source{service: strings.Replace(serviceFile, "cluster: prod",
		"cluster: arn:aws:ecs:eu-west-1:123456789012:cluster/prod", 1)}.write(t)
	if text := string(ask(nil, abroad).GetDetails()); !strings.Contains(text,
		"next: choose a deploy target in eu-west-1, or correct the ARN at servicedef.yaml:1") {
		t.Errorf("a cluster in another Region:\n%s", text)
	}
	if p := ask(nil, v2); p.GetSummary() != "first deployment" || !strings.Contains(string(p.GetDetails()),
		"+serviceName: web") {
		t.Errorf("%s\n%s", p.GetSummary(), p.GetDetails())
	}
}

// A target that another tool registered is drift only in the second live state in a row that has it: one read of
// targets may be older than the tasks that it is compared with.
func TestTargetOfOthersIsDriftWhenSeenTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.begin(source{image: "sim/web:v1"}, source{})
	d.all()
	groups := got(r.elb.DescribeTargetGroups(context.Background(), &awselb.DescribeTargetGroupsInput{
		Names: []string{"web-primary"}}))(t)
	got(r.elb.RegisterTargets(context.Background(), &awselb.RegisterTargetsInput{
		TargetGroupArn: groups.TargetGroups[0].TargetGroupArn,
		Targets:        []elbtypes.TargetDescription{{Id: aws.String("10.9.9.9"), Port: aws.Int32(80), AvailabilityZone: aws.String("all")}}}))(t)
	r.inSync(source{}.write(t), inSync)
	r.inSync(source{}.write(t), drifted, "10.9.9.9")
}

// The live state does not show differences that the file ignores, and shows the others.
func TestLiveStateIgnoresFields(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	app := appFile(pipeline + `  driftDetection: {ignoreFields: ["service#desiredCount", "taskDefinition#executionRoleArn"]}` + "\n")
	more := serviceFile + "desiredCount: 3\n"
	r.inSync(source{image: "sim/web:v1", app: app, service: more}.write(t), inSync)
	r.inSync(source{image: "sim/web:v1", service: more}.write(t), drifted, "service desiredCount: is 2, should be 3")
	r.inSync(source{app: app, service: more}.write(t), drifted, "image: is sim/web:v1, should be sim/web:v2")
}

// Tags of the task definition are compared as the plan compares them: those of the file, and not those that others added.
// A change of a tag alone is a change of the files.
func TestTagsOfTheTaskDefinition(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	tagged := source{image: "sim/web:v1", task: taskFile + "tags: [{key: team, value: shop}]\n"}
	r.inSync(tagged.write(t), drifted, "task definition tags[team]: is none, should be {key: team, value: shop}")
	out := got(r.plugin.DetermineStrategy(context.Background(), &contract.DetermineStrategyRequest{
		Input: r.input(source{image: "sim/web:v1"}.write(t), tagged.write(t))}))(t)
	if out.GetSyncStrategy() != contract.SyncStrategy_PIPELINE || !strings.Contains(out.GetSummary(), "tags[team]") {
		t.Errorf("%s: %s", out.GetSyncStrategy(), out.GetSummary())
	}
	p := got(r.plugin.preview.GetPlanPreview(context.Background(), &contract.GetPlanPreviewRequest{ApplicationId: "app-1",
		ApplicationName: "web", PipedId: "piped-1", DeployTargets: []string{"dt"},
		RunningDeploymentSource: source{image: "sim/web:v1"}.write(t), TargetDeploymentSource: tagged.write(t)}))(t).
		GetResults()[0]
	if p.GetSummary() != "1 change" || !strings.Contains(string(p.GetDetails()), "+- key: team") {
		t.Errorf("%s\n%s", p.GetSummary(), p.GetDetails())
	}
	r.begin(source{image: "sim/web:v1"}, tagged, stagesOf()...).all()
	r.inSync(tagged.write(t), inSync)
	definition := got(r.ecs.DescribeTaskDefinition(context.Background(), &awsecs.DescribeTaskDefinitionInput{
		TaskDefinition: aws.String("web")}))(t).TaskDefinition.TaskDefinitionArn
	tag := func(key, value string) {
		got(r.ecs.TagResource(context.Background(), &awsecs.TagResourceInput{ResourceArn: definition,
			Tags: []ecstypes.Tag{{Key: aws.String(key), Value: aws.String(value)}}}))(t)
	}
	tag("cost-center", "42")
	r.inSync(tagged.write(t), inSync)
	tag("team", "bank")
	r.inSync(tagged.write(t), drifted, "task definition tags[team].value: is bank, should be shop")
	tag("team", "shop")
	r.inSync(tagged.write(t), inSync)
}
