package awssim

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/sluice-ecs/sluice/awssim/iam"
	"github.com/sluice-ecs/sluice/awssim/image"
)

// worldFile is the content of a world file; see [Sim.Load].
type worldFile struct {
	Account       string                    `yaml:"account"`
	Region        string                    `yaml:"region"`
	Steady        *bool                     `yaml:"settled"`
	Settings      settingsFile              `yaml:"knobs"`
	Images        map[string]map[string]any `yaml:"images"`
	Subnets       []string                  `yaml:"subnets"`
	Clusters      []string                  `yaml:"clusters"`
	LogGroups     []string                  `yaml:"logGroups"`
	Groups        []string                  `yaml:"securityGroups"`
	Alarms        []string                  `yaml:"alarms"`
	Capacity      []capacityFile            `yaml:"capacity"`
	LoadBalancers []balancerFile            `yaml:"loadBalancers"`
	TargetGroups  []groupFile               `yaml:"targetGroups"`
	Namespaces    []namespaceFile           `yaml:"namespaces"`
	Services      []serviceFile             `yaml:"services"`
	Functions     []functionFile            `yaml:"functions"`
	Configs       []configFile              `yaml:"deploymentConfigs"`
	Applications  []applicationFile         `yaml:"applications"`
	Scalable      []scalableFile            `yaml:"scalableTargets"`
	Principals    []principalFile           `yaml:"principals"`
	Roles         []roleFile                `yaml:"roles"`
	Secrets       []secretFile              `yaml:"secrets"`
	Parameters    []parameterFile           `yaml:"parameters"`
	Repositories  []repositoryFile          `yaml:"repositories"`
	Buckets       []bucketFile              `yaml:"buckets"`
	Stacks        []stackFile               `yaml:"stacks"`
	Faults        []string                  `yaml:"faults"`

	name       string
	tree       *ast.File
	catalog    image.Catalog
	principals []iam.Principal
}

type balancerFile struct {
	Name string `yaml:"name"`
	ARN  string `yaml:"arn"`
	// Type is application (the default) or network.
	Type      string         `yaml:"type"`
	Listeners []listenerFile `yaml:"listeners"`
}

type listenerFile struct {
	Port int32  `yaml:"port"`
	ARN  string `yaml:"arn"`
	// Protocol is that of a network load balancer: TCP (the default), TLS, UDP or TCP_UDP.
	Protocol string     `yaml:"protocol"`
	Rules    []ruleFile `yaml:"rules"`
	// AWS has members of CreateListener, such as DefaultActions, in AWS's shape.
	AWS awsMembers `yaml:"aws"`
	// The default rule's action.
	Action actionFile `yaml:",inline"`
}

type ruleFile struct {
	Priority int32             `yaml:"priority"`
	ARN      string            `yaml:"arn"`
	Path     []string          `yaml:"path"`
	Host     []string          `yaml:"host"`
	Method   []string          `yaml:"method"`
	Header   map[string]string `yaml:"header"`
	// AWS has members of CreateRule, such as Conditions and Actions, in AWS's shape.
	AWS    awsMembers `yaml:"aws"`
	Action actionFile `yaml:",inline"`
}

type actionFile struct {
	Forward    yaml.MapSlice `yaml:"forward"` // target group -> weight
	Stickiness time.Duration `yaml:"stickiness"`
	Fixed      *fixedFile    `yaml:"fixed"`
}

type fixedFile struct {
	Status int    `yaml:"status"`
	Body   string `yaml:"body"`
}

type groupFile struct {
	Name string `yaml:"name"`
	ARN  string `yaml:"arn"`
	Port int32  `yaml:"port"`
	// Protocol is HTTP (the default) or that of a network load balancer: TCP, TLS, UDP or TCP_UDP.
	Protocol string `yaml:"protocol"`
	// Type is ip (the default) or instance, for tasks in network mode bridge or host.
	Type                string            `yaml:"type"`
	HealthCheck         healthFile        `yaml:"healthCheck"`
	DeregistrationDelay *time.Duration    `yaml:"deregistrationDelay"`
	Attributes          map[string]string `yaml:"attributes"`
	// AWS has members of CreateTargetGroup in AWS's shape.
	AWS awsMembers `yaml:"aws"`
}

type healthFile struct {
	// Protocol is HTTP or TCP; the default is that of the target group's protocol.
	Protocol  string         `yaml:"protocol"`
	Path      string         `yaml:"path"`
	Interval  *time.Duration `yaml:"interval"`
	Timeout   *time.Duration `yaml:"timeout"`
	Healthy   int32          `yaml:"healthy"`
	Unhealthy int32          `yaml:"unhealthy"`
	Matcher   string         `yaml:"matcher"`
}

type serviceFile struct {
	Name    string `yaml:"name"`
	Cluster string `yaml:"cluster"`
	// Controller is ECS (the default), EXTERNAL or CODE_DEPLOY.
	Controller  string `yaml:"controller"`
	Count       int32  `yaml:"count"`
	Family      string `yaml:"family"`
	Image       string `yaml:"image"`
	Port        int32  `yaml:"port"`
	TargetGroup string `yaml:"targetGroup"`
	// LaunchType is FARGATE (the default) or EC2.
	LaunchType string `yaml:"launchType"`
	// NetworkMode is awsvpc (the default), bridge or host; the latter need launch type EC2 and a target
	// group of type instance.
	NetworkMode string `yaml:"networkMode"`
	// Registry is "<service>.<namespace>" of Cloud Map.
	Registry string `yaml:"registry"`
	// ContainerCheck is the interval of the container's own health check; 0: it has none.
	ContainerCheck time.Duration     `yaml:"containerCheck"`
	Grace          time.Duration     `yaml:"grace"`
	StopTimeout    time.Duration     `yaml:"stopTimeout"`
	Environment    map[string]string `yaml:"environment"`
	// Demand is the CPU that callers request of all tasks together, in percent of one task; absent:
	// the metric does not exist.
	Demand *float64 `yaml:"demand"`
	// Breaker is the deployment circuit breaker, with rollback; controller ECS.
	Breaker bool `yaml:"breaker"`
	// MinPercent is the least percentage of tasks that must run during a rolling update; controller
	// ECS.
	MinPercent *int32 `yaml:"minimumHealthyPercent"`
	// MaxPercent is the greatest percentage of tasks that may run during a rolling update;
	// controller ECS.
	MaxPercent *int32 `yaml:"maximumPercent"`
	// TaskDefinition is its task definition in AWS's shape, as RegisterTaskDefinition takes it. Then
	// image, port, environment, stopTimeout and containerCheck do not count.
	TaskDefinition awsMembers `yaml:"taskDefinition"`
	// AWS is the service in AWS's shape, as CreateService takes it. Then the other keys do not count,
	// except name, cluster, count and demand.
	AWS awsMembers `yaml:"aws"`
}

// isSettled reports whether the resources of the file have existed for some time.
func (f *worldFile) isSettled() bool { return f.tree != nil && (f.Steady == nil || *f.Steady) }

// readWorld reads a world file. Errors begin with file:line.
func readWorld(name string, data []byte) (*worldFile, error) {
	f := &worldFile{name: name}
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, f.withLine(err)
	}
	f.tree = tree
	if len(bytes.TrimSpace(data)) > 0 {
		if err := yaml.UnmarshalWithOptions(data, f, yaml.Strict()); err != nil {
			return nil, f.withLine(err)
		}
	}
	for _, check := range []func() error{f.checkLocation, f.Settings.checkSettings, f.checkImages, f.checkCapacity,
		f.checkBalancers, f.checkGroups, f.checkNamespaces, f.checkServices, f.checkCodeDeploy, f.checkScaling, f.checkPrincipals,
		f.checkReadable} {
		if err := check(); err != nil {
			return nil, f.withLine(err)
		}
	}
	return f, nil
}

// pathError is an error of the value at a path of the file.
type pathError struct {
	path string // "services[0].image"
	err  error
}

func (m *pathError) Error() string { return m.path + ": " + m.err.Error() }
func (m *pathError) Unwrap() error { return m.err }

func invalidAt(path, format string, args ...any) error {
	return &pathError{path, fmt.Errorf(format, args...)}
}

// withLine adds file and line to an error.
func (f *worldFile) withLine(err error) error {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil {
		return fmt.Errorf("%s:%d: %s", f.name, y.GetToken().Position.Line, yamlErrorText(y))
	}
	var m *pathError
	if errors.As(err, &m) {
		return fmt.Errorf("%s:%d: %w", f.name, f.lineOf(m.path), err)
	}
	return fmt.Errorf("%s: %w", f.name, err)
}

// yamlErrorText returns the text of a YAML error, in the words of the file.
func yamlErrorText(err yaml.Error) string {
	var t *yaml.TypeError
	var n *yaml.UnexpectedNodeTypeError
	switch {
	case errors.As(err, &t):
		return fmt.Sprintf("%q is used where %s is expected", t.Token.Value, typeText(t.DstType))
	case errors.As(err, &n):
		return strings.NewReplacer("sequence", "a list", "mapping", "a map", "string", "text", " was used where ",
			" is used where ").Replace(err.GetMessage())
	}
	return err.GetMessage()
}

// typeText returns the name of a Go type in the words of a world file.
func typeText(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "a duration such as 5s"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a map"
	}
	return "text"
}

// lineOf returns the line of a path, or of the nearest path above it in the file.
func (f *worldFile) lineOf(path string) int {
	for path != "" {
		if p, err := yaml.PathString("$." + path); err == nil {
			if n, err := p.FilterFile(f.tree); err == nil && n != nil {
				return n.GetToken().Position.Line
			}
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 1
}

// maxFileSubnets is how many subnets fit in the default network next to the load balancers.
const maxFileSubnets = 12

var regionForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (f *worldFile) checkLocation() error {
	switch {
	case f.Account != "" && !isAccount(f.Account):
		return invalidAt("account", "%q is not 12 digits; write it in quotes", f.Account)
	case f.Region != "" && !regionForm.MatchString(f.Region):
		return invalidAt("region", "%q is not a Region", f.Region)
	case len(f.Subnets) > maxFileSubnets:
		return invalidAt("subnets", "at most %d", maxFileSubnets)
	}
	for i, id := range f.Subnets {
		if !strings.HasPrefix(id, "subnet-") {
			return invalidAt(fmt.Sprintf("subnets[%d]", i), "%q is not a subnet ID", id)
		}
	}
	return nil
}

func (f *worldFile) checkImages() error {
	f.catalog = image.Catalog{}
	for _, ref := range slices.Sorted(maps.Keys(f.Images)) {
		version := ref[strings.LastIndexByte(ref, ':')+1:]
		if image.IsPattern(ref) {
			version = "" // that of each image
		}
		b, err := imageBehaviour(version, f.Images[ref])
		if err != nil {
			return invalidAt("images", "%s: %w", ref, err)
		}
		f.catalog[ref] = b
	}
	return nil
}

// imageBehaviour returns the behaviour for the options of an image, and for those of each of its
// commands.
func imageBehaviour(version string, options map[string]any) (image.Behaviour, error) {
	b := image.Behaviour{Version: version}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		switch value := options[name]; name {
		case "version":
			b.Version = fmt.Sprint(value)
		case "commands":
			var err error
			if b.Commands, err = commandBehaviours(version, value); err != nil {
				return b, err
			}
		default:
			if err := b.Set(name, fmt.Sprint(value)); err != nil {
				return b, err
			}
		}
	}
	b.FillDefaults(options["exit"] != nil)
	return b, nil
}

func commandBehaviours(version string, value any) (map[string]image.Behaviour, error) {
	all, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("commands is not a map of commands")
	}
	out := map[string]image.Behaviour{}
	for _, command := range slices.Sorted(maps.Keys(all)) {
		options, ok := all[command].(map[string]any)
		if !ok && all[command] != nil {
			return nil, fmt.Errorf("command %q is not a map of options", command)
		}
		b, err := imageBehaviour(version, options)
		if err != nil {
			return nil, fmt.Errorf("command %q: %w", command, err)
		}
		out[strings.Join(strings.Fields(command), " ")] = b
	}
	return out, nil
}

func (f *worldFile) checkBalancers() error {
	for i, lb := range f.LoadBalancers {
		at := fmt.Sprintf("loadBalancers[%d]", i)
		if lb.Name == "" {
			return invalidAt(at, "name is missing")
		}
		if !slices.Contains([]string{"", "application", "network"}, lb.Type) {
			return invalidAt(at+".type", "%q is neither application nor network", lb.Type)
		}
		for j, l := range lb.Listeners {
			at := fmt.Sprintf("%s.listeners[%d]", at, j)
			if err := lb.checkProtocol(at, l); err != nil {
				return err
			}
			if l.Port < 1 || l.Port > 65535 {
				return invalidAt(at, "port is missing, or not from 1 to 65535")
			}
			if err := f.checkAction(at, l.Action, l.AWS["DefaultActions"] != nil); err != nil {
				return err
			}
			for k, r := range l.Rules {
				at := fmt.Sprintf("%s.rules[%d]", at, k)
				if len(r.Path)+len(r.Host)+len(r.Method)+len(r.Header) == 0 && r.AWS["Conditions"] == nil {
					return invalidAt(at, "the rule has no condition: path, host, method or header")
				}
				if err := f.checkAction(at, r.Action, r.AWS["Actions"] != nil); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// networkProtocols are the protocols of network load balancers.
var networkProtocols = []string{"TCP", "TLS", "UDP", "TCP_UDP"}

// checkProtocol refuses protocols and rules that the listeners of a load balancer cannot have.
func (lb balancerFile) checkProtocol(at string, l listenerFile) error {
	switch {
	case lb.Type != "network" && l.Protocol != "" && l.Protocol != "HTTP":
		return invalidAt(at+".protocol", "an application load balancer has listeners of protocol HTTP, not %q",
			l.Protocol)
	case lb.Type == "network" && l.Protocol != "" && !slices.Contains(networkProtocols, l.Protocol):
		return invalidAt(at+".protocol", "%q is not a protocol of a network load balancer; there are %s", l.Protocol,
			strings.Join(networkProtocols, ", "))
	case lb.Type == "network" && len(l.Rules) > 0:
		return invalidAt(at+".rules", "a network load balancer has no rules; its default action forwards")
	case lb.Type == "network" && l.Action.Fixed != nil:
		return invalidAt(at+".fixed", "a network load balancer sends no responses itself")
	}
	return nil
}

// checkAction refuses an action of the file's own keys. inAWSShape reports whether the file has the
// actions in AWS's shape too, which replace it.
func (f *worldFile) checkAction(at string, a actionFile, inAWSShape bool) error {
	if inAWSShape && len(a.Forward) == 0 && a.Fixed == nil {
		return nil
	}
	if (len(a.Forward) > 0) == (a.Fixed != nil) {
		return invalidAt(at, "needs one of forward (target group: weight, …) and fixed (status, body)")
	}
	if err := checkSeconds(at, map[string]*time.Duration{"stickiness": &a.Stickiness}); err != nil {
		return err
	}
	for _, share := range a.Forward {
		name := fmt.Sprint(share.Key)
		if !slices.ContainsFunc(f.TargetGroups, func(g groupFile) bool { return g.Name == name }) {
			return invalidAt(at+".forward", "there is no target group %q; there are %s", name, f.groupNames())
		}
		if w, err := parseWeight(share.Value); err != nil {
			return invalidAt(at+".forward", "weight of %s: %v is not an integer from 0 to 999", name, w)
		}
	}
	return nil
}

func (f *worldFile) groupNames() string {
	names := make([]string, 0, len(f.TargetGroups))
	for _, g := range f.TargetGroups {
		names = append(names, g.Name)
	}
	return joinOrNone(names)
}

func joinOrNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func parseWeight(v any) (int32, error) {
	n, err := strconv.ParseUint(fmt.Sprint(v), 10, 31)
	if err == nil && n > 999 {
		err = strconv.ErrRange
	}
	return int32(n), err
}

func (f *worldFile) checkGroups() error {
	for i, g := range f.TargetGroups {
		if g.Name == "" {
			return invalidAt(fmt.Sprintf("targetGroups[%d]", i), "name is missing")
		}
		if !slices.Contains([]string{"", "ip", "instance"}, g.Type) {
			return invalidAt(fmt.Sprintf("targetGroups[%d].type", i), "%q is neither ip nor instance", g.Type)
		}
		if p := g.Protocol; p != "" && p != "HTTP" && !slices.Contains(networkProtocols, p) {
			return invalidAt(fmt.Sprintf("targetGroups[%d].protocol", i), "%q is none of HTTP, %s", p,
				strings.Join(networkProtocols, ", "))
		}
		err := checkSeconds(fmt.Sprintf("targetGroups[%d]", i), map[string]*time.Duration{
			"healthCheck.interval": g.HealthCheck.Interval, "healthCheck.timeout": g.HealthCheck.Timeout,
			"deregistrationDelay": g.DeregistrationDelay})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkSeconds refuses times that are not whole seconds: AWS has no others.
func checkSeconds(at string, times map[string]*time.Duration) error {
	for _, key := range slices.Sorted(maps.Keys(times)) {
		if d := times[key]; d != nil && *d%time.Second != 0 {
			return invalidAt(at+"."+key, "%s is not a number of whole seconds", *d)
		}
	}
	return nil
}

func (f *worldFile) checkServices() error {
	for i, s := range f.Services {
		at := fmt.Sprintf("services[%d]", i)
		err := checkSeconds(at, map[string]*time.Duration{"containerCheck": &s.ContainerCheck, "grace": &s.Grace,
			"stopTimeout": &s.StopTimeout})
		if err != nil {
			return err
		}
		switch {
		case s.Name == "":
			return invalidAt(at, "name is missing")
		case s.Cluster == "" && len(f.Clusters) != 1:
			return invalidAt(at, "cluster is missing; it is optional if there is exactly one")
		case s.Cluster != "" && !slices.Contains(f.Clusters, s.Cluster):
			return invalidAt(at+".cluster", "there is no cluster %q; there are %s", s.Cluster,
				strings.Join(f.Clusters, ", "))
		case s.Image == "" && s.TaskDefinition == nil:
			return invalidAt(at, "image is missing")
		case !slices.Contains([]string{"", "EXTERNAL", "ECS", "CODE_DEPLOY"}, s.Controller):
			return invalidAt(at+".controller", "%q is not simulated; there are EXTERNAL, ECS and CODE_DEPLOY",
				s.Controller)
		case !slices.Contains([]string{"", "FARGATE", "EC2"}, s.LaunchType):
			return invalidAt(at+".launchType", "%q is neither FARGATE nor EC2", s.LaunchType)
		case !slices.Contains([]string{"", "awsvpc", "bridge", "host"}, s.NetworkMode):
			return invalidAt(at+".networkMode", "%q is none of awsvpc, bridge, host", s.NetworkMode)
		case (s.MinPercent != nil || s.MaxPercent != nil) && s.controller() != "ECS":
			return invalidAt(at, "minimumHealthyPercent and maximumPercent are for controller ECS")
		case s.Breaker && s.controller() != "ECS":
			return invalidAt(at+".breaker", "only deployments of controller ECS have a circuit breaker")
		case s.TargetGroup != "" &&
			!slices.ContainsFunc(f.TargetGroups, func(g groupFile) bool { return g.Name == s.TargetGroup }):
			return invalidAt(at+".targetGroup", "there is no target group %q; there are %s", s.TargetGroup,
				f.groupNames())
		case s.Registry != "" && !slices.Contains(f.registryNames(), s.Registry):
			return invalidAt(at+".registry", "there is no Cloud Map service %q; there are %s", s.Registry,
				joinOrNone(f.registryNames()))
		}
		if _, ok := f.catalog.Lookup(s.Image); !ok && s.TaskDefinition == nil {
			_, err := image.Parse(s.Image)
			return invalidAt(at+".image", "%w", err)
		}
	}
	return nil
}
