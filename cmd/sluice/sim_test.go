package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// script is what the commands of one script keep.
type script struct {
	keys   []string // of its environment
	sim    *local
	beside map[string]*beside
}

type scriptKey struct{}

func scriptOf(ts *testscript.TestScript) *script { return ts.Value(scriptKey{}).(*script) }

// environ is the script's environment, as far as its names are known.
func environ(ts *testscript.TestScript) []string {
	var all []string
	for _, k := range scriptOf(ts).keys {
		all = append(all, k+"="+ts.Getenv(k))
	}
	return all
}

func (s *script) setenv(ts *testscript.TestScript, key, value string) {
	s.keys = append(s.keys, key)
	ts.Setenv(key, value)
}

// local is a local AWS in this process, on real sockets.
type local struct {
	*awssim.Sim
	at *awssim.Listening
}

// sim starts a local AWS with a world file, and sets what sluice needs to reach
// it. Knobs change the world; "fast" is an AWS that takes no time to start and
// stop tasks.
func sim(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: sim world.yaml [fast|knobs]")
	}
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(args) > 1 {
		data = append(data, "\nknobs: "+strings.Replace(args[1], "fast", "{delays: none}", 1)+"\n"...)
	}
	s, err := awssim.New(awssim.Options{Clock: clock.Scaled(speed), Seed: 1, Speed: speed, Strict: true})
	ts.Check(err)
	ts.Check(s.Load(args[0], data))
	at, err := s.Listen(context.Background(), "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(at.Close)
	state := scriptOf(ts)
	state.sim = &local{s, at}
	for k, v := range map[string]string{
		"AWS_ENDPOINT_URL": at.URL(), "AWS_ACCESS_KEY_ID": s.Account(), "AWS_SECRET_ACCESS_KEY": "sim",
		"AWS_REGION":                        s.Region(),
		"AWS_DISABLE_HOST_PREFIX_INJECTION": "true", "SLUICE_SPEED": strconv.Itoa(speed),
	} {
		state.setenv(ts, k, v)
	}
}

// exported matches a variable that sluice sim prints, balanced the address of a load balancer.
var (
	exported = regexp.MustCompile(`(?:^export | )([A-Z_]+)=(\S+)`)
	balanced = regexp.MustCompile(`(?m)^# load balancer .*: curl (http://\S+)$`)
)

// enter sets the variables that a sluice sim printed.
func enter(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: enter name")
	}
	text := named(ts, args[0]).text()
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "export ") {
			for _, m := range exported.FindAllStringSubmatch(line, -1) {
				scriptOf(ts).setenv(ts, m[1], m[2])
			}
		}
	}
	if m := balanced.FindStringSubmatch(text); m != nil {
		ts.Setenv("BALANCER", m[1])
	}
}

func theSim(ts *testscript.TestScript) *local {
	s := scriptOf(ts).sim
	if s == nil {
		ts.Fatalf("no sim was started")
	}
	return s
}

// inject begins a fault; see package fault for its words.
func inject(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(theSim(ts).Inject(strings.Join(args, " ")))
}

// remove deletes a service as somebody else would.
func remove(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: remove cluster service")
	}
	_, err := awsecs.NewFromConfig(theSim(ts).Config()).DeleteService(context.Background(),
		&awsecs.DeleteServiceInput{Cluster: aws.String(args[0]), Service: aws.String(args[1]), Force: aws.Bool(true)})
	ts.Check(err)
}

// update deploys an image as somebody else would: a revision like the service's
// own with that image, and one UpdateService.
func update(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: update cluster service image|FORCE")
	}
	ctx, api := context.Background(), awsecs.NewFromConfig(theSim(ts).Config())
	in := &awsecs.UpdateServiceInput{Cluster: aws.String(args[0]), Service: aws.String(args[1]),
		ForceNewDeployment: args[2] == "FORCE"}
	if !in.ForceNewDeployment {
		in.TaskDefinition = aws.String(register(ts, api, args[0], args[1], args[2]))
	}
	_, err := api.UpdateService(ctx, in)
	ts.Check(err)
}

func register(ts *testscript.TestScript, api *awsecs.Client, cluster, service, image string) (arn string) {
	ctx := context.Background()
	out, err := api.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String(cluster),
		Services: []string{service}})
	ts.Check(err)
	have, err := api.DescribeTaskDefinition(ctx,
		&awsecs.DescribeTaskDefinitionInput{TaskDefinition: out.Services[0].TaskDefinition})
	ts.Check(err)
	td := have.TaskDefinition
	td.ContainerDefinitions[0].Image = aws.String(image)
	made, err := api.RegisterTaskDefinition(ctx, &awsecs.RegisterTaskDefinitionInput{Family: td.Family,
		NetworkMode: td.NetworkMode, Cpu: td.Cpu, Memory: td.Memory,
		RequiresCompatibilities: td.RequiresCompatibilities, ExecutionRoleArn: td.ExecutionRoleArn,
		ContainerDefinitions: td.ContainerDefinitions})
	ts.Check(err)
	return *made.TaskDefinition.TaskDefinitionArn
}

// history writes a service's deployments as ECS keeps them, newest first:
// "web:2 SUCCESSFUL".
func history(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: history cluster service")
	}
	ctx, api := context.Background(), awsecs.NewFromConfig(theSim(ts).Config())
	list, err := api.ListServiceDeployments(ctx, &awsecs.ListServiceDeploymentsInput{Cluster: aws.String(args[0]),
		Service: aws.String(args[1])})
	ts.Check(err)
	for _, d := range list.ServiceDeployments {
		rev, err := api.DescribeServiceRevisions(ctx,
			&awsecs.DescribeServiceRevisionsInput{ServiceRevisionArns: []string{*d.TargetServiceRevisionArn}})
		ts.Check(err)
		td := *rev.ServiceRevisions[0].TaskDefinition
		fmt.Fprintln(ts.Stdout(), td[strings.LastIndexByte(td, '/')+1:], d.Status)
	}
}

// claim puts the claim of another machine's deployment on a service, or one that has expired.
func claim(ts *testscript.TestScript, neg bool, args []string) {
	expired := len(args) == 4 && args[3] == "expired"
	if neg || len(args) != 3 && !expired {
		ts.Fatalf("usage: claim cluster service deployment|@file [expired]")
	}
	s, id := theSim(ts), args[2]
	if name, ok := strings.CutPrefix(id, "@"); ok {
		id = regexp.MustCompile(`slc-\w+`).FindString(ts.ReadFile(name))
	}
	until := time.Hour
	if expired {
		until = -time.Hour
	}
	value := id + " " + s.View().Now.Add(until).UTC().Format(time.RFC3339)
	_, err := awsecs.NewFromConfig(s.Config()).TagResource(context.Background(), &awsecs.TagResourceInput{
		ResourceArn: aws.String("arn:aws:ecs:" + s.Region() + ":" + s.Account() + ":service/" + args[0] + "/" +
			args[1]),
		Tags: []ecstypes.Tag{{Key: aws.String("sluice:deployment"), Value: aws.String(value)}}})
	ts.Check(err)
}

func clearFaults(ts *testscript.TestScript, neg bool, args []string) { theSim(ts).ClearFaults() }

// url is where a load balancer takes requests.
func (l *local) url(ts *testscript.TestScript, name string) string {
	for _, r := range l.View().Regions {
		for _, lb := range r.LoadBalancers {
			if lb.Name == name && len(lb.Listeners) > 0 && lb.Listeners[0].Bound != "" {
				return "http://" + lb.Listeners[0].Bound + "/"
			}
		}
	}
	ts.Fatalf("there is no load balancer %s that listens", name)
	return ""
}
