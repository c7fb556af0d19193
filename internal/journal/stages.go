package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
)

// Statuses of a Stage.
const (
	StageRunning = "running"
	StageDone    = "done"
	StageFailed  = "failed"
	StageSkipped = "skipped"
)

// Stage is one begun stage of a deployment.
type Stage struct {
	Deployment string
	Index      int // position in the plan
	Name       string
	Status     string // StageRunning …
	Began      time.Time
	Ended      time.Time
	Cause      string // the error's text, if it failed
	Kind       sluice.Kind
	Attempts   int // how often it was begun
}

const stageColumns = `deployment, place, name, status, began, ended, cause, kind, attempts`

func scanStage(row scanner) (Stage, error) {
	var s Stage
	var began, ended int64
	err := row.Scan(&s.Deployment, &s.Index, &s.Name, &s.Status, &began, &ended, &s.Cause, &s.Kind, &s.Attempts)
	s.Began, s.Ended = timeOfNanos(began), timeOfNanos(ended)
	return s, err
}

// BeginStage records that a stage begins. A repeated begin keeps the first Began, because waits
// count from it, and adds one attempt.
func (j *Journal) BeginStage(ctx context.Context, deployment string, index int, name string) (Stage, error) {
	var s Stage
	err := j.runWrite(ctx, fmt.Sprintf("record the start of stage %d %s", index, name), deployment, func(tx *tx) error {
		if err := j.touchDeployment(tx, deployment); err != nil {
			return err
		}
		err := tx.exec(`INSERT INTO stages (`+stageColumns+`) VALUES (?, ?, ?, ?, ?, 0, '', '', 1)
			ON CONFLICT (deployment, place) DO UPDATE SET
				status = excluded.status, ended = 0, cause = '', kind = '', attempts = attempts + 1`,
			deployment, index, name, StageRunning, j.nowNanos())
		if err != nil {
			return err
		}
		s, err = scanStage(tx.queryRow(`SELECT `+stageColumns+` FROM stages WHERE deployment = ? AND place = ?`,
			deployment, index))
		if err == nil && s.Name != name {
			err = fmt.Errorf("the stage began as %s; a plan does not change", s.Name)
		}
		return err
	})
	if err != nil {
		return Stage{}, err
	}
	return s, nil
}

// EndStage records how a begun stage ended (StageDone, StageFailed or StageSkipped) and the cause
// of a failure.
func (j *Journal) EndStage(ctx context.Context, deployment string, index int, status, cause string,
	kind sluice.Kind) error {
	op := fmt.Sprintf("record the end of stage %d", index)
	if status != StageDone && status != StageFailed && status != StageSkipped {
		return &sluice.Error{Op: op, Resource: deployment,
			Err: errors.New("status " + status + " is not one of done, failed, skipped")}
	}
	return j.runWrite(ctx, op, deployment, func(tx *tx) error {
		if err := j.touchDeployment(tx, deployment); err != nil {
			return err
		}
		return tx.execOrNotFound(
			`UPDATE stages SET status = ?, cause = ?, kind = ?, ended = ? WHERE deployment = ? AND place = ?`,
			status, j.mask(cause), kind, j.nowNanos(), deployment, index)
	})
}

// Stages returns the begun stages, in the order of the plan.
func (j *Journal) Stages(ctx context.Context, deployment string) ([]Stage, error) {
	return listRows(ctx, j, "list the stages", deployment, scanStage,
		`SELECT `+stageColumns+` FROM stages WHERE deployment = ? ORDER BY place`, deployment)
}
