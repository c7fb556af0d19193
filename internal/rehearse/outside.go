package rehearse

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// interventionActs returns the function for each first word of a [Hand]. A new act is added here,
// gets its word in case.go, and its share in [drawnHands].
func acts() map[string]func(f *field, args []int) {
	return map[string]func(*field, []int){
		Rollback: func(f *field, _ []int) { f.command(Rollback) },
		Abort:    func(f *field, _ []int) { f.command(Abort) },
		Pause: func(f *field, _ []int) {
			f.command(Pause)
			f.clock.Go(func() { f.after(time.Minute, func() { f.command("resume") }) })
		},
		EditRule: func(f *field, args []int) { f.edit(int32(args[0]), int32(args[1])) },
		Scale: func(f *field, args []int) {
			f.ask("UpdateService", map[string]any{"cluster": f.World.Cluster, "service": f.World.Service, "desiredCount": args[0]})
		},
		DeleteService: func(f *field, _ []int) {
			f.ask("DeleteService", map[string]any{"cluster": f.World.Cluster, "service": f.World.Service, "force": true})
		},
		Update: func(f *field, _ []int) {
			f.ask("UpdateService", map[string]any{"cluster": f.World.Cluster, "service": f.World.Service, "taskDefinition": "web:1", "forceNewDeployment": true})
		},
		ResumeScaling: func(f *field, _ []int) { f.resumeScaling() },
		TakeClaim:     func(f *field, _ []int) { f.takeClaim() },
		Second:        func(f *field, _ []int) { f.second() },
		TakeOver:      func(f *field, _ []int) { f.takeOver() },
		ScaleCanary: func(f *field, args []int) {
			if f.hostsBeside() {
				f.onBeside("UpdateService", map[string]any{"desiredCount": 1 + args[0]*f.World.Tasks/100})
				return
			}
			f.onCanary("UpdateTaskSet", map[string]any{"scale": map[string]any{"unit": "PERCENT", "value": args[0]}})
		},
		DeleteCanary: func(f *field, _ []int) {
			if f.hostsBeside() {
				f.onBeside("DeleteService", map[string]any{"force": true})
				return
			}
			f.onCanary("DeleteTaskSet", map[string]any{"force": true})
		},
		PromoteCanary: func(f *field, _ []int) { f.onCanary("UpdateServicePrimaryTaskSet", nil) },
		Continue:      func(f *field, _ []int) { f.continues() },
		StopShift:     func(f *field, args []int) { f.stopShift(args[0] > 0) },
		Alarm:         func(f *field, _ []int) { f.alarm() },
		TakeOut:       func(f *field, args []int) { f.takeOut(args[0]) },
		StopTask:      func(f *field, _ []int) { f.stopTask() },
		Register:      func(f *field, _ []int) { f.registers() },
		PutIn:         func(f *field, _ []int) { f.putIn() },
		PutBack:       func(f *field, _ []int) { f.putBackIn() },
		SayUnwell:     func(f *field, args []int) { f.sayUnwell(args[0]) },
	}
}

// performIntervention performs an intervention now.
func (f *field) do(h Hand) {
	f.say("hand: %s", h.Does)
	words := strings.Fields(h.Does)
	args := make([]int, len(words)-1)
	for i, w := range words[1:] {
		if _, err := fmt.Sscan(w, &args[i]); err != nil {
			f.broken("%s: %v", h.Does, err)
			return
		}
	}
	act, ok := acts()[words[0]]
	if !ok {
		f.broken("the case asks for a hand that there is not: %s", h.Does)
		return
	}
	switch words[0] {
	case Update, PromoteCanary, DeleteCanary, StopShift, Alarm, TakeOver, Second:
		f.swayed = f.clock.Now()
	}
	act(f, args)
}

func (f *field) takeClaim() {
	other := plan.Claim{Deployment: plan.IDPrefix + "other", Until: f.clock.Now().Add(24 * time.Hour)}
	if f.ask("TagResource", map[string]any{"resourceArn": f.serviceARN(), "tags": []any{map[string]any{"key": plan.ClaimTag, "value": other.String()}}}) {
		f.taken = f.clock.Now()
	}
}

// changeCanarySet calls an operation on the canary task set, if there is one.
func (f *field) onCanary(operation string, in map[string]any) {
	id := ""
	f.inWorld(func(tx *world.Tx) {
		if s := f.service(tx); s != nil {
			for _, ts := range s.TaskSets {
				if ts.Status == "ACTIVE" && ts.Scale > 0 {
					id = ts.ID
				}
			}
		}
	})
	if id == "" {
		return
	}
	all := map[string]any{"cluster": f.World.Cluster, "service": f.World.Service, "taskSet": id}
	if operation == "UpdateServicePrimaryTaskSet" {
		all = map[string]any{"cluster": f.World.Cluster, "service": f.World.Service, "primaryTaskSet": id}
	}
	for k, v := range in {
		all[k] = v
	}
	f.ask(operation, all)
}

// callECS calls ECS as another tool would, and reports whether the call succeeded.
func (f *field) ask(operation string, in map[string]any) bool {
	return f.askOf("ecs", "AmazonEC2ContainerServiceV20141113."+operation, in)
}

// callAWS calls a service's operation by its target, "<prefix of the API>.<operation>".
func (f *field) askOf(service, target string, in map[string]any) bool {
	_, operation, _ := strings.Cut(target, ".")
	f.outside = true
	defer func() { f.outside = false }()
	body, err := json.Marshal(in)
	if err != nil {
		f.broken("%s: %v", operation, err)
		return false
	}
	ctx, cancel := f.clock.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", awssim.Endpoint+"/", bytes.NewReader(body))
	if err != nil {
		f.broken("%s: %v", operation, err)
		return false
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", target)
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/20990101/%s/%s/aws4_request, SignedHeaders=host, Signature=0", f.World.Account, f.World.Region, service))
	out, err := f.sim.HTTPClient().Do(r)
	if err != nil {
		f.say("outside: %s: %v", operation, err)
		return false
	}
	defer out.Body.Close()
	if text, _ := io.ReadAll(out.Body); out.StatusCode != http.StatusOK {
		f.say("outside: %s: %d %s", operation, out.StatusCode, text)
		if bytes.Contains(text, []byte("UnknownOperation")) {
			f.broken("%s is no operation", target)
		}
		return false
	}
	return true
}

func (f *field) serviceARN() string {
	return fmt.Sprintf("arn:aws:ecs:%s:%s:service/%s/%s", f.World.Region, f.World.Account, f.World.Cluster, f.World.Service)
}

// editRule sets the weights of the first rule, as another actor's Terraform would.
func (f *field) edit(primary, canary int32) {
	f.outside = true
	defer func() { f.outside = false }()
	f.inWorld(func(tx *world.Tx) {
		r := f.ruled(tx)[0]
		actions := slices.Clone(r.Actions)
		fw := *actions[0].Forward
		fw.Groups = []world.Share{{Group: f.World.Primary.ARN, Weight: primary}, {Group: f.World.Canary.ARN, Weight: canary}}
		actions[0].Forward = &fw
		tx.SetActions(r, actions)
	})
}

// restoreRules sets the initial actions of every rule, as a stopped rollback advises.
func (f *field) putBack() {
	f.outside = true
	defer func() { f.outside = false }()
	f.inWorld(func(tx *world.Tx) {
		for _, r := range f.ruled(tx) {
			if was, ok := f.atFirst[r.ARN]; ok && world.ActionsText(was) != world.ActionsText(r.Actions) {
				tx.SetActions(r, was)
			}
		}
	})
}

// forwardingRules returns the rules of the world's listeners that forward to the two groups, or did
// at the start.
func (f *field) ruled(tx *world.Tx) (all []*world.Rule) {
	for _, r := range tx.Rules.Values() {
		fw := r.Forwards()
		if fw == nil || f.World.Marked && r.Priority == markedPriority {
			continue
		}
		if slices.ContainsFunc(fw.Groups, func(s world.Share) bool { return s.Group == f.World.Primary.ARN || s.Group == f.World.Canary.ARN }) {
			all = append(all, r)
		}
	}
	return all
}

func (f *field) inWorld(do func(*world.Tx)) {
	_ = f.sim.World().Do(f.key(), func(tx *world.Tx) error {
		do(tx)
		return nil
	})
}

func (f *field) key() world.Key {
	return world.Key{Account: f.World.Account, Region: f.World.Region}
}
