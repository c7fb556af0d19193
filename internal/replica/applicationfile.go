package replica

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// Names of the files of an application.
const (
	TaskFile    = "taskdef.json"
	ServiceFile = "servicedef.json"
	SluiceFile  = "sluice.yaml"
	PipeCDFile  = "app.pipecd.yaml"

	EcspressoFile        = "ecspresso.yml"
	EcspressoTaskFile    = "ecs-task-def.json"
	EcspressoServiceFile = "ecs-service-def.json"
)

// Setup is what an application file says of a service.
type Setup struct {
	Name, Region    string
	Cluster         string // empty: default
	Controller      string // ECS, EXTERNAL or CODE_DEPLOY
	Access          sluice.Access
	Primary, Canary *SetupGroup // nil: none
	// CanaryExists is false if no target group of the canary is known: then Canary has an ARN that
	// only the local AWS has.
	CanaryExists    bool
	Application     string // of CodeDeploy
	DeploymentGroup string
	// CreateCanary is the command that creates the target group of the canary like the primary's; empty: unknown.
	CreateCanary string
	Pipeline     Pipeline
	// NoCanary says why the service cannot have a canary; empty: it can have one.
	NoCanary string
}

// Pipeline is the way of deploying that an application file asks for.
type Pipeline string

// Ways of deploying. The zero value is a canary if everything for one exists, and otherwise rolling.
const (
	CanaryPipeline    Pipeline = "canary"
	BlueGreenPipeline Pipeline = "blue-green"
	RollingPipeline   Pipeline = "rolling" // no stages
)

// Choose returns the setup with a pipeline. groups are those that were read: the canary's target group, if it does not
// exist, is created like the primary's of them. It returns an error if the service cannot have that pipeline.
func (s Setup) Choose(p Pipeline, groups []alb.GroupCopy) (Setup, error) {
	s.Pipeline = p
	switch p {
	case "":
		return s, nil
	case RollingPipeline:
		s.Canary = nil
		return s, nil
	}
	if s.NoCanary != "" {
		return s, &sluice.Error{Op: "sluice init", Resource: s.Name,
			Err:  fmt.Errorf("the service cannot have --pipeline %s: %s", p, s.NoCanary),
			Next: "leave --pipeline out"}
	}
	if s.Primary == nil || s.CanaryExists {
		return s, nil
	}
	s.Canary = s.Primary.canaryTwin()
	for _, g := range groups {
		if g.ARN == s.Primary.ARN {
			s.CreateCanary = g.CreateCommand(sluice.TargetGroupName(s.Canary.ARN))
		}
	}
	return s, nil
}

// SetupGroup is a target group of a variant.
type SetupGroup struct {
	ARN, Container string
	Port           int32
}

// hasPipeline reports whether the application file has a canary pipeline.
func (s Setup) hasPipeline() bool {
	return s.NoCanary == "" && s.Pipeline != RollingPipeline && (s.Canary != nil || s.Access == sluice.ServiceDiscovery)
}

// SetupFromDefinitions returns the setup of two definition files. The target group of the canary is
// one that only the local AWS has.
func SetupFromDefinitions(task *definition.Task, service *definition.Service) Setup {
	in := service.Input
	s := Setup{Controller: "ECS", Access: sluice.NoAccess}
	if in.ServiceName != nil {
		s.Name = *in.ServiceName
	}
	if in.Cluster != nil {
		s.Cluster = sluice.ARNName(*in.Cluster)
	}
	if c := in.DeploymentController; c != nil && c.Type != "" {
		s.Controller = string(c.Type)
	}
	s.takeAccess(task, service)
	if s.Primary != nil && s.NoCanary == "" {
		s.Canary = s.Primary.canaryTwin()
	}
	return s
}

// takeAccess sets how callers reach the service, and why it cannot have a canary.
func (s *Setup) takeAccess(task *definition.Task, service *definition.Service) {
	in := service.Input
	for _, lb := range in.LoadBalancers {
		if lb.TargetGroupArn == nil || s.Primary != nil {
			continue
		}
		s.Access, s.Primary = sluice.ELB, &SetupGroup{ARN: *lb.TargetGroupArn}
		if lb.ContainerName != nil {
			s.Primary.Container = *lb.ContainerName
		}
		if lb.ContainerPort != nil {
			s.Primary.Port = *lb.ContainerPort
		}
		s.Region, _, _ = sluice.ARNPlace(s.Primary.ARN)
	}
	s.NoCanary = whyNoCanary(task, service, s.Controller)
	if s.Primary != nil || len(in.ServiceRegistries) == 0 {
		return
	}
	if mode := task.Input.NetworkMode; mode != "awsvpc" {
		if s.NoCanary == "" {
			s.NoCanary = fmt.Sprintf("network mode %s registers tasks in SRV records only, which sluice does not manage",
				cmp.Or(mode, "bridge"))
		}
		return
	}
	s.Access = sluice.ServiceDiscovery
}

// canaryTwin returns a target group for the canary that only the local AWS has.
func (g SetupGroup) canaryTwin() *SetupGroup {
	head, _, _ := strings.Cut(g.ARN, ":targetgroup/")
	name := sluice.TargetGroupName(g.ARN)
	const suffix = "-canary"
	name = strings.TrimRight(name[:min(len(name), 32-len(suffix))], "-") + suffix
	g.ARN = head + ":targetgroup/" + name + "/0123456789abcdef"
	return &g
}

// whyNoCanary returns why a service cannot have a canary, or "".
func whyNoCanary(task *definition.Task, service *definition.Service, controller string) string {
	in := service.Input
	container, port := task.FixedHostPort()
	switch c := in.DeploymentConfiguration; {
	case controller == "CODE_DEPLOY":
		return "CodeDeploy shifts its traffic"
	case in.SchedulingStrategy == "DAEMON":
		return "it is a DAEMON with one task on each instance"
	case c != nil && c.Strategy != "" && c.Strategy != "ROLLING":
		return fmt.Sprintf("ECS shifts its traffic itself with strategy %s; sluice deploy starts and "+
			"follows that", c.Strategy)
	case port != 0:
		return fmt.Sprintf("each task needs port %d of its instance (container %s), so a canary needs instances without a "+
			"task. Leave hostPort out, and ECS chooses a free port", port, container)
	case len(in.LoadBalancers)+len(in.ServiceRegistries) == 0:
		return "it has neither a load balancer nor a Cloud Map name, so no share of requests can be shifted"
	}
	return ""
}

// Setup returns the setup of a running service.
func (l *Live) Setup() Setup {
	s := Setup{Name: l.Service, Region: l.Region, Cluster: l.Cluster, Controller: l.Controller, Access: sluice.NoAccess}
	s.takeAccess(l.Task, l.Definition)
	s.Region = l.Region
	if l.Deployer != nil {
		s.Application, s.DeploymentGroup = l.Deployer.Application, l.Deployer.Name
	}
	if s.Primary != nil && s.NoCanary == "" {
		if arn := l.secondGroup(s.Primary.ARN); arn != "" {
			s.CanaryExists, s.Canary = true, &SetupGroup{arn, s.Primary.Container, s.Primary.Port}
		}
	}
	return s
}

// secondGroup returns the target group that rules forward to together with the primary group, and to
// no other. It returns "" if there is none, or if several could be meant.
func (l *Live) secondGroup(primary string) string {
	var found []string
	note := func(shares []sluice.Share) {
		if len(shares) != 2 {
			return
		}
		for i, share := range shares {
			if other := shares[1-i].Group; share.Group == primary && other != primary && !slices.Contains(found, other) {
				found = append(found, other)
			}
		}
	}
	for _, b := range l.Surroundings.Balancers {
		for _, c := range b.Listeners {
			note(c.Groups)
			for _, r := range c.Rules {
				note(r.Groups)
			}
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// lines collects the lines of a file, with an indentation.
type lines struct {
	b      strings.Builder
	indent string
}

func (l *lines) add(format string, args ...any) {
	l.b.WriteString(l.indent + fmt.Sprintf(format, args...) + "\n")
}

// SluiceText returns the sluice.yaml of a service.
func (s Setup) SluiceText() string {
	l := &lines{}
	l.add("# sluice plan shows the changes of a deployment, sluice deploy makes them.")
	l.add("name: %s", yamlText(s.Name))
	if s.Region != "" {
		l.add("region: %s", s.Region)
	}
	l.add("# A deployment succeeds after all new tasks have run for this long. It shows versions that die after a while.")
	l.add("bake: 1m")
	s.addInput(l)
	s.addCodeDeploy(l)
	s.addPipeline(l)
	return l.b.String()
}

// PipeCDText returns the app.pipecd.yaml of a service, for PipeCD v1 and sluice.
func (s Setup) PipeCDText() string {
	l := &lines{}
	l.add("apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: %s\n  plugins:\n    ecs:",
		yamlText(s.Name))
	l.indent = "      "
	s.addInput(l)
	l.indent = "        "
	s.addCodeDeploy(l)
	l.indent = "  "
	s.addPipeline(l)
	return l.b.String()
}

// EcspressoText returns the ecspresso.yml of a service, with the names of its definition files.
func (s Setup) EcspressoText(task, service string) string {
	l := &lines{}
	if s.Region != "" {
		l.add("region: %s", s.Region)
	}
	l.add("cluster: %s", yamlText(cmp.Or(s.Cluster, "default")))
	if s.Name != "" { // otherwise it is for tasks only
		l.add("service: %s", yamlText(s.Name))
	}
	l.add("task_definition: %s", fileName(task))
	if s.Name != "" {
		l.add("service_definition: %s", fileName(service))
	}
	l.add("timeout: 10m")
	if s.Application != "" {
		l.add("codedeploy:")
		l.add("  application_name: %s", yamlText(s.Application))
		l.add("  deployment_group_name: %s", yamlText(s.DeploymentGroup))
	}
	return l.b.String()
}

func (s Setup) addInput(l *lines) {
	l.add("input:")
	l.add("  taskDefinitionFile: %s", TaskFile)
	l.add("  serviceDefinitionFile: %s", ServiceFile)
	switch s.Access {
	case sluice.ServiceDiscovery:
		l.add("  accessType: SERVICE_DISCOVERY")
	case sluice.NoAccess:
		l.add("  accessType: NONE")
	}
	if s.Primary == nil || s.Controller == "CODE_DEPLOY" {
		return
	}
	l.add("  targetGroups:")
	s.Primary.addLines(l, "primary")
	if s.Canary != nil && !s.CanaryExists {
		l.add("    # The local AWS has this target group. In AWS, create one like the primary's, and put its ARN here.")
	}
	s.Canary.addLines(l, "canary")
}

func (g *SetupGroup) addLines(l *lines, variant string) {
	if g == nil {
		return
	}
	l.add("    %s:", variant)
	l.add("      targetGroupArn: %s", g.ARN)
	l.add("      containerName: %s", yamlText(g.Container))
	l.add("      containerPort: %d", g.Port)
}

func (s Setup) addCodeDeploy(l *lines) {
	if s.Application != "" {
		l.add("codedeploy:")
		l.add("  applicationName: %s", yamlText(s.Application))
		l.add("  deploymentGroupName: %s", yamlText(s.DeploymentGroup))
	}
}

// fileName returns the name of a file as a YAML value.
func fileName(name string) string {
	if base, _, _ := strings.Cut(name, "."); !plainText.MatchString(base) || strings.ContainsAny(name, " #:'\"") {
		return strconv.Quote(name)
	}
	return name
}

// plainText matches text that YAML reads as text without quotes.
var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*$`)

// yamlText returns a text as a YAML value.
func yamlText(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return strconv.Quote(s)
	}
	if plainText.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

// addPipeline adds a canary pipeline, if the service can have one.
func (s Setup) addPipeline(l *lines) {
	if !s.hasPipeline() {
		return
	}
	tasks, scale, share := "The new version starts next to the old one.", 50, 20
	if s.Pipeline == BlueGreenPipeline {
		tasks, scale, share = "The new version starts with all tasks next to the old one.", 100, 100
	}
	for _, line := range []string{
		"pipeline:",
		"  stages:",
		"    # " + tasks + " No requests yet.",
		fmt.Sprintf("    - {name: ECS_CANARY_ROLLOUT, with: {scale: %d}}", scale),
		fmt.Sprintf("    - {name: ECS_TRAFFIC_ROUTING, with: {canary: %d}}", share),
		"    - {name: WAIT, with: {duration: 1m}}",
		"    - {name: ECS_PRIMARY_ROLLOUT}",
		"    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}",
		"    - {name: ECS_CANARY_CLEAN}",
	} {
		l.add("%s", line)
	}
}

// Suggestions returns what a canary lacks, in sentences.
func (s Setup) Suggestions() []string {
	switch {
	case s.Pipeline == RollingPipeline:
		return nil
	case s.CreateCanary != "":
		return []string{"AWS lacks one thing for the pipeline: the target group " + sluice.TargetGroupName(s.Canary.ARN)}
	case s.NoCanary != "":
		return []string{"the service cannot have a canary: " + s.NoCanary}
	case s.Canary != nil && !s.CanaryExists:
		return []string{fmt.Sprintf("the pipeline needs a second target group. The local AWS has %s. In AWS, create one "+
			"with the settings of %s (aws elbv2 create-target-group) before you deploy, and put its ARN in the "+
			"application file", sluice.TargetGroupName(s.Canary.ARN),
			sluice.TargetGroupName(s.Primary.ARN))}
	case s.Canary == nil && s.Access == sluice.ELB:
		return []string{fmt.Sprintf("a canary needs a second target group, and no listener rule forwards to %s and "+
			"one other group. Create one with the settings of %[1]s (aws elbv2 create-target-group), then add it "+
			"under targetGroups.canary, and a pipeline. Until then sluice deploy replaces all tasks",
			sluice.TargetGroupName(s.Primary.ARN))}
	}
	return nil
}
