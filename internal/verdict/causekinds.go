package verdict

import "strings"

// CauseKind classifies causes of failure. Each kind has one advice.
type CauseKind string

const (
	ImageNotFound   CauseKind = "image not found"
	ExecFormat      CauseKind = "exec format"
	NotStartable    CauseKind = "container cannot start"
	ExitCode        CauseKind = "exit code"
	OutOfMemory     CauseKind = "out of memory"
	ContainerHealth CauseKind = "container health check"
	BalancerHealth  CauseKind = "load balancer health check"
	WrongPort       CauseKind = "wrong port"
	NoCapacity      CauseKind = "no capacity"
	SecretUnread    CauseKind = "secret not readable"
	RoleRefused     CauseKind = "role not assumable"
	SlowStart       CauseKind = "slow start"
	Throttled       CauseKind = "throttled"
	Superseding     CauseKind = "superseded"
	AlarmFired      CauseKind = "alarm"
	BreakerFired    CauseKind = "circuit breaker"
	BlockedByConfig CauseKind = "deployment configuration"
	HookFailed      CauseKind = "hook"
	HookMissing     CauseKind = "no such hook"
	NotContinued    CauseKind = "not continued"
	GroupMissing    CauseKind = "deployment group"
	GroupRole       CauseKind = "service role"
	GroupRoutes     CauseKind = "listeners"
	ECSRefused      CauseKind = "refused by ECS"
	OtherCause      CauseKind = "other"
)

// advices are the recommended actions for each kind of cause, one sentence each.
var advices = map[CauseKind]string{
	ImageNotFound: "check the image's name and tag, that it was pushed to that registry, and that the execution " +
		"role may pull it",
	ExecFormat: "build the image for the task's CPU architecture, or set runtimePlatform.cpuArchitecture to " +
		"the image's",
	NotStartable: "check the container's command, entry point, user and mounts against the contents of the image",
	ExitCode:     "read the container's last log lines: the program ended by itself",
	OutOfMemory:  "raise the memory of the task or of the container, or make the program use less",
	ContainerHealth: "run the health check's command inside the container; if the program only needs longer to " +
		"start, raise the check's startPeriod",
	BalancerHealth: "request the target group's health check path from the container; if the program only needs " +
		"longer to start, raise healthCheckGracePeriodSeconds",
	WrongPort: "make the program listen on the service's containerPort on all addresses, or set " +
		"containerPort to the port on which it listens",
	NoCapacity: "add capacity to the cluster or its capacity provider, request less CPU and memory, or raise " +
		"the account's quota",
	SecretUnread: "check that the secret or parameter exists and that the execution role and the network let the " +
		"task read it",
	RoleRefused:  "check that the role exists and that its trust policy names ecs-tasks.amazonaws.com",
	SlowStart:    "raise the timeout and healthCheckGracePeriodSeconds, or make the program start faster",
	Throttled:    "wait and try again, or lower the request rate: AWS or the image's registry throttles requests",
	Superseding:  "wait for the newer deployment instead",
	AlarmFired:   "check the metric of the alarm; it fired while the new version took over",
	BreakerFired: "see why tasks stopped in the service's events: sluice status --events 20",
	BlockedByConfig: "lower minimumHealthyPercent or raise maximumPercent: with this desired count " +
		"ECS can neither stop nor start a task",
	HookFailed: "read the log of the hook's function; it has to call PutLifecycleEventHookExecutionStatus with " +
		"Succeeded within an hour",
	HookMissing: "create the Lambda function, or name an existing one for this lifecycle event",
	NotContinued: "continue the next deployment in time: sluice approve, or aws deploy continue-deployment if " +
		"another tool deploys",
	GroupMissing: "check that the service and its CodeDeploy application and deployment group exist, then " +
		"deploy again",
	GroupRole: "grant the deployment group's service role the permissions of AWSCodeDeployRoleForECS, and " +
		"iam:PassRole for the task's roles",
	GroupRoutes: "check that the production listener forwards to one of the deployment group's two target groups, " +
		"and the test listener too",
	ECSRefused: "change what ECS refuses: the task definition, network, platform version or capacity providers " +
		"of the AppSpec",
	OtherCause: "see why tasks stopped in the service's events: sluice status --events 20",
}

// Advice returns what to do about a cause of this kind.
func (k CauseKind) Advice() string { return advices[k] }

// textMatch lists words that identify a kind, in lower case.
type textMatch struct {
	kind  CauseKind
	words []string // any of them
}

// startFailures are the words that identify why a task never ran, the most specific first
// (Developer Guide, "Amazon ECS stopped tasks error messages").
var startFailures = []textMatch{
	{OutOfMemory, []string{"outofmemoryerror"}},
	{ExecFormat, []string{"exec format error", "does not contain descriptor matching platform",
		"no matching manifest for", "image platform"}},
	{Throttled, []string{"toomanyrequests", "rate exceeded", "pull rate limit", "throttlingexception"}},
	{RoleRefused, []string{"unable to assume the role", "unable to assume role", "assumerole"}},
	{SecretUnread, []string{"retrieve secret", "secret from", "secretsmanager", "ssm", "invalid parameters"}},
	{ImageNotFound, []string{"cannotpullcontainer", "pull image", "cannotpullimage", "registry auth",
		"image not found"}},
	{NoCapacity, []string{"capacity is unavailable", "resource:", "insufficient", "no container instance",
		"limit on the number of tasks", "unable to place a task"}},
	{NotStartable, []string{"cannotstartcontainer", "cannotcreatecontainer", "executable file not found"}},
}

// kindOf returns the kind that the words of a text identify; OtherCause if none match.
func kindOf(text string) CauseKind {
	text = strings.ToLower(text)
	for _, m := range startFailures {
		if containsAny(text, m.words) {
			return m.kind
		}
	}
	return OtherCause
}

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// probeKind returns the kind of a failed health check from the target group's description. Without
// a status code the connection was refused.
func probeKind(said string) CauseKind {
	switch {
	case said == "Health checks failed":
		return WrongPort
	}
	return BalancerHealth
}
