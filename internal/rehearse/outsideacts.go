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
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// interventionActs returns the function for each first word of an [Intervention]. An act that no
// scenario of the catalogue needs is an act of an [Extension].
func interventionActs() map[string]func(f *Rehearsal, args []int) {
	return map[string]func(*Rehearsal, []int){
		Rollback: func(f *Rehearsal, _ []int) { f.SendCommand(Rollback) },
		EditRule: func(f *Rehearsal, args []int) { f.editRule(int32(args[0]), int32(args[1])) },
		SetDesiredCount: func(f *Rehearsal, args []int) {
			f.CallECS("UpdateService", map[string]any{"cluster": f.World.Cluster, "service": f.World.Service,
				"desiredCount": args[0]})
		},
		DeleteService: func(f *Rehearsal, _ []int) {
			f.CallECS("DeleteService", map[string]any{"cluster": f.World.Cluster, "service": f.World.Service,
				"force": true})
		},
		TakeClaim:    func(f *Rehearsal, _ []int) { f.takeClaim() },
		SecondSluice: func(f *Rehearsal, _ []int) { f.StartSluice(mode.Options{}, nil) },
	}
}

// PerformIntervention performs an intervention now.
func (f *Rehearsal) PerformIntervention(h Intervention) {
	f.LogLine("intervention: %s", h.Does)
	words := strings.Fields(h.Does)
	args := make([]int, len(words)-1)
	for i, w := range words[1:] {
		if _, err := fmt.Sscan(w, &args[i]); err != nil {
			f.Fail("%s: %v", h.Does, err)
			return
		}
	}
	switch words[0] {
	case UpdateService, PromoteCanary, DeleteCanary, StopCodeDeploy, RaiseAlarm, TakeOver, SecondSluice:
		f.primaryChangedAt = f.Clock.Now()
	}
	if act, ok := interventionActs()[words[0]]; ok {
		act(f, args)
	} else if act, ok := f.extension.Acts[words[0]]; ok {
		act(args)
	} else {
		f.Fail("the case has an unknown intervention: %s", h.Does)
	}
}

func (f *Rehearsal) takeClaim() {
	other := plan.Claim{Deployment: plan.IDPrefix + "other", Until: f.Clock.Now().Add(24 * time.Hour)}
	if f.CallECS("TagResource", map[string]any{"resourceArn": f.serviceARN(),
		"tags": []any{map[string]any{"key": plan.ClaimTag, "value": other.String()}}}) {
		f.claimTakenAt = f.Clock.Now()
	}
}

// CallECS calls ECS as another tool would, and reports whether the call succeeded.
func (f *Rehearsal) CallECS(operation string, in map[string]any) bool {
	return f.CallAWS("ecs", "AmazonEC2ContainerServiceV20141113."+operation, in)
}

// CallAWS calls a service's operation by its target, "<prefix of the API>.<operation>".
func (f *Rehearsal) CallAWS(service, target string, in map[string]any) bool {
	_, operation, _ := strings.Cut(target, ".")
	f.externalActs = true
	defer func() { f.externalActs = false }()
	body, err := json.Marshal(in)
	if err != nil {
		f.Fail("%s: %v", operation, err)
		return false
	}
	ctx, cancel := f.Clock.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", awssim.Endpoint+"/", bytes.NewReader(body))
	if err != nil {
		f.Fail("%s: %v", operation, err)
		return false
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", target)
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/20990101/%s/%s/aws4_request, "+
		"SignedHeaders=host, Signature=0", f.World.Account, f.World.Region, service))
	out, err := f.Sim.HTTPClient().Do(r)
	if err != nil {
		f.LogLine("outside: %s: %v", operation, err)
		return false
	}
	defer out.Body.Close()
	if text, _ := io.ReadAll(out.Body); out.StatusCode != http.StatusOK {
		f.LogLine("outside: %s: %d %s", operation, out.StatusCode, text)
		if bytes.Contains(text, []byte("UnknownOperation")) {
			f.Fail("%s is not an operation", target)
		}
		return false
	}
	return true
}

func (f *Rehearsal) serviceARN() string {
	return fmt.Sprintf("arn:aws:ecs:%s:%s:service/%s/%s", f.World.Region, f.World.Account, f.World.Cluster,
		f.World.Service)
}

// editRule sets the weights of the first rule, as another actor's Terraform would.
func (f *Rehearsal) editRule(primary, canary int32) {
	f.externalActs = true
	defer func() { f.externalActs = false }()
	f.InWorld(func(tx *world.Tx) {
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
func (f *Rehearsal) restoreRules() {
	f.externalActs = true
	defer func() { f.externalActs = false }()
	f.InWorld(func(tx *world.Tx) {
		for _, r := range f.forwardingRules(tx) {
			if was, ok := f.initialActions[r.ARN]; ok && world.ActionsText(was) != world.ActionsText(r.Actions) {
				tx.SetActions(r, was)
			}
		}
	})
}

// forwardingRules returns the rules of the world's listeners that forward to the two groups, or did
// at the start.
func (f *Rehearsal) forwardingRules(tx *world.Tx) (all []*world.Rule) {
	for _, r := range tx.Rules.Values() {
		fw := r.ForwardAction()
		if fw == nil || f.World.CanaryOnlyRule && r.Priority == shape.CanaryRulePriority {
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

// InWorld calls do in one transaction of the world.
func (f *Rehearsal) InWorld(do func(*world.Tx)) {
	_ = f.Sim.World().Do(f.worldKey(), func(tx *world.Tx) error {
		do(tx)
		return nil
	})
}

func (f *Rehearsal) worldKey() world.Key {
	return world.Key{Account: f.World.Account, Region: f.World.Region}
}
