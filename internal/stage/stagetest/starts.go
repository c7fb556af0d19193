package stagetest

import (
	"context"
	"fmt"
	"strings"
	"testing/fstest"

	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// StartOnOtherMachine returns a sluice on another machine: an engine with a journal of its own.
func (b *Bench) StartOnOtherMachine() *engine.Engine {
	return &engine.Engine{Journal: Got(journal.Open(journal.Memory, b.Clock))(b), Account: b.Account, Clock: b.Clock,
		Owner: "elsewhere/1", IsAlive: b.Engine.IsAlive, OnEvent: b.Engine.OnEvent,
		NewID: func() string { return plan.IDPrefix + "elsewhere" }}
}

// RunToApproval runs a new deployment until it waits for its approval, and returns its ID.
func (b *Bench) RunToApproval(files fstest.MapFS) string {
	b.Helper()
	p := Got(b.Plan(files, mode.Options{}))(b)
	id := Got(b.Engine.Start(context.Background(), p, engine.TriggerManual))(b)
	if end := Got(b.Engine.Run(context.Background(), id, engine.Options{NoWait: true}))(b); end.Outcome != "" {
		b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
	}
	return id
}

// AbortAtApproval runs a pipeline to its approval, aborts it and leaves what it made.
func (b *Bench) AbortAtApproval(files fstest.MapFS) {
	b.Helper()
	ctx := context.Background()
	id := b.Start(files)
	if end := Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b); end.State != journal.Waiting {
		b.Fatalf("%s %s\n%s", end.State, end.Cause, b.EventLog())
	}
	Must(b, b.Engine.SendCommand(ctx, id, journal.Abort, 0, "ann"))
	Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
}

// FilesThatKeep returns an application that keeps n of the newest task definitions.
func (b *Bench) FilesThatKeep(image string, n int) fstest.MapFS {
	files := b.Files(image, "")
	text := strings.Replace(string(files["sluice.yaml"].Data), "input:\n",
		fmt.Sprintf("input:\n  keepTaskDefinitions: %d\n", n), 1)
	files["sluice.yaml"] = &fstest.MapFile{Data: []byte(text)}
	return files
}
