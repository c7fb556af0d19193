package diagnosis

import (
	"slices"
	"strings"
)

// Kind classifies causes of failure. Each kind has one row in the table.
type Kind string

const (
	ImageNotFound   Kind = "image not found"
	ExecFormat      Kind = "exec format"
	NotStartable    Kind = "container cannot start"
	NotReady        Kind = "container dependency"
	ExitCode        Kind = "exit code"
	OutOfMemory     Kind = "out of memory"
	ContainerHealth Kind = "container health check"
	BalancerHealth  Kind = "load balancer health check"
	WrongPort       Kind = "wrong port"
	CheckPort       Kind = "health check on another port"
	CheckChanged    Kind = "health check changed"
	NoCapacity      Kind = "no capacity"
	SecretUnread    Kind = "secret not readable"
	RoleRefused     Kind = "role not assumable"
	NoRoute         Kind = "no network route"
	NetworkRefused  Kind = "network interface"
	DiskFull        Kind = "disk full"
	LogRefused      Kind = "log driver"
	FileUnread      Kind = "environment file"
	VolumeFailed    Kind = "volume"
	PortTaken       Kind = "host port taken"
	Inactive        Kind = "inactive task definition"
	GroupGone       Kind = "target group missing"
	NotRouted       Kind = "target group unused"
	SlowStart       Kind = "slow start"
	Throttled       Kind = "throttled"
	Superseding     Kind = "superseded"
	AlarmFired      Kind = "alarm"
	BreakerFired    Kind = "circuit breaker"
	BlockedByConfig Kind = "deployment configuration"
	HookFailed      Kind = "hook"
	HookMissing     Kind = "no such hook"
	NotContinued    Kind = "not continued"
	GroupMissing    Kind = "deployment group"
	GroupRole       Kind = "service role"
	GroupRoutes     Kind = "listeners"
	GroupUnused     Kind = "target group not used"
	Deregistered    Kind = "targets not registered"
	Unended         Kind = "ECS has not ended the deployment"
	Draining        Kind = "former tasks drain"
	StoppedByOther  Kind = "stopped by ECS or a person"
	ECSRefused      Kind = "refused by ECS"
	OtherCause      Kind = "other"
)

// Advice returns what to do about a cause of this kind if no reason is known. See [Cause.Advice].
func (k Kind) Advice() string { return k.row().advice }

func (k Kind) row() row {
	if i := slices.IndexFunc(table, func(r row) bool { return r.kind == k }); i >= 0 {
		return table[i]
	}
	return row{}
}

// KindOfCode returns the kind of an error code of CodeDeploy; empty if the code has none.
func KindOfCode(code string) Kind {
	for _, r := range table {
		if slices.Contains(r.codes, code) {
			return r.kind
		}
	}
	return ""
}

// kindOfText returns the kind of the first published reason in a text; OtherCause if there is none.
func kindOfText(text string) Kind {
	if r, ok := reasonOf(text); ok {
		return r.kind
	}
	return OtherCause
}

func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
