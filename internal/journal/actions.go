package journal

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// Action is one change to AWS that was begun. It is evidence for people; what is
// true AWS tells.
type Action struct {
	ID       sluice.ActionID
	Write    sluice.Write
	Result   string // what it made or changed; empty until it has ended
	Cause    string // the error's text, if it failed
	Began    time.Time
	Ended    time.Time // zero: nobody knows whether it took effect
	Attempts int       // how often it was begun
}

const actionColumns = `id, operation, resource, result, cause, began, ended, attempts`

func scanAction(row scanner) (Action, error) {
	var a Action
	var began, ended int64
	err := row.Scan(&a.ID, &a.Write.Operation, &a.Write.Resource, &a.Result, &a.Cause, &began, &ended, &a.Attempts)
	a.Began, a.Ended = instant(began), instant(ended)
	return a, err
}

// BeginAction records a change before it is made. Begun again, it is open again,
// keeps its first Began and is one attempt older.
func (j *Journal) BeginAction(ctx context.Context, id sluice.ActionID, w sluice.Write) error {
	const op = "record the begin of the action"
	if id.Deployment() == "" {
		return &sluice.Error{Op: op, Resource: string(id), Err: errors.New("the ID has no deployment")}
	}
	return j.write(ctx, op, string(id), func(tx *tx) error {
		return tx.exec(`INSERT INTO actions (deployment, `+actionColumns+`) VALUES (?, ?, ?, ?, '', '', ?, 0, 1)
			ON CONFLICT (id) DO UPDATE SET operation = excluded.operation, resource = excluded.resource,
				result = '', cause = '', ended = 0, attempts = attempts + 1`,
			id.Deployment(), id, w.Operation, w.Resource, j.now())
	})
}

// EndAction records what a change that was begun did, or why it failed.
func (j *Journal) EndAction(ctx context.Context, id sluice.ActionID, result, cause string) error {
	return j.write(ctx, "record the end of the action", string(id), func(tx *tx) error {
		return tx.must(`UPDATE actions SET result = ?, cause = ?, ended = ? WHERE id = ?`, secret.Mask(result), secret.Mask(cause), j.now(), id)
	})
}

// Actions are a deployment's, in the order in which they were first begun.
func (j *Journal) Actions(ctx context.Context, deployment string) ([]Action, error) {
	return list(ctx, j, "list the actions", deployment, scanAction,
		`SELECT `+actionColumns+` FROM actions WHERE deployment = ? ORDER BY n`, deployment)
}
