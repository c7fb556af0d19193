package piped

import (
	"context"
	"encoding/json"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// analysisKey is the shared object of the application that has the times of its last analyses. Each deploy
// target has its own.
const analysisKey = "sluice-analysis"

// analysed has when the stage of a gate began that was good last, by stage and gate.
type analysed map[string]time.Time

func gateKey(stage, gate string) string { return stage + "/" + gate }

// stageWithEarlierGates returns the stage if a gate of it compares with an earlier deployment.
func (t *targetRun) stageWithEarlierGates() (plan.Stage, bool) {
	if t.index >= len(t.plan.Stages) { // the rollback
		return plan.Stage{}, false
	}
	s := t.plan.Stages[t.index]
	return s, s.HasEarlierGates()
}

// findEarlier gives the gates of the stage that compare with an earlier deployment the time of its stage.
// The times are saved, so that an attempt after a kill compares with the same deployment.
func (t *targetRun) findEarlier(ctx context.Context) error {
	if _, has := t.stageWithEarlierGates(); !has {
		return nil
	}
	key := "earlier-" + t.in.GetStage().GetId()
	text, saved, err := t.host.Load(ctx, key)
	if err == nil && !saved {
		if text, err = t.loadAnalysed(ctx); err == nil {
			err = t.host.Save(ctx, key, text)
		}
	}
	if err != nil {
		return err
	}
	earlier := parseAnalysed(text)
	t.plan.CompareWithEarlier(func(stage, gate string) time.Time { return earlier[gateKey(stage, gate)] })
	return nil
}

// saveAnalysed saves when the stage began, for the gates of later deployments. The stage has succeeded.
func (t *targetRun) saveAnalysed(ctx context.Context) error {
	stage, has := t.stageWithEarlierGates()
	if !has {
		return nil
	}
	text, err := t.loadAnalysed(ctx)
	if err != nil {
		return err
	}
	now := parseAnalysed(text)
	for _, g := range stage.Gates {
		if g.ComparesWithEarlier() {
			now[gateKey(stage.Name, g.Name)] = t.host.Began()
		}
	}
	object, err := json.Marshal(now)
	if err != nil {
		return err
	}
	err = callPiped(context.WithoutCancel(ctx), func(ctx context.Context) error {
		_, err := t.host.piped.PutApplicationSharedObject(ctx, &contract.PutApplicationSharedObjectRequest{
			ApplicationId: t.in.GetDeployment().GetApplicationId(), PluginName: t.host.plugin,
			Key: t.host.prefix + analysisKey, Object: object})
		return err
	})
	return t.host.metadataError("save", analysisKey, err)
}

// loadAnalysed returns the shared object; empty if there is none.
func (t *targetRun) loadAnalysed(ctx context.Context) (object []byte, err error) {
	err = callPiped(ctx, func(ctx context.Context) error {
		out, err := t.host.piped.GetApplicationSharedObject(ctx, &contract.GetApplicationSharedObjectRequest{
			ApplicationId: t.in.GetDeployment().GetApplicationId(), PluginName: t.host.plugin,
			Key: t.host.prefix + analysisKey})
		if status.Code(err) == codes.NotFound {
			return nil // no analysis has succeeded yet
		}
		object = out.GetObject()
		return err
	})
	return object, t.host.metadataError("read", analysisKey, err)
}

// parseAnalysed returns the times of a shared object. An object that cannot be read has none, and the next
// success replaces it.
func parseAnalysed(text []byte) analysed {
	all := analysed{}
	if err := json.Unmarshal(text, &all); err != nil || all == nil {
		return analysed{}
	}
	return all
}
