package replica

import (
	"encoding/json"
	"strings"
)

// Refused is a part of a definition that the local AWS refuses.
type Refused struct {
	File, Key string // Key is empty if no single key is the cause
	Answer    string // of the local AWS
	Meaning   string
}

// Place returns the file and the key.
func (r Refused) Place() string {
	if r.Key == "" {
		return r.File
	}
	return r.File + ": " + r.Key
}

// Text returns the answer of the local AWS, and what the part does in AWS.
func (r Refused) Text() string {
	if r.Meaning == "" {
		return r.Answer
	}
	return r.Answer + "; " + r.Meaning
}

// removable are the parts of definitions that a local AWS may refuse, and that a service can be
// without.
var removable = [...]struct {
	task    bool // of the task definition
	path    string
	meaning string
}{
	{false, "serviceConnectConfiguration", "in AWS, other services reach the service by a Service Connect name"},
	{false, "vpcLatticeConfigurations", "in AWS, VPC Lattice sends it requests"},
	{false, "volumeConfigurations", "in AWS, each task gets an EBS volume"},
	{false, "gatewayConnectors", "in AWS, a gateway sends it requests"},
	{false, "monitoring", "in AWS, CloudWatch monitors it"},
	{false, "schedulingStrategy", "in AWS, each container instance runs one task"},
	{false, "capacityProviderStrategy", "in AWS, the capacity providers of the cluster place its tasks"},
	{false, "placementConstraints", "in AWS, they select container instances"},
	{false, "placementStrategy", "in AWS, it orders container instances"},
	{false, "deploymentConfiguration.strategy", "in AWS, ECS itself shifts the traffic"},
	{false, "deploymentConfiguration.lifecycleHooks", "in AWS, functions check each deployment"},
	{false, "deploymentConfiguration.canaryConfiguration", "in AWS, ECS shifts a share first"},
	{false, "deploymentConfiguration.linearConfiguration", "in AWS, ECS shifts in steps"},
	{false, "deploymentConfiguration.alarms", "in AWS, alarms end a deployment"},
	{false, "serviceRegistries", "in AWS, callers find it by a Cloud Map name"},
	{true, "volumes", "in AWS, containers mount them"},
	{true, "proxyConfiguration", "in AWS, a proxy runs in each task"},
	{true, "inferenceAccelerators", "in AWS, tasks get accelerators"},
	{true, "ephemeralStorage", "in AWS, tasks get more storage"},
	{true, "placementConstraints", "in AWS, they select container instances"},
	{true, "runtimePlatform", "in AWS, tasks run on this platform"},
	{true, "pidMode", "in AWS, containers share processes"},
	{true, "ipcMode", "in AWS, containers share memory"},
}

// maxRefused limits the search.
const maxRefused = 20

// FindRefused returns the parts of the first service that the local AWS refuses. build builds a world
// in memory. A part is the cause of a refusal if the refusal is another one, or none, without it.
func (w *World) FindRefused(build func(*World) error) (all []Refused) {
	rest := w
	for len(all) < maxRefused {
		err := build(rest)
		if err == nil {
			return all
		}
		found, without, ok := w.findCause(rest, err.Error(), build)
		all = append(all, found)
		if !ok {
			return all
		}
		rest = without
	}
	return all
}

// findCause finds the part whose removal changes the refusal. ok is false if there is none.
func (w *World) findCause(rest *World, refusal string, build func(*World) error) (r Refused, without *World, ok bool) {
	for _, part := range removable {
		without, found := rest.withoutPart(part.task, part.path)
		if !found {
			continue
		}
		if err := build(without); err != nil && err.Error() == refusal {
			continue
		}
		return Refused{File: w.fileOf(part.task), Key: part.path, Answer: answerText(refusal), Meaning: part.meaning},
			without, true
	}
	task := strings.Contains(refusal, "services[0]: taskDefinition: ")
	return Refused{File: w.fileOf(task), Answer: answerText(refusal)}, nil, false
}

func (w *World) fileOf(task bool) string {
	if task {
		return w.Files.Task
	}
	return w.Files.Service
}

// answerText returns the refusal without its place in the world file.
func answerText(refusal string) string {
	for _, place := range []string{"services[0]: ", "taskDefinition: "} {
		if _, text, ok := strings.Cut(refusal, place); ok {
			refusal = text
		}
	}
	return "the local AWS answers: " + strings.TrimSuffix(refusal, ".")
}

// withoutPart returns a copy of the world whose first service lacks a part. found is false if it does
// not have the part.
func (w *World) withoutPart(task bool, path string) (out *World, found bool) {
	data, err := json.Marshal(w)
	out = &World{}
	if err != nil || json.Unmarshal(data, out) != nil || len(out.Services) == 0 {
		return nil, false
	}
	members := out.Services[0].AWS
	if task {
		members = out.Services[0].TaskDefinition
	}
	parent, last, nested := strings.Cut(path, ".")
	if nested {
		members, _ = members[parent].(map[string]any)
	} else {
		last = parent
	}
	if _, found = members[last]; found {
		delete(members, last)
	}
	return out, found
}
