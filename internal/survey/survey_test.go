package survey_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/signedread"
	"github.com/sluice-ecs/sluice/internal/survey"
	"github.com/sluice-ecs/sluice/internal/verify"
)

// bench is the world of an example and its application.
type bench struct {
	*testing.T
	clock   *clock.Virtual
	faults  *awssim.Sim
	sim     aws.Config
	elb     *awselb.Client
	account *account.Account
	app     *appfile.Application
}

// onExample calls f with the world and the application of an example. No write is permitted.
func onExample(t *testing.T, name, file string, f func(*bench)) {
	t.Helper()
	v := clock.NewVirtual(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	dir := filepath.Join("../../examples", name)
	text, err := os.ReadFile(filepath.Join(dir, "world.yaml"))
	check(t, err)
	v.Run(func() {
		sim, err := awssim.New(awssim.Options{Clock: v, Seed: 1, Strict: true, Direct: true})
		check(t, err)
		check(t, sim.Load("world.yaml", text))
		b := &bench{T: t, clock: v, faults: sim, sim: sim.Config(), elb: awselb.NewFromConfig(sim.Config())}
		b.account, err = account.Open(context.Background(), account.Config{Region: sim.Region(),
			Credentials: sim.Config().Credentials, EndpointURL: awssim.Endpoint, HTTPClient: sim.HTTPClient(),
			APIOptions: sim.APIOptions(), Clock: v})
		check(t, err)
		b.app, err = appfile.Load(os.DirFS(dir), file, nil)
		check(t, err)
		f(b)
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) read() plan.AWSState {
	b.Helper()
	live, err := survey.ReadInputs(context.Background(), b.account, b.clock, b.app)
	check(b.T, err)
	return live
}

// summary is the state in one line, without identifiers that the world draws.
func summary(l plan.AWSState) string {
	s := []string{l.Account + "/" + l.Region}
	if l.Service != nil {
		s = append(s, fmt.Sprintf("service %s %s desired %d", *l.Service.ServiceName, l.Service.DeploymentController.Type,
			l.Service.DesiredCount))
	}
	if l.Definition != nil {
		s = append(s, "runs "+sluice.RevisionOf(*l.Definition.TaskDefinitionArn))
	}
	for _, g := range []*plan.GroupAttachment{l.Primary, l.Canary} {
		if g != nil {
			s = append(s, fmt.Sprintf("%s %d of %d healthy", g.Name, g.Healthy, g.Targets))
		}
	}
	if n := len(l.Steered) + len(l.Extend); n > 0 {
		s = append(s, fmt.Sprintf("rules %d steered, %d to extend", len(l.Steered), len(l.Extend)))
	}
	if l.Registry != nil {
		s = append(s, "name "+l.Registry.FullName())
	}
	if l.Deployer != nil {
		s = append(s, "group "+l.Deployer.Group)
	}
	if l.Scaling != nil {
		s = append(s, fmt.Sprintf("%d scalable targets", len(l.Scaling.Targets)))
	}
	return strings.Join(s, "; ")
}

func TestInputsOfEachKindOfDeployment(t *testing.T) {
	for _, c := range []struct{ example, file, want string }{
		{"canary", "sluice.yaml", "123456789012/us-east-1; service web EXTERNAL desired 4; runs web:1; " +
			"web-primary 4 of 4 healthy; web-canary 0 of 0 healthy; rules 1 steered, 0 to extend; 0 scalable targets"},
		{"beside-rolling", "sluice.yaml", "123456789012/us-east-1; service web ECS desired 4; runs web:1; " +
			"web 4 of 4 healthy; web-canary 0 of 0 healthy; rules 0 steered, 1 to extend; 0 scalable targets"},
		{"discovery", "sluice.yaml", "123456789012/us-east-1; service api ECS desired 4; runs api:1; " +
			"name api.shop.local; 0 scalable targets"},
		{"codedeploy", "sluice.yaml", "123456789012/us-east-1; service web CODE_DEPLOY desired 4; runs web:1; " +
			"group web"},
		{"job", "sluice.yaml", "123456789012/us-east-1"},
	} {
		onExample(t, c.example, c.file, func(b *bench) {
			if got := summary(b.read()); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.example, got, c.want)
			}
		})
	}
}

func TestTheServingRevisionIsFoundBelowANewerOne(t *testing.T) {
	onExample(t, "rolling", "sluice.yaml", func(b *bench) {
		ctx, c := context.Background(), awsecs.NewFromConfig(b.sim)
		register := func(image string) string {
			in := *b.app.Task.Input
			in.ContainerDefinitions = slices.Clone(in.ContainerDefinitions)
			in.ContainerDefinitions[0].Image = &image
			out, err := c.RegisterTaskDefinition(ctx, &in)
			check(t, err)
			return *out.TaskDefinition.TaskDefinitionArn
		}
		arn := register(*b.app.Task.Input.ContainerDefinitions[0].Image)
		_, err := c.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"), Service: aws.String("web"),
			TaskDefinition: &arn})
		check(t, err)
		register("sim/web:v7")
		if got := b.read().Identical; got != "web:2" {
			t.Errorf("%q, want web:2, which serves", got)
		}
		_, err = c.DeregisterTaskDefinition(ctx, &awsecs.DeregisterTaskDefinitionInput{TaskDefinition: &arn})
		check(t, err)
		if got := b.read().Identical; got != "" {
			t.Errorf("%q, which is INACTIVE: no deployment can use it", got)
		}
	})
}

func TestAResourceOfAnotherRegionIsRefused(t *testing.T) {
	onExample(t, "canary", "sluice.yaml", func(b *bench) {
		b.app.Canary.ARN = strings.Replace(b.app.Canary.ARN, "us-east-1", "eu-west-1", 1)
		_, err := survey.ReadInputs(context.Background(), b.account, b.clock, b.app)
		if err == nil || !strings.Contains(err.Error(), "the ARN is in Region eu-west-1") {
			t.Errorf("read: %v", err)
		}
	})
}

// edited is the application of an example after replacements in its files, each as "file: old => new".
func (b *bench) edited(example string, edits ...string) *appfile.Application {
	b.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"sluice.yaml", "taskdef.yaml", "servicedef.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../examples", example, name))
		check(b.T, err)
		for _, edit := range edits {
			file, change, _ := strings.Cut(edit, ": ")
			if old, now, _ := strings.Cut(change, " => "); file == name || file == "*" {
				text = []byte(strings.ReplaceAll(string(text), old, now))
			}
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	app, err := appfile.Load(files, "sluice.yaml", nil)
	check(b.T, err)
	return app
}

// All ARNs that are elsewhere are told at once with their lines. If all are in one Region, the calls are what is wrong.
func TestAllResourcesOfAnotherRegionAreToldAtOnce(t *testing.T) {
	onExample(t, "canary", "sluice.yaml", func(b *bench) {
		_, err := survey.ReadInputs(t.Context(), b.account, b.clock, b.edited("canary", "*: us-east-1 => us-west-2"))
		b.wantError("all", err, "servicedef.yaml:3: ", "the ARN is in Region us-west-2, but the requested Region is us-east-1; "+
			"ARNs of another Region are also at sluice.yaml:10, sluice.yaml:14",
			"next: set --region us-west-2, or correct the ARNs at these lines")
		_, err = survey.ReadInputs(t.Context(), b.account, b.clock, b.edited("canary", "sluice.yaml: us-east-1 => us-west-2"))
		b.wantError("some", err, "sluice.yaml:10: ", "are also at sluice.yaml:14\nnext: correct the ARNs at these lines")
	})
	onExample(t, "native", "sluice.yaml", func(b *bench) {
		_, err := survey.ReadInputs(t.Context(), b.account, b.clock,
			b.edited("native", "servicedef.yaml: us-east-1:123456789012:listener-rule => eu-west-1:123456789012:listener-rule"))
		b.wantError("rule", err, "servicedef.yaml:17: ", "the ARN is in Region eu-west-1",
			"next: correct the ARN at servicedef.yaml:17")
	})
}

// AWS would refuse a listener rule of a strategy only after the task definition is registered.
func TestWhatAStrategyNamesMustExist(t *testing.T) {
	onExample(t, "native", "sluice.yaml", func(b *bench) {
		b.app = b.edited("native", "servicedef.yaml: def/0123456789abcdef/0123456789abcdef => def/0123456789abcdef/fedcba9876543210")
		_, err := b.planned()
		b.wantError("rule", err, "servicedef.yaml:17: plan (productionListenerRule, listener rule of web): it does not exist",
			"next: correct its ARN: aws elbv2 describe-rules --listener-arn arn:aws:elasticloadbalancing:us-east-1:123456789012:"+
				"listener/app/web/0123456789abcdef/0123456789abcdef")
		b.app = b.edited("native", "servicedef.yaml: listener-rule/app/web/0123456789abcdef/0123456789abcdef/0123456789abcdef"+
			" => listener/app/web/0123456789abcdef/0123456789abcdef")
		_, err = b.planned()
		b.wantError("a listener", err, "servicedef.yaml:17: plan (productionListenerRule, listener of web): an Application Load "+
			"Balancer needs a listener rule here; that listener has rule arn:aws:elasticloadbalancing:us-east-1:123456789012:"+
			"listener-rule/app/web/0123456789abcdef/0123456789abcdef/0123456789abcdef", "next: write the ARN of the rule")
		check(t, b.faults.Inject("denied elasticloadbalancing:DescribeRules"))
		_, err = b.planned()
		b.wantError("a listener whose rules may not be read", err, "needs a listener rule here",
			"next: name a rule of it that forwards to the target group: aws elbv2 describe-rules --listener-arn arn:")
		b.faults.ClearFaults()
		b.app = b.edited("native", "servicedef.yaml: listener-rule/app/web/0123456789abcdef/0123456789abcdef/0123456789abcdef"+
			" => listener/app/web/0123456789abcdef/1123456789abcdef")
		_, err = b.planned()
		b.wantError("listener", err, "servicedef.yaml:17: ", "listener of web): it does not exist",
			"next: correct its ARN: aws elbv2 describe-load-balancers")
	})
	onExample(t, "nlb", "sluice.yaml", func(b *bench) { // AWS wants the listener itself there
		b.app.Service.Input.LoadBalancers = []ecstypes.LoadBalancer{{TargetGroupArn: &b.app.Primary.ARN,
			AdvancedConfiguration: &ecstypes.AdvancedConfiguration{ProductionListenerRule: aws.String(
				"arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/net/web/0123456789abcdef/0123456789abcdef")}}}
		b.wantFinding(verify.OK, "", "productionListenerRule, ", "")
	})
}

// AWS would refuse the rule of a canary whose group has stickiness when the first requests are shifted, also if no rule names
// the group yet.
func TestStickinessOfACanaryGroupThatNoRuleNames(t *testing.T) {
	onExample(t, "beside-rolling", "sluice.yaml", func(b *bench) {
		set := func(key, value string) {
			_, err := b.elb.ModifyTargetGroupAttributes(t.Context(), &awselb.ModifyTargetGroupAttributesInput{
				TargetGroupArn: &b.app.Canary.ARN, Attributes: []elbtypes.TargetGroupAttribute{{Key: &key, Value: &value}}})
			check(t, err)
		}
		_, err := b.planned()
		check(t, err)
		set("stickiness.type", "lb_cookie")
		set("stickiness.enabled", "true")
		_, err = b.planned()
		b.wantError("sticky", err, "target group web-canary has stickiness and the default rule of port 80 has none",
			"set stickiness.enabled to false on the target group")
	})
}

// UpdateService changes neither the role nor the scheduling strategy of a service, so they are no changes of a plan.
func TestMembersThatOnlyANewServiceHas(t *testing.T) {
	onExample(t, "rolling", "sluice.yaml", func(b *bench) {
		b.app = b.edited("rolling", "servicedef.yaml: launchType: FARGATE => launchType: FARGATE\n"+
			"role: arn:aws:iam::123456789012:role/other", "taskdef.yaml: sim/web:v2 => sim/web:v1")
		p, err := b.planned()
		check(t, err)
		const want = "servicedef.yaml:5: role stays arn:aws:iam::123456789012:role/aws-service-role/ecs.amazonaws.com/" +
			"AWSServiceRoleForECS, not arn:aws:iam::123456789012:role/other: ECS sets it only when it creates a service. Correct it in " +
			"the service definition, or leave it out"
		if got := p.Warnings; !slices.Contains(got, want) {
			t.Errorf("got the warnings %q, want one %q", got, want)
		}
		if i := slices.IndexFunc(p.Changes, func(c plan.Change) bool { return c.Path == "role" }); i >= 0 {
			t.Errorf("the role is a change: %v", p.Changes)
		}
		b.wantFinding(verify.Error, "servicedef.yaml:5", "service role other: it does not exist", "create the role")
	})
}

// AWS accepts what keeps tasks from serving; the plan and verify warn about it at its line.
func TestDoubtsAboutATaskDefinition(t *testing.T) {
	for edit, want := range map[string]string{
		"image: sim/web:v2 => image: sim/web:v2\n    healthCheck: {command: [CMD-SHELL, curl, -f, localhost]}": "taskdef.yaml:12: task " +
			"definition: healthCheck.command of container web has several entries after CMD-SHELL, and the shell runs only the " +
			"first. Next: write the whole command as one entry, or begin with CMD",
		"containerDefinitions: => containerDefinitions:\n  - {name: log, image: sim/web:v2} & taskdef.yaml: essential: true => " +
			"essential: false": "taskdef.yaml:13: task definition: container web " +
			"gets the requests of a load balancer, and ECS keeps a task in which it has ended. Next: set essential: true, or remove it",
		"awslogs-region: us-east-1 => awslogs-region: us-eats-1": "taskdef.yaml:20: log group /ecs/web: us-eats-1 is not a Region " +
			"that sluice knows, and tasks whose log it is do not start. Next: correct the Region's name: us-east-1 exists",
	} {
		onExample(t, "rolling", "sluice.yaml", func(b *bench) {
			b.app = b.edited("rolling", strings.Split("taskdef.yaml: "+edit, " & ")...)
			p, err := b.planned()
			check(t, err)
			if got := p.Warnings; !slices.Contains(got, want) {
				t.Errorf("%s: got the warnings %q, want %q", edit, got, want)
			}
			place, text, _ := strings.Cut(want, ": ")
			text, next, _ := strings.Cut(text, ". Next: ")
			b.wantFinding(verify.Warning, place, text, next)
		})
	}
}

// A slow program does not start any more without the grace period that the service had.
func TestAGracePeriodThatIsLeftOut(t *testing.T) {
	onExample(t, "rolling", "sluice.yaml", func(b *bench) {
		_, err := awsecs.NewFromConfig(b.sim).UpdateService(t.Context(), &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("web"), HealthCheckGracePeriodSeconds: aws.Int32(120)})
		check(t, err)
		for edit, isWarned := range map[string]bool{
			"": true, "servicedef.yaml: serviceName: web => serviceName: web\nhealthCheckGracePeriodSeconds: 0": false,
			"servicedef.yaml: serviceName: web => serviceName: web\nhealthCheckGracePeriodSeconds: 120": false,
		} {
			b.app = b.edited("rolling", edit)
			p, err := b.planned()
			check(t, err)
			const want = "the service definition leaves out healthCheckGracePeriodSeconds, and the deployment sets it from 120 to 0: " +
				"ECS stops tasks that are not healthy yet while they start. To keep it, add healthCheckGracePeriodSeconds: 120 to the " +
				"service definition"
			if got := slices.Contains(p.Warnings, want); got != isWarned {
				t.Errorf("%q: got the warnings %q, want one about the grace period: %v", edit, p.Warnings, isWarned)
			}
		}
	})
}

// A task set without a network would be refused after the task definition is registered. ECS keeps the network of a service
// that it rolls.
func TestTasksWithAnAddressNeedANetwork(t *testing.T) {
	const network = "networkConfiguration:\n  awsvpcConfiguration:\n    subnets:\n      - subnet-0123456789abcdef0\n" +
		"      - subnet-0123456789abcdef1\n      - subnet-0123456789abcdef2\n    assignPublicIp: DISABLED"
	for _, example := range []string{"canary", "rolling"} {
		onExample(t, example, "sluice.yaml", func(b *bench) {
			b.app = b.edited(example, "servicedef.yaml: "+network+" => ")
			_, err := b.planned()
			if example == "rolling" {
				check(t, err)
				b.wantFinding(verify.OK, "", "network: the service keeps its own", "")
				b.app.Service.Input.ServiceName = aws.String("new")
				_, err = b.planned()
			}
			b.wantError(example, err, "taskdef.yaml:4: plan (network): tasks with network mode awsvpc need subnets",
				"next: set networkConfiguration in servicedef.yaml")
			b.wantFinding(verify.Error, "taskdef.yaml:4", "network: tasks with", "set networkConfiguration")
		})
	}
}

// A misspelt application or deployment group of CodeDeploy is told at its line, with the one that exists.
func TestAMisspeltDeploymentGroupIsToldAtItsLine(t *testing.T) {
	for edit, want := range map[string][]string{
		"sluice.yaml: applicationName: web => applicationName: wbe": {"sluice.yaml:8: find CodeDeploy's application (wbe): ",
			"; there is web", "next: correct codedeploy.applicationName: web exists"},
		"sluice.yaml: deploymentGroupName: web => deploymentGroupName: wbe": {"sluice.yaml:9: find deployment group (web/wbe): ",
			"; there is web", "next: correct codedeploy.deploymentGroupName: web exists"},
	} {
		onExample(t, "codedeploy", "sluice.yaml", func(b *bench) {
			b.app = b.edited("codedeploy", edit)
			b.wantError(edit, b.read().DeployerErr, want...)
			b.wantFinding(verify.Error, want[0], want[1], want[2])
		})
	}
}

// CodeDeploy would refuse a configuration that does not exist after the task definition is registered.
func TestTheDeploymentConfigurationMustExist(t *testing.T) {
	onExample(t, "codedeploy", "sluice.yaml", func(b *bench) {
		b.app = b.edited("codedeploy", "sluice.yaml: deploymentConfigName: Half => deploymentConfigName: Haf")
		_, err := b.planned()
		b.wantError("missing", err, "sluice.yaml:10: plan (deployment configuration Haf): CodeDeploy has no such configuration "+
			"in this account and Region; there is CodeDeployDefault.ECSAllAtOnce", "next: correct codedeploy.deploymentConfigName: "+
			"Half exists")
		b.wantFinding(verify.Error, "sluice.yaml:10", "CodeDeploy has no such configuration", "Half exists")
		check(t, b.faults.Inject("denied codedeploy:GetDeploymentConfig"))
		p, err := b.planned()
		check(t, err)
		if got := fmt.Sprint(p.Notes); !strings.Contains(got, "not checked: deployment configuration Haf: it cannot be read: ") {
			t.Errorf("a configuration that may not be read: got the notes %s", got)
		}
		b.app = b.edited("codedeploy", "sluice.yaml: Name: Half => Name: CodeDeployDefault.ECSCanary10Percent5Minutes")
		p, err = b.planned()
		check(t, err)
		if got := fmt.Sprint(p.Notes); strings.Contains(got, "not checked: deployment configuration") {
			t.Errorf("a predefined configuration was read: got the notes %s", got)
		}
	})
}

// wantFinding requires that sluice verify has a finding with these texts in its place, detail and next step.
func (b *bench) wantFinding(status verify.Status, place, detail, next string) {
	b.Helper()
	place, _, _ = strings.Cut(place, ": ")
	next = strings.TrimPrefix(next, "next: ")
	from := verify.Open(b.account, "123456789012", func(context.Context, string) (signedread.Reader, error) {
		return signedread.Reader{}, errors.New("another Region is not read")
	})
	all, err := verify.Run(b.Context(), b.app, from, noRegistry{}, verify.Options{})
	check(b.T, err)
	for _, f := range all {
		if f.Status == status && f.Place == place && strings.Contains(f.Subject+": "+f.Detail, detail) && strings.Contains(f.Next, next) {
			return
		}
	}
	b.Errorf("verify: no finding %s at %q has %q and %q; got %+v", status, place, detail, next, all)
}

// noRegistry has every image.
type noRegistry struct{}

func (noRegistry) Platforms(context.Context, definition.Image) ([]string, error) {
	return []string{"linux/amd64"}, nil
}

// A cluster that does not exist may be in another account: the credentials of that account are what lacks.
func TestTheClusterOfAnotherAccountIsNotCreated(t *testing.T) {
	for example, want := range map[string]string{"rolling": "taskdef.yaml:8: ", "codedeploy": "servicedef.yaml:8: "} {
		onExample(t, example, "sluice.yaml", func(b *bench) {
			app := b.edited(example, "*: 123456789012 => 000000000000")
			if app.Cluster = "elsewhere"; example == "rolling" {
				app.Service.Input.LoadBalancers = nil // only the role shows the account
			}
			_, err := survey.ReadInputs(t.Context(), b.account, b.clock, app)
			b.wantError(example, err, want, "the ARN is of account 000000000000, but the credentials are of account 123456789012",
				"next: use credentials of account 000000000000 (--profile, --assume-role), or correct the ARN")
		})
	}
	onExample(t, "codedeploy", "sluice.yaml", func(b *bench) {
		b.app.Cluster = "prdo"
		_, err := survey.ReadInputs(t.Context(), b.account, b.clock, b.app)
		b.wantError("codedeploy", err, "the cluster does not exist in Region us-east-1, which has prod",
			"next: correct the cluster's name: prod exists")
	})
}

// AWS would only say that a resource of another account does not exist.
func TestAResourceOfAnotherAccountIsRefused(t *testing.T) {
	onExample(t, "canary", "sluice.yaml", func(b *bench) {
		b.app.Service.Input.Cluster = aws.String("arn:aws:ecs:us-east-1:000000000000:cluster/prod")
		_, err := survey.ReadInputs(context.Background(), b.account, b.clock, b.app)
		b.wantError("cluster", err, "the ARN is of account 000000000000, but the credentials are of account 123456789012",
			"next: correct the ARN in the files")
	})
}

// A target counts as one of others only if two reads show it.
func TestTargetsOfOthersAreReadTwice(t *testing.T) {
	for name, c := range map[string]struct {
		stays time.Duration // 0: for ever
		want  int
	}{
		"a target that stays":                    {0, 1},
		"a target that leaves between the reads": {2 * time.Second, 0},
	} {
		onExample(t, "canary", "sluice.yaml", func(b *bench) {
			ctx, group := context.Background(), aws.String(b.app.Primary.ARN)
			target := []elbtypes.TargetDescription{{Id: aws.String("10.9.9.9"), Port: aws.Int32(80), AvailabilityZone: aws.String("all")}}
			_, err := b.elb.RegisterTargets(ctx, &awselb.RegisterTargetsInput{TargetGroupArn: group, Targets: target})
			check(t, err)
			if c.stays > 0 {
				b.clock.Go(func() {
					_ = b.clock.Sleep(ctx, c.stays)
					_, err := b.elb.DeregisterTargets(ctx,
						&awselb.DeregisterTargetsInput{TargetGroupArn: group, Targets: target})
					if err != nil {
						t.Error(err)
					}
				})
			}
			if got := b.read().Foreign; len(got) != c.want {
				t.Errorf("%s: targets of others %v, want %d", name, got, c.want)
			}
		})
	}
}

// A gate without its alarm would hold a deployment whose canary gets requests already.
func TestTheAlarmOfAGateMustExist(t *testing.T) {
	onExample(t, "canary", "sluice.yaml", func(b *bench) {
		api := awscw.NewFromConfig(b.sim)
		_, err := api.PutMetricAlarm(t.Context(), &awscw.PutMetricAlarmInput{AlarmName: aws.String("web-5xx-high"),
			Namespace: aws.String("shop"), MetricName: aws.String("errors"), Statistic: cwtypes.StatisticSum,
			Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(1),
			ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold})
		check(t, err)
		of := func(gate string) *appfile.Application {
			return b.edited("canary", "sluice.yaml: {duration: 10s} => {duration: 10m, gates: ["+gate+"]}")
		}
		b.app = of("{alarm: web-5xx-hihg}")
		_, err = b.planned()
		b.wantError("missing", err, "sluice.yaml:25: plan (alarm web-5xx-hihg): it does not exist, so gate web-5xx-hihg cannot "+
			"judge; there is web-5xx-high", "next: correct its name: web-5xx-high exists")
		live := b.read()
		if _, err := mode.Make(b.app, live, mode.Options{QuickSync: true}); err != nil {
			t.Errorf("a deployment without the pipeline: got the error %v, want none", err)
		}
		for gate, want := range map[string]string{
			"{alarm: web-5xx-high}":                "[]",
			"{alarm: web-5xx-hihg, dryRun: true}":  "[alarm web-5xx-hihg 1]",
			"{alarm: web-5xx-hihg, onError: pass}": "[alarm web-5xx-hihg 1]",
		} {
			b.app = of(gate)
			var got []string
			for _, p := range b.read().Problems {
				got = append(got, fmt.Sprint(p.Resource, " ", p.Level))
			}
			if fmt.Sprint(got) != want {
				t.Errorf("gate %s: got the problems %v, want %v", gate, got, want)
			}
		}
		_, err = api.SetAlarmState(t.Context(), &awscw.SetAlarmStateInput{AlarmName: aws.String("web-5xx-high"),
			StateValue: cwtypes.StateValueAlarm, StateReason: aws.String("a test")})
		check(t, err)
		b.app = of("{alarm: web-5xx-high}")
		p, err := b.planned()
		check(t, err)
		if got := fmt.Sprint(p.Warnings); !strings.Contains(got, "it is in ALARM already, so gate web-5xx-high fails") {
			t.Errorf("an alarm in ALARM: got the warnings %s", got)
		}
		check(t, b.faults.Inject("denied cloudwatch:DescribeAlarms"))
		p, err = b.planned()
		check(t, err)
		if got := fmt.Sprint(p.Notes); !strings.Contains(got, "not checked: alarms web-5xx-high: it cannot be read: ") {
			t.Errorf("alarms that may not be read: got the notes %s", got)
		}
	})
}
