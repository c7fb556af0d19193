package journal

import (
	"context"

	"github.com/sluice-ecs/sluice"
)

func scanEvent(row scanner) (sluice.Envelope, error) {
	var e sluice.Envelope
	var at int64
	var data []byte
	err := row.Scan(&e.Deployment, &e.Seq, &at, &e.Schema, &e.Stage, &e.Kind, &data)
	e.At = timeOfNanos(at)
	if len(data) > 0 {
		e.Data = data
	}
	return e, err
}

// AppendEvent records an event with the current time and returns it as recorded. Its Seq counts per
// deployment from 1 without gaps. Text that looks like a secret is masked.
func (j *Journal) AppendEvent(ctx context.Context, e sluice.Envelope) (sluice.Envelope, error) {
	err := j.runWrite(ctx, "record the event "+e.Kind, e.Deployment, func(tx *tx) error {
		now := j.nowNanos()
		e.At = timeOfNanos(now)
		if len(e.Data) > 0 {
			e.Data = []byte(j.mask(string(e.Data)))
		}
		err := tx.queryRow(`SELECT coalesce(max(seq), 0) + 1 FROM events WHERE deployment = ?`,
			e.Deployment).Scan(&e.Seq)
		if err != nil {
			return err
		}
		return tx.exec(`INSERT INTO events (deployment, seq, at, schema, stage, kind, data) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			e.Deployment, e.Seq, now, e.Schema, e.Stage, e.Kind, nonNilBytes(e.Data))
	})
	if err != nil {
		return sluice.Envelope{}, err
	}
	return e, nil
}

// Events returns a deployment's events with a Seq above after, in order, and at most limit of them
// if limit is above 0.
func (j *Journal) Events(ctx context.Context, deployment string, after int64, limit int) ([]sluice.Envelope, error) {
	if limit <= 0 {
		limit = -1
	}
	return listRows(ctx, j, "list the events", deployment, scanEvent,
		`SELECT deployment, seq, at, schema, stage, kind, data FROM events
		WHERE deployment = ? AND seq > ? ORDER BY seq LIMIT ?`, deployment, after, limit)
}
