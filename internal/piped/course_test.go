package piped_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	awsworld "github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/piped"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// course is a way that a deployment can take in piped. What is said of the world,
// the files and the image is said as in the other tests.
type course struct {
	world    string
	target   source
	stages   []*contract.BuildPipelineSyncStagesRequest_StageConfig // none: quick sync
	back     int                                                    // rolled back when so many stages are done; 0: not
	again    bool                                                   // the files were deployed before
	taskless bool                                                   // and all their tasks died since, until the service is updated
}

// courses are all ways that the plugin knows.
func courses() map[string]course {
	crash := "sim/web:v2?healthy-after=1h&crash-after=2s&exit=3"
	quickly := appFile("")
	names := byName(appFile(pipeline))
	all := map[string]course{
		"task sets":                    {world: external, stages: stagesOf()},
		"task sets, a crash":           {world: external, target: source{image: crash}, stages: stagesOf()},
		"task sets, quick":             {world: external},
		"task sets, quick, a crash":    {world: external, target: source{image: crash}},
		"task sets, with auto scaling": {world: autoscaled, target: suspending(), stages: stagesOf()},
		"beside":                       {world: rolling, target: source{service: rollingFile}, stages: stagesOf()},
		"beside, a crash": {world: rolling, target: source{service: rollingFile, image: crash},
			stages: stagesOf()},
		"rolling": {world: rolling, target: source{app: quickly, service: rollingFile}},
		"rolling, a crash": {world: rolling, target: source{app: quickly, service: rollingFile,
			image: crash}},
		"rolling, back": {world: rolling, target: source{app: quickly, service: rollingFile}, back: 1},
		"by name": {world: named, target: source{app: names, service: serviceFile + registry},
			stages: stagesOf()},
		"CodeDeploy": {world: shifted, target: source{app: quickly, service: shiftedFile()}},
		"CodeDeploy, back": {world: shifted, target: source{app: quickly, service: shiftedFile()},
			back: 1},
		"standalone": {target: source{app: standalone(), task: jobFile(),
			image: "sim/web:v1-crash-after-3s-exit-0"}},
		"standalone, a task that fails": {target: source{app: standalone(), task: jobFile(),
			image: "sim/web:v1-crash-after-3s-exit-3"}},
		"task sets, unchanged":  {world: external, target: source{app: quickly}, again: true},
		"rolling, unchanged":    {world: rolling, target: source{app: quickly, service: rollingFile}, again: true},
		"CodeDeploy, unchanged": {world: shifted, target: source{app: quickly, service: shiftedFile()}, again: true},
		"the first deployment":  {target: source{service: serviceFile + "desiredCount: 2\n"}},
	}
	for name, c := range stepCourses() {
		all[name] = c
	}
	for _, name := range []string{"task sets", "task sets, with auto scaling", "beside", "by name"} {
		for n := 1; n <= 5; n++ {
			back := all[name]
			back.back = n
			all[fmt.Sprintf("%s, rolled back after stage %d", name, n)] = back
		}
	}
	return all
}

// stepCourses are the ways of a deployment with tasks before and after its stages.
func stepCourses() map[string]course {
	const ends = "crash-after-3s-exit-"
	network := strings.Replace(serviceFile, "deploymentController: {type: EXTERNAL}\n", "", 1)
	pipeline, quickly := appFile(pipeline), appFile("")
	return map[string]course{
		"task sets, with steps": {world: external, target: withSteps(source{app: pipeline}, ends+"0", ends+"0"),
			stages: stagesOf()},
		"rolling, with steps": {world: rolling, target: withSteps(source{app: quickly, service: network}, ends+"0",
			ends+"0")},
		"standalone, with steps": {target: withSteps(source{app: standalone(), task: jobFile(),
			image: "sim/web:v1-crash-after-3s-exit-0"}, ends+"0", ends+"0")},
		"the first deployment, with steps": {target: withSteps(source{app: pipeline,
			service: serviceFile + "desiredCount: 2\n"}, ends+"0", ends+"0")},
		"task sets, a step before fails": {world: external,
			target: withSteps(source{app: pipeline}, ends+"3", ends+"0"), stages: stagesOf()},
		"the first deployment, a step before fails": {target: withSteps(source{app: pipeline,
			service: serviceFile + "desiredCount: 2\n"}, ends+"3", ends+"0")},
		"rolling, a step after fails": {world: rolling,
			target: withSteps(source{app: quickly, service: network}, ends+"0", ends+"3")},
		"task sets, a step after fails and rolls back": {world: external,
			target: withSteps(source{app: pipeline}, ends+"0", ends+"3, rollback: true"), stages: stagesOf()},
	}
}

// withSteps adds a task before the stages and one after them, each with the end of its image.
func withSteps(s source, before, after string) source {
	after, options, _ := strings.Cut(after, ",")
	if options != "" {
		options = "," + options
	}
	s.app = strings.Replace(s.app, "      input:\n", fmt.Sprintf(`      input:
        before: [{name: migrate, taskDefinitionFile: before.yaml}]
        after: [{name: smoke, taskDefinitionFile: after.yaml%s}]
`, options), 1)
	s.more = map[string]string{}
	for name, end := range map[string]string{"before": before, "after": after} {
		s.more[name+".yaml"] = strings.NewReplacer("family: web", "family: "+name, "IMAGE", "sim/web:v1-"+end).
			Replace(taskFile)
	}
	return s
}

// played is what came of a course.
type played struct {
	ends                 []string // of stages, in order
	stands               string
	failed               float64 // requests
	calls, writes, saves int     // of the first process
	log                  string
}

// same tells whether two courses came to the same end.
func (p played) same(o played) bool {
	return slices.Equal(p.ends, o.ends) && p.stands == o.stands && p.failed == o.failed
}

func (p played) String() string {
	return fmt.Sprintf("%s\n  %s\n  %.1f requests failed", strings.Join(p.ends, ", "), p.stands, p.failed)
}

// stand is a world without sockets, in virtual time, with piped's side and a plugin
// that dies once.
type stand struct {
	*rig
	course
	time  clock.Clock
	life  *life
	first *life
	at    []point // of the lives to come
	away  func() time.Duration
	entry string
	lost  func() float64 // requests
}

// dawn lies after the machine's now, against which the SDK holds credentials.
func dawn() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }

// play plays a course with a plugin that dies at a point, and is started again; then
// at the next, counted from there.
func (c course) play(t *testing.T, at ...point) (out played) {
	t.Helper()
	v := clock.NewVirtual(dawn())
	v.Run(func() { out = c.lay(t, v).play(at, func() time.Duration { return 5 * time.Second }) })
	return out
}

func (c course) lay(t *testing.T, v clock.Clock) *stand {
	t.Helper()
	sim := got(awssim.New(awssim.Options{Clock: v, Seed: 1, Strict: true, Direct: true}))(t)
	must(t, sim.Load("world.yaml", []byte(world+c.world)))
	cfg := sim.Config()
	s := &stand{course: c, time: v, rig: &rig{TB: t, sim: sim, ecs: awsecs.NewFromConfig(cfg),
		elb: awselb.NewFromConfig(cfg), piped: bareFake()}}
	s.entry = `{"name":"ecs","url":"file:///plugin","port":1,"deployTargets":[{"name":"dt","config":{"region":"us-east-1"}}]}`
	s.call()
	return s
}

// call lets callers call from now on, if anybody is there.
func (s *stand) call() {
	if s.world == "" {
		s.lost = func() float64 { return 0 }
		return
	}
	key := awsworld.Key{Account: s.sim.Account(), Region: s.sim.Region()}
	if strings.Contains(s.world, "namespaces") {
		t := loadgen.AttachByName(s.sim.World(), s.sim.Registry(), loadgen.NameCaller{Key: key, Namespace: "shop.local",
			Service: "api", Port: 80, Rate: 100})
		s.lost = func() float64 { return t.Report().Failed }
		return
	}
	t := loadgen.Attach(s.sim.World(), s.sim.Balancer(),
		loadgen.Caller{Key: key, Balancer: s.sim.View().Regions[0].LoadBalancers[0].ARN, Port: 80,
			Request: loadbalancer.Request{Method: "GET", Scheme: "http", Host: "web", Path: "/"}, Rate: 100})
	s.lost = func() float64 { return t.Report().Failed }
}

// born starts the plugin.
func (s *stand) born() {
	l := &life{real: s.time, fake: s.rig.piped, inject: func(fault string) { must(s, s.sim.Inject(fault)) }}
	if len(s.at) > 0 {
		l.at, s.at = s.at[0], s.at[1:]
	}
	if s.first == nil {
		s.first = l
	}
	s.life = l
	s.plugin = &process{DeploymentServiceClient: here{plugin: piped.NewPlugin(s, s.entry, l, s.connect, l)}}
}

func (s *stand) connect(ctx context.Context) (*account.Account, error) {
	cfg := s.sim.Config()
	return account.Open(ctx, account.Config{Region: cfg.Region, Credentials: cfg.Credentials,
		EndpointURL: awssim.Endpoint, HTTPClient: s.sim.HTTPClient(),
		Clock: s.life, APIOptions: append([]func(*middleware.Stack) error{},
			append(s.sim.APIOptions(), s.life.middleware)...)})
}

func (s *stand) play(at []point, away func() time.Duration) (out played) {
	if s.again {
		s.born()
		s.begin(s.target, s.target).all()
		s.first = nil
	}
	if s.taskless {
		must(s, s.sim.Inject("no-capacity prod"))
		must(s, s.sim.Inject("task-crash web count=2"))
		_ = s.time.Sleep(context.Background(), time.Minute)
	}
	s.at, s.away = at, away
	s.born()
	if s.taskless {
		s.life.wrote = func(operation string) {
			if operation == "UpdateService" {
				s.sim.ClearFaults()
			}
		}
	}
	was := s.target
	was.image = "sim/web:v1"
	d := s.begin(was, s.target, s.course.stages...)
	if s.world == "" && !strings.Contains(s.target.app, "runStandaloneTask") {
		d.running = nil
	}
	back := false
	for i, st := range d.forward() {
		status := s.insist(d, st)
		out.ends = append(out.ends, st.GetName()+" "+status.String())
		if back = status != contract.StageStatus_STAGE_SUCCESS || s.back == i+1 || s.first.over; back {
			break
		}
	}
	if back {
		out.ends = append(out.ends, "ECS_ROLLBACK "+s.insist(d, d.back()).String())
	}
	out.failed = s.lost()
	s.sim.ClearFaults()
	_ = s.time.Sleep(context.Background(), time.Minute)
	out.calls, out.writes, out.saves = s.first.calls, s.first.writes, s.first.saves
	out.stands = s.stands()
	for _, st := range d.Stages {
		out.log += st.GetName() + ":\n" + s.rig.piped.text(st.GetId()) + "\n"
	}
	for _, w := range s.rig.piped.wrong {
		s.Errorf("piped would refuse: %s", w)
	}
	return out
}

// insist has a stage executed, and again by a plugin that was started again if it
// was killed, as piped does.
func (s *stand) insist(d *deployment, st *contract.PipelineStage) contract.StageStatus {
	for {
		status, died := s.attempt(d, st)
		if !died {
			return status
		}
		_ = s.time.Sleep(context.Background(), s.away())
		s.born()
	}
}

func (s *stand) attempt(d *deployment, st *contract.PipelineStage) (status contract.StageStatus, died bool) {
	defer func() {
		if r := recover(); r != nil {
			rest(r)
			died = true
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.life.cancel = cancel
	status, err := d.execute(ctx, st)
	if err != nil {
		s.Errorf("%s: %v", st.GetName(), err)
	}
	return status, s.life.dead
}

// stands is all that a deployment could leave: services and task sets, weights, tags,
// revisions, tasks that were run, records of names, and what scales.
func (s *stand) stands() string {
	all := []string{s.state(), fmt.Sprintf("%d revisions, %d tasks were run", len(s.family("web"))+len(s.family("job")),
		s.ran())}
	for _, c := range s.sim.View().Regions[0].Clusters {
		for _, svc := range c.Services {
			if svc.Status != "INACTIVE" {
				all = append(all, fmt.Sprintf("%s %s of %d, tags %v", svc.Name, svc.Status, svc.Desired,
					s.tagsOf(svc.Name)))
			}
		}
	}
	if strings.Contains(s.world, "namespaces") {
		n := len(s.found())
		s.only(s.found())
		all = append(all, fmt.Sprintf("%d are found", n))
	}
	if strings.Contains(s.world, "scalableTargets") {
		all = append(all, s.targets())
	}
	return strings.Join(all, "; ")
}

// only wants every address that is found to be a running task's.
func (s *stand) only(found []string) {
	for _, at := range found {
		if !slices.Contains(append(s.addresses("sim/web:v1"), s.addresses("sim/web:v2")...), at) {
			s.Errorf("%s is found, and nobody is there", at)
		}
	}
}

func (s *stand) family(name string) []string {
	return got(s.ecs.ListTaskDefinitions(context.Background(),
		&awsecs.ListTaskDefinitionsInput{FamilyPrefix: aws.String(name)}))(s).TaskDefinitionArns
}

func (s *stand) ran() (n int) {
	for _, family := range []string{"job", "before", "after"} {
		n += len(got(s.ecs.ListTasks(context.Background(), &awsecs.ListTasksInput{Cluster: aws.String("prod"),
			Family: aws.String(family), DesiredStatus: "STOPPED"}))(s).TaskArns)
	}
	return n
}
