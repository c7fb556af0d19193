package awssim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/fault"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Inject starts a fault, as one line of text; see [fault.Parse].
func (s *Sim) Inject(line string) error {
	e := s.current.Load()
	f, err := e.parseFault(line)
	if err != nil {
		return err
	}
	e.faults.Inject(f)
	return nil
}

// parseFault reads a fault and rejects one that matches no operation.
func (e *generation) parseFault(line string) (fault.Fault, error) {
	f, err := fault.Parse(line)
	if err != nil || !strings.Contains(f.On, ":") {
		return f, err
	}
	if slices.ContainsFunc(e.operations, func(o operation) bool { return f.Matches(o.service, o.name) }) {
		return f, nil
	}
	return f, fmt.Errorf("fault %q: no operation is called %s; is %s meant?", line, f.On, e.nearestOperation(f.On))
}

// operation is one call that the simulator knows.
type operation struct{ service, name string }

func operationsOf(rooms []wire.API) (all []operation) {
	for _, r := range rooms {
		for _, name := range slices.Sorted(maps.Keys(r.Operations())) {
			all = append(all, operation{r.Name, name})
		}
	}
	return all
}

// nearestOperation returns the operation whose name takes the fewest changes to become on.
func (e *generation) nearestOperation(on string) string {
	best, fewest := "", len(on)+1
	for _, o := range e.operations {
		name := o.service + ":" + o.name
		if d := editDistance(strings.ToLower(on), strings.ToLower(name)); best == "" || d < fewest {
			best, fewest = name, d
		}
	}
	return best
}

// editDistance counts the letters to add, drop or replace.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := last
			if a[i] != b[j] {
				replaced++
			}
			last = row[j+1]
			row[j+1] = min(replaced, row[j]+1, last+1)
		}
	}
	return row[len(b)]
}

// faultInjector injects faults before the calls of a world.
type faultInjector struct{ *generation }

// silence is how long a connection without an answer stays open. Callers give up before, except on a fast clock: their
// limits are of real time.
const silence = time.Minute

// Before implements [wire.Faulter]. Latency has passed, by the clock, when it returns.
func (e faultInjector) Before(_ world.Key, service, operation string, now time.Time) *wire.Injected {
	f, latency := e.faults.CallFault(service, operation, now)
	if latency > 0 {
		_ = e.clock.Sleep(context.Background(), latency)
	}
	switch f.Kind {
	case fault.Throttle:
		return &wire.Injected{Throttle: true}
	case fault.ServerError:
		return &wire.Injected{Status: 500}
	case fault.LostReply:
		return &wire.Injected{DropReply: true}
	case fault.NoSend:
		return &wire.Injected{DropRequest: true}
	case fault.Stale:
		return &wire.Injected{StaleBy: f.By}
	case fault.Outage:
		return &wire.Injected{Outage: wire.Outage(cmp.Or(f.As, fault.Refused)),
			Silence: func(ctx context.Context) { _ = e.clock.Sleep(ctx, silence) }}
	case fault.ExpiredCredentials:
		return &wire.Injected{Refuse: expiredCredentials(service)}
	case fault.Denied:
		return &wire.Injected{Refuse: accessDenied(service, operation)}
	case fault.Invalid:
		return &wire.Injected{Refuse: invalidParameters(service)}
	}
	return nil
}

// expiredCredentials returns the error for credentials that have expired. The query services have
// another code for it than the JSON services.
func expiredCredentials(service string) *world.Refusal {
	const text = "The security token included in the request is expired"
	switch service {
	case "ecs", "servicediscovery", "application-autoscaling", "codedeploy", "logs":
		return &world.Refusal{Code: "ExpiredTokenException", Message: text}
	case "ec2":
		return &world.Refusal{Code: "RequestExpired", Message: "Request has expired."}
	}
	return &world.Refusal{Code: "ExpiredToken", Message: text, Status: 403}
}

// accessDenied returns the error for an identity that no policy allows the operation. EC2 has its
// own code for it.
func accessDenied(service, operation string) *world.Refusal {
	text := "User is not authorized to perform: " + service + ":" + operation +
		" because no identity-based policy allows the " + service + ":" + operation + " action"
	switch service {
	case "ecs", "servicediscovery", "application-autoscaling", "codedeploy", "logs":
		return &world.Refusal{Code: "AccessDeniedException", Message: text}
	case "ec2":
		return &world.Refusal{Code: "UnauthorizedOperation", Message: text, Status: 403}
	}
	return &world.Refusal{Code: "AccessDenied", Message: text, Status: 403}
}

// invalidParameters returns the service's documented error for invalid parameters.
func invalidParameters(service string) *world.Refusal {
	const text = "The request is not valid"
	switch service {
	case "ecs", "logs":
		return &world.Refusal{Code: "InvalidParameterException", Message: text}
	case "servicediscovery":
		return &world.Refusal{Code: "InvalidInput", Message: text}
	case "codedeploy":
		return &world.Refusal{Code: "InvalidInputException", Message: text}
	case "application-autoscaling":
		return &world.Refusal{Code: "ValidationException", Message: text}
	case "ec2":
		return &world.Refusal{Code: "InvalidParameterValue", Message: text}
	}
	return &world.Refusal{Code: "ValidationError", Message: text}
}
