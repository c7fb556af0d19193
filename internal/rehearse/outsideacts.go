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

// interventionActs returns the function for each first word of a [Intervention]. A new act is added here,
// gets its word in case.go, and its share in [interventionKinds].
func interventionActs() map[string]func(f *rehearsal, args []int) {
	return map[string]func(*rehearsal, []int){
		Rollback: func(f *rehearsal, _ []int) { f.sendCommand(Rollback) },
		Abort:    func(f *rehearsal, _ []int) { f.sendCommand(Abort) },
		Pause: func(f *rehearsal, _ []int) {
			f.sendCommand(Pause)
			f.clock.Go(func() { f.afterDelay(time.Minute, func() { f.sendCommand("resume") }) })
		},
		EditRule: func(f *rehearsal, args []int) { f.editRule(int32(args[0]), int32(args[1])) },
		SetDesiredCount: func(f *rehearsal, args []int) {
			f.callECS("UpdateService", map[string]any{"cluster": f.World.Cluster, "service": f.World.Service,
				"desiredCount": args[0]})
		},
		DeleteService: func(f *rehearsal, _ []int) {
			f.callECS("DeleteService", map[string]any{"cluster": f.World.Cluster, "service": f.World.Service,
				"force": true})
		},
		UpdateService: func(f *rehearsal, _ []int) {
			f.callECS("UpdateService", map[string]any{"cluster": f.World.Cluster, "service": f.World.Service,
				"taskDefinition": "web:1", "forceNewDeployment": true})
		},
		ResumeScaling: func(f *rehearsal, _ []int) { f.resumeScaling() },
		TakeClaim:     func(f *rehearsal, _ []int) { f.takeClaim() },
		SecondSluice:  func(f *rehearsal, _ []int) { f.startSecond() },
		TakeOver:      func(f *rehearsal, _ []int) { f.startTakeOver() },
		ScaleCanary: func(f *rehearsal, args []int) {
			if f.hasCanaryService() {
				f.changeCanaryService("UpdateService", map[string]any{"desiredCount": 1 + args[0]*f.World.Tasks/100})
				return
			}
			f.changeCanarySet("UpdateTaskSet",
				map[string]any{"scale": map[string]any{"unit": "PERCENT", "value": args[0]}})
		},
		DeleteCanary: func(f *rehearsal, _ []int) {
			if f.hasCanaryService() {
				f.changeCanaryService("DeleteService", map[string]any{"force": true})
				return
			}
			f.changeCanarySet("DeleteTaskSet", map[string]any{"force": true})
		},
		PromoteCanary:      func(f *rehearsal, _ []int) { f.changeCanarySet("UpdateServicePrimaryTaskSet", nil) },
		ContinueCodeDeploy: func(f *rehearsal, _ []int) { f.continueShifts() },
		StopCodeDeploy:     func(f *rehearsal, args []int) { f.stopCodeDeploy(args[0] > 0) },
		RaiseAlarm:         func(f *rehearsal, _ []int) { f.raiseAlarm() },
		DeregisterInstance: func(f *rehearsal, args []int) { f.deregisterInstance(args[0]) },
		StopTask:           func(f *rehearsal, _ []int) { f.stopTask() },
		RegisterRevision:   func(f *rehearsal, _ []int) { f.registerRevision() },
		RegisterAddress:    func(f *rehearsal, _ []int) { f.registerAddress() },
		RegisterTask:       func(f *rehearsal, _ []int) { f.registerTask() },
		SetUnhealthy:       func(f *rehearsal, args []int) { f.setUnhealthy(args[0]) },
	}
}

// performIntervention performs an intervention now.
func (f *rehearsal) performIntervention(h Intervention) {
	f.logLine("intervention: %s", h.Does)
	words := strings.Fields(h.Does)
	args := make([]int, len(words)-1)
	for i, w := range words[1:] {
		if _, err := fmt.Sscan(w, &args[i]); err != nil {
			f.failRehearsal("%s: %v", h.Does, err)
			return
		}
	}
	act, ok := interventionActs()[words[0]]
	if !ok {
		f.failRehearsal("the case has an unknown intervention: %s", h.Does)
		return
	}
	switch words[0] {
	case UpdateService, PromoteCanary, DeleteCanary, StopCodeDeploy, RaiseAlarm, TakeOver, SecondSluice:
		f.primaryChangedAt = f.clock.Now()
	}
	act(f, args)
}

func (f *rehearsal) takeClaim() {
	other := plan.Claim{Deployment: plan.IDPrefix + "other", Until: f.clock.Now().Add(24 * time.Hour)}
	if f.callECS("TagResource", map[string]any{"resourceArn": f.serviceARN(),
		"tags": []any{map[string]any{"key": plan.ClaimTag, "value": other.String()}}}) {
		f.claimTakenAt = f.clock.Now()
	}
}

// changeCanarySet calls an operation on the canary task set, if there is one.
func (f *rehearsal) changeCanarySet(operation string, in map[string]any) {
	id := ""
	f.inWorld(func(tx *world.Tx) {
		if s := f.findService(tx); s != nil {
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
	f.callECS(operation, all)
}

// callECS calls ECS as another tool would, and reports whether the call succeeded.
func (f *rehearsal) callECS(operation string, in map[string]any) bool {
	return f.callAWS("ecs", "AmazonEC2ContainerServiceV20141113."+operation, in)
}

// callAWS calls a service's operation by its target, "<prefix of the API>.<operation>".
func (f *rehearsal) callAWS(service, target string, in map[string]any) bool {
	_, operation, _ := strings.Cut(target, ".")
	f.externalActs = true
	defer func() { f.externalActs = false }()
	body, err := json.Marshal(in)
	if err != nil {
		f.failRehearsal("%s: %v", operation, err)
		return false
	}
	ctx, cancel := f.clock.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", awssim.Endpoint+"/", bytes.NewReader(body))
	if err != nil {
		f.failRehearsal("%s: %v", operation, err)
		return false
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", target)
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/20990101/%s/%s/aws4_request, "+
		"SignedHeaders=host, Signature=0", f.World.Account, f.World.Region, service))
	out, err := f.sim.HTTPClient().Do(r)
	if err != nil {
		f.logLine("outside: %s: %v", operation, err)
		return false
	}
	defer out.Body.Close()
	if text, _ := io.ReadAll(out.Body); out.StatusCode != http.StatusOK {
		f.logLine("outside: %s: %d %s", operation, out.StatusCode, text)
		if bytes.Contains(text, []byte("UnknownOperation")) {
			f.failRehearsal("%s is not an operation", target)
		}
		return false
	}
	return true
}

func (f *rehearsal) serviceARN() string {
	return fmt.Sprintf("arn:aws:ecs:%s:%s:service/%s/%s", f.World.Region, f.World.Account, f.World.Cluster,
		f.World.Service)
}

// editRule sets the weights of the first rule, as another actor's Terraform would.
func (f *rehearsal) editRule(primary, canary int32) {
	f.externalActs = true
	defer func() { f.externalActs = false }()
	f.inWorld(func(tx *world.Tx) {
		r := f.forwardingRules(tx)[0]
		actions := slices.Clone(r.Actions)
		fw := *actions[0].Forward
		fw.Groups = []world.Share{{Group: f.World.Primary.ARN, Weight: primary},
			{Group: f.World.Canary.ARN, Weight: canary}}
		actions[0].Forward = &fw
		tx.SetActions(r, actions)
	})
}

// restoreRules sets the initial actions of every rule, as a stopped rollback advises.
func (f *rehearsal) restoreRules() {
	f.externalActs = true
	defer func() { f.externalActs = false }()
	f.inWorld(func(tx *world.Tx) {
		for _, r := range f.forwardingRules(tx) {
			if was, ok := f.initialActions[r.ARN]; ok && world.ActionsText(was) != world.ActionsText(r.Actions) {
				tx.SetActions(r, was)
			}
		}
	})
}

// forwardingRules returns the rules of the world's listeners that forward to the two groups, or did
// at the start.
func (f *rehearsal) forwardingRules(tx *world.Tx) (all []*world.Rule) {
	for _, r := range tx.Rules.Values() {
		fw := r.ForwardAction()
		if fw == nil || f.World.CanaryOnlyRule && r.Priority == canaryRulePriority {
			continue
		}
		if slices.ContainsFunc(fw.Groups, func(s world.Share) bool {
			return s.Group == f.World.Primary.ARN ||
				s.Group == f.World.Canary.ARN
		}) {
			all = append(all, r)
		}
	}
	return all
}

func (f *rehearsal) inWorld(do func(*world.Tx)) {
	_ = f.sim.World().Do(f.worldKey(), func(tx *world.Tx) error {
		do(tx)
		return nil
	})
}

func (f *rehearsal) worldKey() world.Key {
	return world.Key{Account: f.World.Account, Region: f.World.Region}
}
