package history

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// A deployment that a return stops is changed: it is rolled back.
func TestAStoppedDeploymentIsAChange(t *testing.T) {
	live := plan.AWSState{Service: serving("web:2"), Account: "123456789012", Region: "us-east-1"}
	back := Return{To: "web:1", Stop: "service-deployment/a",
		Definition: &ecstypes.TaskDefinition{Family: aws.String("web"), Revision: 1}}
	p, err := MakeReturn("prod", live, back)
	if err != nil {
		t.Fatal(err)
	}
	if c := p.Changes[len(p.Changes)-1]; c.Path != back.Stop || c.Kind != plan.Alters {
		t.Errorf("%+v", c)
	}
}

// past is "web:2 SUCCESSFUL" as an entry of a history.
func past(entries ...string) []plan.PastDeployment {
	var all []plan.PastDeployment
	for i, e := range entries {
		revision, status, _ := strings.Cut(e, " ")
		p := plan.PastDeployment{ARN: "service-deployment/" + string(rune('a'+i)), Status: status}
		if revision != "-" {
			p.Revision = &ecstypes.ServiceRevision{TaskDefinition: aws.String(
				"arn:aws:ecs:us-east-1:123456789012:task-definition/" + revision)}
		}
		all = append(all, p)
	}
	return all
}

func serving(revision string, changes ...func(*ecstypes.Service)) *ecstypes.Service {
	s := &ecstypes.Service{ServiceName: aws.String("web"), Status: aws.String("ACTIVE"),
		TaskDefinition: aws.String("arn:aws:ecs:us-east-1:123456789012:task-definition/" + revision)}
	for _, c := range changes {
		c(s)
	}
	return s
}

func TestBack(t *testing.T) {
	for name, c := range map[string]struct {
		service *ecstypes.Service
		past    []plan.PastDeployment
		to      string
		want    string // "<revision> stop <arn>", "nothing: …", "error: …"
	}{
		"the last that succeeded, not the lower number": {serving("web:5"),
			past("web:5 SUCCESSFUL", "web:4 ROLLBACK_SUCCESSFUL", "web:3 SUCCESSFUL", "web:2 SUCCESSFUL"), "", "web:3"},
		"a newer one that is not served any more": {serving("web:2"),
			past("web:2 SUCCESSFUL", "web:7 SUCCESSFUL"), "", "web:7"},
		"the same revision deployed twice": {serving("web:2"), past("web:2 SUCCESSFUL", "web:2 SUCCESSFUL",
			"web:1 SUCCESSFUL"), "", "web:1"},
		"cut off and not taken back": {serving("web:3"), past("web:3 STOPPED", "web:2 SUCCESSFUL"),
			"", "web:2"},
		"one runs": {serving("web:3"),
			past("web:3 IN_PROGRESS", "web:2 SUCCESSFUL", "web:1 SUCCESSFUL"), "", "web:2 stop service-deployment/a"},
		"tasks were replaced since": {serving("web:2"), past("web:2 SUCCESSFUL", "web:2 SUCCESSFUL", "web:3 STOPPED",
			"web:1 SUCCESSFUL"), "", "web:1"},
		"the replacement of tasks was rolled back": {serving("web:2"), past("web:2 ROLLBACK_SUCCESSFUL", "web:2 SUCCESSFUL",
			"web:1 SUCCESSFUL"), "", "web:1"},
		"tasks were replaced after ECS's rollback": {serving("web:2"), past("web:2 SUCCESSFUL",
			"web:3 ROLLBACK_SUCCESSFUL", "web:2 SUCCESSFUL", "web:1 SUCCESSFUL"), "",
			"nothing: ECS already rolled back web:3; web:2 is the running version"},
		"tasks are being replaced": {serving("web:2"), past("web:2 IN_PROGRESS", "web:2 SUCCESSFUL", "web:1 SUCCESSFUL"),
			"", "web:1 stop service-deployment/a"},
		"rolled back before": {serving("web:1"), past("web:1 SUCCESSFUL", "web:1 SUCCESSFUL", "web:2 SUCCESSFUL",
			"web:1 SUCCESSFUL"), "", "nothing: web:1 runs again: it had served before web:2, which it replaced. To deploy " +
			"web:2, run sluice rollback --cluster prod --service web --to web:2"},
		"the version that was left is deployed again": {serving("web:3"), past("web:3 SUCCESSFUL", "web:2 SUCCESSFUL",
			"web:3 SUCCESSFUL", "web:2 SUCCESSFUL", "web:1 SUCCESSFUL"), "", "web:2"},
		"rolled back with a new deployment": {serving("web:2"), past("web:2 SUCCESSFUL", "web:3 STOPPED", "web:2 SUCCESSFUL",
			"web:1 SUCCESSFUL"), "", "nothing: web:2 runs again: it had served before web:3, which it replaced. To deploy " +
			"web:3, run sluice rollback --cluster prod --service web --to web:3"},
		"one of the same revision runs": {serving("web:2"), past("web:2 PENDING", "web:2 SUCCESSFUL"),
			"", "web:2 stop service-deployment/a"},
		"one is being taken back": {serving("web:2"),
			past("web:3 ROLLBACK_IN_PROGRESS", "web:2 SUCCESSFUL"), "", "web:2 stop service-deployment/a"},
		"one runs, what was is older than the history": {serving("web:3", func(s *ecstypes.Service) {
			s.Deployments = []ecstypes.Deployment{{Status: aws.String("PRIMARY"), TaskDefinition: aws.String("web:3")},
				{Status: aws.String("ACTIVE"), RolloutState: ecstypes.DeploymentRolloutStateCompleted,
					TaskDefinition: aws.String("x/web:1")}}
		}), past("web:3 IN_PROGRESS"), "", "web:1 stop service-deployment/a"},
		"the first runs": {serving("web:1"), past("web:1 IN_PROGRESS"), "",
			"error: no other successful revision"},
		"taken back by ECS already": {serving("web:2"), past("web:3 ROLLBACK_SUCCESSFUL", "web:2 SUCCESSFUL",
			"web:1 SUCCESSFUL"), "", "nothing: ECS already rolled back web:3; web:2 is the running version"},
		"no other succeeded": {serving("web:2"), past("web:2 SUCCESSFUL", "web:1 STOPPED"), "",
			"error: no other successful revision"},
		"no history at all": {serving("web:2"), nil, "", "error: no other successful revision"},
		"its revision is forgotten": {serving("web:2"), past("web:2 SUCCESSFUL", "- SUCCESSFUL"), "",
			"error: no other successful revision"},
		"one named": {serving("web:2"), past("web:2 SUCCESSFUL"), "web:9", "web:9"},
		"one named while another runs": {serving("web:2"), past("web:2 IN_PROGRESS", "web:1 SUCCESSFUL"), "web:1",
			"web:1"},
		"there is no service": {nil, nil, "", "error: the service does not exist"},
		"deleted": {serving("web:2",
			func(s *ecstypes.Service) { s.Status = aws.String("DRAINING") }), nil, "",
			"error: the service is DRAINING"},
		"task sets keep no history": {serving("web:2",
			func(s *ecstypes.Service) { s.DeploymentController = &ecstypes.DeploymentController{Type: "EXTERNAL"} }),
			nil, "", "error: no deployment is unfinished. ECS keeps no history for controller EXTERNAL"},
		"task sets of an unfinished deployment": {serving("web:2", func(s *ecstypes.Service) {
			s.DeploymentController = &ecstypes.DeploymentController{Type: "EXTERNAL"}
			s.TaskSets = []ecstypes.TaskSet{{Status: aws.String("PRIMARY")}, {Status: aws.String("ACTIVE")}}
		}), nil, "", "error: roll the service back (prod/web): ECS keeps no history for controller EXTERNAL"},
		"a claim on task sets": {serving("web:2", func(s *ecstypes.Service) {
			s.DeploymentController = &ecstypes.DeploymentController{Type: "EXTERNAL"}
			s.Tags = []ecstypes.Tag{{Key: aws.String(plan.ClaimTag)}}
		}), nil, "", "error: roll the service back (prod/web): ECS keeps no history for controller EXTERNAL"},
		"attributes alone are different": {serving("web:2", func(s *ecstypes.Service) {
			s.LoadBalancers = []ecstypes.LoadBalancer{{TargetGroupArn: aws.String("arn:aws:elasticloadbalancing:us-east-1:123456789012:" +
				"targetgroup/web-primary/0123456789abcdef")}}
		}), past("web:2 SUCCESSFUL", "web:1 SUCCESSFUL"), "", "web:2"},
	} {
		t.Run(name, func(t *testing.T) {
			back, err := ChooseReturn("prod", c.service, c.past, c.to)
			got := back.To
			if back.Stop != "" {
				got += " stop " + back.Stop
			}
			if back.Nothing != "" {
				got = "nothing: " + back.Nothing
			}
			if err != nil {
				got = "error: " + err.Error()
			}
			if wrong, ok := strings.CutPrefix(c.want, "error: "); ok && !strings.Contains(got, wrong) || !ok &&
				got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if err != nil && (sluice.KindOf(err) != sluice.NotFound || sluice.NextStep(err) == "") {
				t.Errorf("kind %q, next %q", sluice.KindOf(err), sluice.NextStep(err))
			}
		})
	}
}

// AWS deploys no revision that was deregistered: the plan registers a copy of it.
func TestReturnToADeregisteredRevisionRegistersACopy(t *testing.T) {
	for status, want := range map[ecstypes.TaskDefinitionStatus]bool{ecstypes.TaskDefinitionStatusActive: false,
		ecstypes.TaskDefinitionStatusInactive: true, ecstypes.TaskDefinitionStatusDeleteInProgress: true} {
		live := plan.AWSState{Service: serving("web:2"), Account: "123456789012", Region: "us-east-1"}
		p, err := MakeReturn("prod", live, Return{To: "web:1",
			Definition: &ecstypes.TaskDefinition{Family: aws.String("web"), Revision: 1, Status: status}})
		if err != nil {
			t.Fatal(err)
		}
		registers := p.Stages[0].MayWrite(sluice.Write{Operation: "ecs:RegisterTaskDefinition", Resource: "web"})
		if registers != want || (p.To == "web:1") == want {
			t.Errorf("%s: the plan deploys %s, and registers a copy: %t", status, p.To, registers)
		}
	}
}

// A copy of a revision is the same version, as a rollback registers it for a revision that was deregistered.
func TestACopyIsTheSameVersion(t *testing.T) {
	for current, c := range map[string]struct {
		past        []plan.PastDeployment
		to, nothing string
	}{
		"web:4": {past("web:4 SUCCESSFUL", "web:3 SUCCESSFUL", "web:2 SUCCESSFUL", "web:1 SUCCESSFUL"), "",
			"web:4 (equal to web:2) runs again: it had served before web:3, which it replaced. To deploy web:3, run sluice " +
				"rollback --cluster prod --service web --to web:3"},
		"web:3": {past("web:3 SUCCESSFUL", "web:4 SUCCESSFUL", "web:3 SUCCESSFUL", "web:2 SUCCESSFUL"), "web:4", ""},
		"web:5": {past("web:5 SUCCESSFUL", "web:4 SUCCESSFUL", "web:3 SUCCESSFUL", "web:2 SUCCESSFUL"), "web:4", ""},
	} {
		for i, p := range c.past {
			image := "sim/web:" + p.RevisionName()
			if p.RevisionName() == "web:4" || p.RevisionName() == "web:2" {
				image = "sim/web:v2"
				c.past[i].Content = "2"
			}
			c.past[i].Revision.ContainerImages = []ecstypes.ContainerImage{{ContainerName: aws.String("web"), Image: &image}}
		}
		if names := SharingImages(c.past); strings.Join(names, " ") != "web:2 web:4" {
			t.Errorf("%s: %q may be copies, want web:2 and web:4", current, names)
		}
		back, err := ChooseReturn("prod", serving(current), c.past, "")
		if err != nil || back.To != c.to || back.Nothing != c.nothing {
			t.Errorf("%s: a return to %q, nothing %q, %v; want to %q, nothing %q", current, back.To, back.Nothing, err, c.to,
				c.nothing)
		}
	}
}
