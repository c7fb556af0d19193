package awssim_test

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"

	"github.com/sluice-ecs/sluice/awssim"
)

func TestTheWorldOfCodeDeploy(t *testing.T) {
	file, err := os.ReadFile("../examples/codedeploy/world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := newSim(t, awssim.Options{Clock: newHands()})
	load(t, s, string(file))
	cd, aas := awscd.NewFromConfig(s.Config()), awsaas.NewFromConfig(s.Config())
	g, err := cd.GetDeploymentGroup(ctx, &awscd.GetDeploymentGroupInput{ApplicationName: aws.String("web"),
		DeploymentGroupName: aws.String("web")})
	if err != nil {
		t.Fatal(err)
	}
	x := g.DeploymentGroupInfo
	pair := x.LoadBalancerInfo.TargetGroupPairInfoList[0]
	if *pair.TargetGroups[0].Name != "web-blue" || !strings.HasSuffix(pair.TestTrafficRoute.ListenerArns[0],
		"fedcba9876543210") ||
		x.BlueGreenDeploymentConfiguration.TerminateBlueInstancesOnDeploymentSuccess.TerminationWaitTimeInMinutes != 1 || *x.DeploymentConfigName != "CodeDeployDefault.ECSAllAtOnce" {
		t.Errorf("%+v", x)
	}
	out, err := aas.DescribeScalableTargets(ctx, &awsaas.DescribeScalableTargetsInput{ServiceNamespace: "ecs"})
	if err != nil || len(out.ScalableTargets) != 1 || *out.ScalableTargets[0].ResourceId != "service/prod/web" {
		t.Errorf("%+v, %v", out, err)
	}
	v := s.View().Regions[0]
	if len(v.Functions) != 4 || len(v.Scalable) != 1 || v.Scalable[0].Max != 8 || len(v.Deployments) != 0 ||
		v.Clusters[0].Services[0].Desired != 4 {
		t.Errorf("%+v", v)
	}
}

func TestDeploymentsInTheWorldFileAreChecked(t *testing.T) {
	const head = "clusters: [prod]\n"
	for text, file := range map[string]string{
		`world.yaml:3: functions[0].result: "explode" is neither`: "functions:\n  - {name: f, result: explode}\n",
		"world.yaml:4: applications[0].groups[0]: needs a name": "applications:\n  - name: a\n    groups: " +
			"[{name: g}]\n",
		"deploymentConfigs[0].every: 1m30s is not whole minutes": "deploymentConfigs: [{name: c, canary: 10, " +
			"every: 90s}]\n",
		`scalableTargets[0].suspended: "up" is neither`: "scalableTargets: [{service: s, suspended: " +
			"[up]}]\n",
		"scalableTargets[0]: ValidationException: ECS service does": "scalableTargets: [{service: s, min: 1, max: " +
			"2}]\n",
		"listener: \"web:80\" is not a listener of this file": "applications:\n  - {name: a, groups: [{name: " +
			"g, service: s, targetGroups: [x, y], listener: \"web:80\"}]}\n",
	} {
		s := newSim(t, awssim.Options{Clock: newHands()})
		if err := s.Load("world.yaml", []byte(head+file)); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
}

func TestCodeDeployIsThrottledWhereAsked(t *testing.T) {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	load(t, s, "clusters: [prod]\nknobs: {throttle: true}\n")
	cd := awscd.NewFromConfig(s.Config(), func(o *awscd.Options) { o.Retryer = aws.NopRetryer{} })
	list := func() (n int) {
		for range 50 {
			if _, err := cd.ListApplications(ctx, &awscd.ListApplicationsInput{}); err == nil {
				n++
			} else if !strings.Contains(err.Error(), "ThrottlingException") {
				t.Fatal(err)
			}
		}
		return n
	}
	if n := list(); n != 20 {
		t.Errorf("%d of 50 at once", n)
	}
	clock.move(time.Second)
	if n := list(); n != 10 {
		t.Errorf("%d a second later", n)
	}
}

func TestDemandIsSetByAUser(t *testing.T) {
	file, err := os.ReadFile("../examples/codedeploy/world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock})
	load(t, s, string(file))
	post := func(body string) (int, string) {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest("POST", "http://127.0.0.1/_sluice/demand",
			strings.NewReader(body)))
		return w.Code, w.Body.String()
	}
	if code, text := post("prod/web 300\nprod/none 1\n"); code != 400 ||
		!strings.Contains(text, `line 2: there is no service "prod/none"`) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := post("prod/web much\n"); code != 400 || !strings.Contains(text, `"much" is not a percentage`) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := post("prod/web 400\n"); code != 204 {
		t.Errorf("%d %s", code, text)
	}
	for range 5 {
		clock.move(time.Minute)
		s.World().Advance()
	}
	if n := s.View().Regions[0].Clusters[0].Services[0].Desired; n != 8 {
		t.Errorf("desired %d", n)
	}
}
