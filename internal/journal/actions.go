package journal

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-ecs/sluice"
)

// Action is one change to AWS that was begun. It is evidence for people; AWS is the source of
// truth.
type Action struct {
	ID       sluice.ActionID
	Write    sluice.Write
	Result   string // what was created or changed; empty until it has ended
	Cause    string // the error's text, if it failed
	Began    time.Time
	Ended    time.Time // zero: unknown whether it took effect
	Attempts int       // how often it was begun
}

const actionColumns = `id, operation, resource, result, cause, began, ended, attempts`

func scanAction(row scanner) (Action, error) {
	var a Action
	var began, ended int64
	err := row.Scan(&a.ID, &a.Write.Operation, &a.Write.Resource, &a.Result, &a.Cause, &began, &ended, &a.Attempts)
	a.Began, a.Ended = timeOfNanos(began), timeOfNanos(ended)
	return a, err
}

// BeginAction records a change before it is made. A repeated begin opens the action again, keeps
// its first Began and adds one attempt.
func (j *Journal) BeginAction(ctx context.Context, id sluice.ActionID, w sluice.Write) error {
	const op = "record the start of the action"
	if id.Deployment() == "" {
		return &sluice.Error{Op: op, Resource: string(id), Err: errors.New("the ID has no deployment")}
	}
	return j.runWrite(ctx, op, string(id), func(tx *tx) error {
		return tx.exec(`INSERT INTO actions (deployment, `+actionColumns+`) VALUES (?, ?, ?, ?, '', '', ?, 0, 1)
			ON CONFLICT (id) DO UPDATE SET operation = excluded.operation, resource = excluded.resource,
				result = '', cause = '', ended = 0, attempts = attempts + 1`,
			id.Deployment(), id, w.Operation, w.Resource, j.nowNanos())
	})
}

// EndAction records the result of a begun change, or why it failed.
func (j *Journal) EndAction(ctx context.Context, id sluice.ActionID, result, cause string) error {
	return j.runWrite(ctx, "record the end of the action", string(id), func(tx *tx) error {
		return tx.execOrNotFound(`UPDATE actions SET result = ?, cause = ?, ended = ? WHERE id = ?`,
			j.mask(result), j.mask(cause), j.nowNanos(), id)
	})
}

// Actions returns a deployment's actions, in the order of their first begin.
func (j *Journal) Actions(ctx context.Context, deployment string) ([]Action, error) {
	return listRows(ctx, j, "list the actions", deployment, scanAction,
		`SELECT `+actionColumns+` FROM actions WHERE deployment = ? ORDER BY n`, deployment)
}
