package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/signedread"
	"github.com/sluice-ecs/sluice/internal/upkeep"
	"github.com/sluice-ecs/sluice/internal/validate"
)

// AWS reads from one account and Region.
type AWS struct {
	Account, Region string

	Existing upkeep.Existing
	// Alarms returns the alarms with these names, in their order.
	Alarms func(ctx context.Context, names []string) ([]metrics.Alarm, error)
	// AlarmNames returns the names of all alarms.
	AlarmNames func(ctx context.Context) ([]string, error)
	Read       signedread.Reader
	CodeDeploy codedeploy.Client
	// HasNetwork reports whether the service runs and has a network of its own.
	HasNetwork func(ctx context.Context, cluster, service string) (bool, error)
	// ServingTasks returns the running tasks of the service that serve.
	ServingTasks func(ctx context.Context, cluster, service string) ([]ecs.Task, error)
	// ReadIn reads from another Region.
	ReadIn func(ctx context.Context, region string) (signedread.Reader, error)
}

// in returns the reader of a Region.
func (a AWS) in(ctx context.Context, region string) (signedread.Reader, error) {
	if region == "" || region == a.Region {
		return a.Read, nil
	}
	return a.ReadIn(ctx, region)
}

// Registry reads from registries of images that are not ECR.
type Registry interface {
	// Platforms returns the platforms of an image, such as "linux/amd64".
	Platforms(ctx context.Context, image definition.Image) ([]string, error)
}

// Options are what to check.
type Options struct {
	// Secrets reads the values of secrets of which a container gets one JSON key, and checks the key.
	Secrets bool
}

// checker is one run of the checks.
type checker struct {
	findings
	aws      AWS
	registry Registry
	options  Options
	app      *appfile.Application
	task     *awsecs.RegisterTaskDefinitionInput
	// isDeployment: a plan checks what its deployment changes.
	isDeployment bool
	tasks        int32                    // the desired count of the running service; 0: it is not known
	serving      *ecstypes.TaskDefinition // the revision that serves; nil: there is none, or it is not known
	images       map[definition.Image]signedread.ReadImage
	cluster      struct {
		isRead bool
		is     upkeep.Cluster
		err    error
	}
}

// Open returns the reads of an account, whose ID is given. readIn reads from another Region.
func Open(a *account.Account, id string, readIn func(context.Context, string) (signedread.Reader, error)) AWS {
	readService := func(ctx context.Context, cluster, service string) (*ecstypes.Service, error) {
		now, err := ecs.Service{API: a.ECS(), Cluster: cluster, Name: service}.Observe(ctx)
		if err != nil || !now.IsActive() {
			return nil, err
		}
		return &now.Raw, nil
	}
	return AWS{Account: id, Region: a.Region(),
		Alarms: func(ctx context.Context, names []string) ([]metrics.Alarm, error) {
			return metrics.ReadAlarms(ctx, a.CloudWatch(), names)
		},
		AlarmNames: func(ctx context.Context) ([]string, error) { return metrics.ListAlarms(ctx, a.CloudWatch()) },
		HasNetwork: func(ctx context.Context, cluster, service string) (bool, error) {
			now, err := readService(ctx, cluster, service)
			return now != nil && now.NetworkConfiguration != nil, err
		},
		ServingTasks: func(ctx context.Context, cluster, service string) ([]ecs.Task, error) {
			now, err := readService(ctx, cluster, service)
			if err != nil || now == nil {
				return nil, err
			}
			return ecs.Service{API: a.ECS(), Cluster: cluster, Name: service}.ServingTasks(ctx, *now)
		},
		Existing:   upkeep.Existing{ECS: a.ECS(), ELB: a.ELB(), IAM: account.IAM(a), Logs: a.Logs()},
		CodeDeploy: codedeploy.Client{API: a.CodeDeploy()}, Read: signedread.Reader{Sender: a}, ReadIn: readIn}
}

// at sets the place of the next findings: where the files give a text as one of these members, or as any.
func (c *checker) at(text string, members ...string) { c.place = c.app.PlaceOfText(text, members...) }

func newChecker(app *appfile.Application, from AWS) *checker {
	return &checker{aws: from, app: app, task: app.Task.Input, images: map[definition.Image]signedread.ReadImage{}}
}

// Run checks the resources that the files of an application name. It returns an error only if ctx has ended.
func Run(ctx context.Context, app *appfile.Application, from AWS, registry Registry, o Options) ([]Finding, error) {
	c := newChecker(app, from)
	c.registry, c.options = registry, o
	if c.checkElsewhere() {
		return c.all, nil
	}
	for _, check := range []func(context.Context){c.checkCluster, c.checkRoles, c.checkDoubts, c.checkImages, c.checkSecrets,
		c.checkLogRegions, c.checkLogGroups, c.checkEnvironmentFiles, c.checkTargetGroups, c.checkListenerRules,
		c.requireNetwork, c.checkNetwork, c.checkHooks, c.checkProviders, c.checkAlarms, c.checkGateAlarms,
		c.checkDeploymentGroup, c.checkDeploymentConfig, c.checkHostPorts, c.checkTags} {
		c.place = ""
		if check(ctx); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return c.all, nil
}

// checkCluster requires a cluster that is ACTIVE.
func (c *checker) checkCluster(ctx context.Context) {
	name := c.app.ClusterRef()
	c.at(name, "cluster", "clusterArn")
	subject := "cluster " + lastPart(name, "/")
	cluster, err := c.readCluster(ctx)
	if !c.judge(subject, err, "it does not exist in "+c.aws.Region, "create it, or correct the cluster in the files") {
		return
	}
	if cluster.Status != "ACTIVE" {
		c.fail(subject, "it is "+cluster.Status, "create it again, or name another cluster")
		return
	}
	c.ok(subject, "")
}

// containers calls f for each container of the task definition.
func (c *checker) containers(f func(d ecstypes.ContainerDefinition)) {
	for _, d := range c.task.ContainerDefinitions {
		f(d)
	}
}

// checkDoubts warns about what AWS accepts in the task definition and is probably not meant.
func (c *checker) checkDoubts(context.Context) {
	var served []string
	if c.app.Service != nil {
		for _, b := range c.app.Service.Input.LoadBalancers {
			served = append(served, aws.ToString(b.ContainerName))
		}
	}
	for _, g := range []*appfile.TargetGroup{c.app.Primary, c.app.Canary} {
		if g != nil {
			served = append(served, g.Container)
		}
	}
	for _, p := range validate.Doubts(c.app.Task, served) {
		c.place = fmt.Sprintf("%s:%d", p.File, p.Line)
		c.warn("task definition", p.Message, p.Next)
	}
}

// runsOnFargate reports whether tasks run on Fargate, as far as the files say.
func (c *checker) runsOnFargate() bool {
	return slices.Contains(c.task.RequiresCompatibilities, ecstypes.CompatibilityFargate)
}

// lastPart returns the part of a text after the last separator.
func lastPart(text, separator string) string { return text[strings.LastIndex(text, separator)+1:] }

// arn is a parsed ARN.
type arn struct{ service, region, account, resource string }

var errNoARN = errors.New("it is not an ARN")

func parseARN(text string) (arn, error) {
	parts := strings.SplitN(text, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" {
		return arn{}, fmt.Errorf("%s: %w", text, errNoARN)
	}
	return arn{parts[2], parts[3], parts[4], parts[5]}, nil
}
