package journal

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-ecs/sluice"
)

// Kinds of a Command.
const (
	Approve  = "approve"
	Pause    = "pause"
	Resume   = "resume"
	Abort    = "abort"
	Rollback = "rollback"
	TakeOver = "take-over"
)

// Command is a person's request to a deployment. The engine that runs the deployment reads the rows
// at every poll.
type Command struct {
	Seq        int64 // set by [Journal.AddCommand]; grows over the whole journal
	Deployment string
	Kind       string // Approve …
	Stage      string // of an approval; empty is the waiting stage
	By         string // the person
	At         time.Time
}

func scanCommand(row scanner) (Command, error) {
	var c Command
	var at int64
	err := row.Scan(&c.Seq, &c.Deployment, &c.Kind, &c.Stage, &c.By, &at)
	c.At = timeOfNanos(at)
	return c, err
}

// AddCommand records c with the current time and returns its Seq.
func (j *Journal) AddCommand(ctx context.Context, c Command) (int64, error) {
	op := "record the command " + c.Kind
	switch c.Kind {
	case Approve, Pause, Resume, Abort, Rollback, TakeOver:
	default:
		return 0, &sluice.Error{Op: op, Resource: c.Deployment,
			Err: errors.New("the command is not one of approve, pause, abort, rollback, take-over")}
	}
	var seq int64
	err := j.runWrite(ctx, op, c.Deployment, func(tx *tx) error {
		return tx.queryRow(
			`INSERT INTO commands (deployment, kind, stage, by, at) VALUES (?, ?, ?, ?, ?) RETURNING seq`,
			c.Deployment, c.Kind, c.Stage, c.By, j.nowNanos()).Scan(&seq)
	})
	return seq, err
}

// Commands returns a deployment's commands with a Seq above after, in order.
func (j *Journal) Commands(ctx context.Context, deployment string, after int64) ([]Command, error) {
	return listRows(ctx, j, "list the commands", deployment, scanCommand,
		`SELECT seq, deployment, kind, stage, by, at FROM commands WHERE deployment = ? AND seq > ? ORDER BY seq`,
		deployment, after)
}
