package piped

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sluice-ecs/sluice/internal/pausehook"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// commandInterval is the time between two looks at the commands of a stage, in the machine's time.
const commandInterval = 2 * time.Second

// errSkipped is the cause of a stage that a person skipped.
var errSkipped = errors.New("skipped")

// commands follows what people press on PipeCD's page of a stage that runs.
type commands struct {
	*targetRun
	skip     context.CancelCauseFunc
	seen     map[string]bool // ids of commands
	approved atomic.Bool     // the stage may go on without a verdict
}

// executeStage runs a stage and follows the commands of people.
func (c *commands) executeStage(ctx context.Context, w *stage.Run) error {
	ctx, c.skip = context.WithCancelCause(ctx)
	defer c.skip(nil)
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		c.follow(ctx)
	}()
	err := w.Execute(ctx)
	if errors.Is(context.Cause(ctx), errSkipped) {
		c.isSkipped, err = true, nil
	}
	c.skip(nil)
	<-followed
	return err
}

func (c *commands) follow(ctx context.Context) {
	ticker := time.NewTicker(commandInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		r, err := c.plugin.piped.ListStageCommands(ctx, &contract.ListStageCommandsRequest{
			DeploymentId: c.in.GetDeployment().GetId(), StageId: c.in.GetStage().GetId()})
		if err != nil {
			continue // the next look asks again
		}
		for _, command := range r.GetCommands() {
			if id := command.GetId(); !c.seen[id] {
				c.seen[id] = true
				c.handle(ctx, command)
			}
		}
	}
}

// handle does what a person wants. A waiting stage is skipped or approved; in another stage both answer ECS's hooks.
func (c *commands) handle(ctx context.Context, command *contract.Command) {
	switch kind, by := command.GetType(), " by "+command.GetCommander(); {
	case kind != contract.Command_SKIP_STAGE && kind != contract.Command_APPROVE_STAGE:
	case !stageOf(c.in).IsWait():
		if err := c.answerHooks(ctx, command); err != nil {
			delete(c.seen, command.GetId())
			c.log.writeLines(contract.LogSeverity_ERROR, "the hook is not answered: "+explainError(err))
		}
	case kind == contract.Command_SKIP_STAGE:
		c.log.writeLines(contract.LogSeverity_INFO, "skipped"+by)
		c.skip(errSkipped)
	default:
		c.log.writeLines(contract.LogSeverity_INFO, "approved"+by)
		c.approved.Store(true)
	}
}

// answerHooks continues the deployment of ECS if it is paused. Each command answers one pause, also after a kill.
func (c *commands) answerHooks(ctx context.Context, command *contract.Command) error {
	if !c.plan.Mode().HasService() {
		return nil
	}
	h, key := c.host.ofAllTargets(), "answered "+command.GetId()
	if _, used, err := h.Load(ctx, key); err != nil || used {
		return err
	}
	service := c.serviceClient()
	record, err := pausehook.CurrentDeployment(ctx, service)
	if err != nil || record == nil {
		return err
	}
	hooks := record.AwaitedHooks()
	if err := h.Save(ctx, key, []byte{'1'}); err != nil {
		return err
	}
	if len(hooks) == 0 {
		c.log.writeLines(contract.LogSeverity_INFO, "approved by "+command.GetCommander()+
			", but no hook of ECS waits for an answer: nothing is done")
	}
	for _, hook := range hooks {
		c.log.writeLines(contract.LogSeverity_INFO, "hook "+hook.ID+" is approved by "+command.GetCommander())
		if err := pausehook.Answer(ctx, service, c.newTagWriter().writeTags, record.ARN, hook.ID, false); err != nil {
			return err
		}
	}
	return nil
}

// ask returns the stage's way to ask; nil if its page has no button for an answer.
func (c *commands) ask() func(question string) bool {
	if c.in.GetStage().GetAvailableOperation() != contract.ManualOperation_MANUAL_OPERATION_APPROVE {
		return nil
	}
	asked := false
	return func(question string) bool {
		if !asked && !c.approved.Load() {
			asked = true
			c.log.writeLines(contract.LogSeverity_INFO, question)
			c.log.writeLines(contract.LogSeverity_INFO,
				"next: choose APPROVE to continue without a verdict, or cancel the deployment to roll back")
			c.log.setDisplay("waits for an approval")
		}
		return c.approved.Load()
	}
}
