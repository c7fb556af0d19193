package cli

import (
	"context"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// edited returns the files of an example with a change of one: each edit is "old|new".
func edited(t *testing.T, example, file string, edits ...string) fstest.MapFS {
	t.Helper()
	files := exampleFiles(t, example)
	text := string(files[file].Data)
	for _, e := range edits {
		old, new, _ := strings.Cut(e, "|")
		if !strings.Contains(text, old) {
			t.Fatalf("%s of %s has no %q", file, example, old)
		}
		text = strings.Replace(text, old, new, 1)
	}
	files[file] = &fstest.MapFile{Data: []byte(text)}
	return files
}

// follow makes the calls of the only command on the screen that the pattern matches.
func (b *diagnosisBench) follow(pattern string) {
	b.Helper()
	found := regexp.MustCompile(pattern).FindAllString(b.out.String(), -1)
	if len(found) != 1 {
		b.Errorf("%d commands match %q, want 1:\n%s", len(found), pattern, &b.out)
		return
	}
	if err := runAWS(b.sim, found[0]); err != nil {
		b.Errorf("the printed command fails: %v", err)
	}
	b.out.Reset()
}

// AWS refuses the switch to EXTERNAL of a service with a circuit breaker or with alarms.
func TestAdvisedSwitchOfTheControllerWorks(t *testing.T) {
	noMachine(t)
	files := edited(t, "rolling", "servicedef.yaml", "serviceName: web|serviceName: web\ndeploymentController: {type: EXTERNAL}")
	screen := playInWorld(t, files, exampleWorld(t, "rolling"), func(b *diagnosisBench) {
		b.sluice("plan", "/app")
		b.follow(`aws ecs update-service .*'`)
		b.sluice("plan", "/app")
	})
	if strings.Contains(screen, "but the file requests EXTERNAL") {
		t.Errorf("after the command the service does not have the controller EXTERNAL:\n%s", screen)
	}
}

// The printed command creates the missing group of the canary with the primary's settings, for each type of load balancer.
func TestAdvisedTargetGroupIsLikeThePrimary(t *testing.T) {
	noMachine(t)
	for example, change := range map[string]*awselb.ModifyTargetGroupInput{
		"canary": {Matcher: &elbtypes.Matcher{HttpCode: aws.String("200,204")}, HealthCheckPort: aws.String("8081")},
		"nlb":    {},
	} {
		t.Run(example, func(t *testing.T) {
			files := edited(t, example, "sluice.yaml", "targetgroup/web-canary|targetgroup/other")
			playInWorld(t, files, exampleWorld(t, example), func(b *diagnosisBench) {
				elb := awselb.NewFromConfig(b.sim.Config())
				change.TargetGroupArn = aws.String(
					"arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-primary/0123456789abcdef")
				if _, err := elb.ModifyTargetGroup(context.Background(), change); err != nil {
					b.Error(err)
				}
				b.sluice("plan", "/app")
				b.follow(`aws elbv2 create-target-group .*`)
				primary, delay := groupNamed(b, elb, "web-primary")
				other, otherDelay := groupNamed(b, elb, "other")
				if !reflect.DeepEqual(primary, other) || delay != otherDelay {
					t.Errorf("the created group is %+v with a delay of %s, want that of the primary: %+v, %s", other, otherDelay,
						primary, delay)
				}
			})
		})
	}
}

// groupNamed returns a target group without its name, ARN and load balancers, and its deregistration delay.
func groupNamed(b *diagnosisBench, elb *awselb.Client, name string) (g elbtypes.TargetGroup, delay string) {
	b.Helper()
	ctx := context.Background()
	out, err := elb.DescribeTargetGroups(ctx, &awselb.DescribeTargetGroupsInput{Names: []string{name}})
	if err != nil || len(out.TargetGroups) != 1 {
		b.Errorf("target group %s: %v", name, err)
		return g, ""
	}
	g = out.TargetGroups[0]
	all, err := elb.DescribeTargetGroupAttributes(ctx, &awselb.DescribeTargetGroupAttributesInput{TargetGroupArn: g.TargetGroupArn})
	if err != nil {
		b.Error(err)
		return g, ""
	}
	for _, a := range all.Attributes {
		if *a.Key == "deregistration_delay.timeout_seconds" {
			delay = *a.Value
		}
	}
	g.TargetGroupName, g.TargetGroupArn, g.LoadBalancerArns = nil, nil, nil
	return g, delay
}

// Health checks of a port that no container has fail for every target. plan and verify name both ports, and a command.
func TestAdvisedHealthCheckPortWorks(t *testing.T) {
	noMachine(t)
	for example, group := range map[string]string{"canary": "web-primary", "rolling": "web"} {
		for _, command := range []string{"plan", "verify"} {
			t.Run(example+"/"+command, func(t *testing.T) {
				const why = "its health checks go to port 9999, and the containers have port 80"
				playInWorld(t, exampleFiles(t, example), exampleWorld(t, example), func(b *diagnosisBench) {
					_, err := awselb.NewFromConfig(b.sim.Config()).ModifyTargetGroup(context.Background(),
						&awselb.ModifyTargetGroupInput{HealthCheckPort: aws.String("9999"), TargetGroupArn: aws.String(
							"arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/" + group + "/0123456789abcdef")})
					if err != nil {
						b.Error(err)
					}
					_ = b.clock.Sleep(context.Background(), time.Minute) // until the targets fail their checks
					b.sluice(command, "/app")
					if !strings.Contains(b.out.String(), "target group "+group+": "+why) {
						t.Errorf("%s printed this, want %q:\n%s", command, why, &b.out)
					}
					b.follow(`aws elbv2 modify-target-group .* traffic-port`)
					b.sluice(command, "/app")
					if strings.Contains(b.out.String(), why) {
						t.Errorf("after the command %s printed this:\n%s", command, &b.out)
					}
				})
			})
		}
	}
}

// A canary group that drains or is checked at another pace than the primary's is named, with all differences in one line.
func TestPlanNamesOtherPaceOfTheCanaryGroup(t *testing.T) {
	noMachine(t)
	const want = "the canary target group web-canary differs from the primary: deregistration delay 300 s, not 10 s; " +
		"health check interval 30 s, not 5 s; healthy threshold 5, not 2."
	screen := playInWorld(t, exampleFiles(t, "canary"), exampleWorld(t, "canary"), func(b *diagnosisBench) {
		ctx, elb := context.Background(), awselb.NewFromConfig(b.sim.Config())
		arn := aws.String("arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-canary/fedcba9876543210")
		_, err := elb.ModifyTargetGroup(ctx, &awselb.ModifyTargetGroupInput{TargetGroupArn: arn,
			HealthCheckIntervalSeconds: aws.Int32(30), HealthyThresholdCount: aws.Int32(5)})
		if err != nil {
			b.Error(err)
		}
		_, err = elb.ModifyTargetGroupAttributes(ctx, &awselb.ModifyTargetGroupAttributesInput{TargetGroupArn: arn,
			Attributes: []elbtypes.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"),
				Value: aws.String("300")}}})
		if err != nil {
			b.Error(err)
		}
		b.sluice("plan", "/app")
	})
	if strings.Count(screen, want) != 1 {
		t.Errorf("plan printed this, want once %q:\n%s", want, screen)
	}
}
