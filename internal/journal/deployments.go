package journal

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
)

// State is the state of a deployment.
type State string

const (
	// Running: an engine runs it, or was killed while it did.
	Running State = "running"
	// Waiting: for an approval, or for a WAIT to pass.
	Waiting State = "waiting"
	// Paused: a person stopped it for the time being.
	Paused State = "paused"
	// Ended: it has an outcome.
	Ended State = "ended"
)

// Deployment is one attempt to deploy a revision of an application.
type Deployment struct {
	ID          string
	Application string
	Account     string // 12 digits
	Region      string
	Cluster     string // name
	Service     string // name
	Endpoint    Endpoint
	Trigger     string // what started it, for people
	By          string // who started it; empty: unknown

	State   State
	Outcome sluice.Outcome // empty until it has ended
	Cause   string         // the error's text at the end
	Next    string         // what the reader should do after that

	Plan []byte // the plan as JSON; never changed

	Began   time.Time
	Updated time.Time // last change of state or stage
	Ended   time.Time
	Idle    time.Duration // between an end and the rollback or resume that reopened the deployment
}

// Took returns how long an ended deployment ran, with its rollback and without the time between them.
func (d Deployment) Took() time.Duration { return d.Ended.Sub(d.Began) - d.Idle }

const deploymentColumns = `id, application, account, region, cluster, service, cause_of,
	state, outcome, cause, next, plan, began, updated, ended, endpoint, world, started_by, idle`

func scanDeployment(row scanner) (Deployment, error) {
	var d Deployment
	var began, updated, ended int64
	var url sql.NullString
	err := row.Scan(&d.ID, &d.Application, &d.Account, &d.Region, &d.Cluster, &d.Service, &d.Trigger,
		&d.State, &d.Outcome, &d.Cause, &d.Next, &d.Plan, &began, &updated, &ended, &url, &d.Endpoint.World, &d.By, &d.Idle)
	d.Endpoint.URL, d.Endpoint.Unrecorded = url.String, !url.Valid
	d.Began, d.Updated, d.Ended = timeOfNanos(began), timeOfNanos(updated), timeOfNanos(ended)
	return d, err
}

// CreateDeployment records a new deployment. Began defaults to the current time and State to
// Running. An ID that the journal already has is [ErrExists].
func (j *Journal) CreateDeployment(ctx context.Context, d Deployment) error {
	if d.ID == "" || strings.Contains(d.ID, "/") {
		return &sluice.Error{Op: opCreate, Resource: d.ID, Err: errors.New("the ID must not be empty or contain a slash")}
	}
	if d.State == "" {
		d.State = Running
	}
	return j.runWrite(ctx, opCreate, d.ID, func(tx *tx) error {
		now := j.nowNanos()
		began := now
		if !d.Began.IsZero() {
			began = d.Began.UnixNano()
		}
		return tx.exec(`INSERT INTO deployments (`+deploymentColumns+`)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', '', '', ?, ?, ?, 0, ?, ?, ?, 0)`,
			d.ID, d.Application, d.Account, d.Region, d.Cluster, d.Service, d.Trigger,
			d.State, nonNilBytes(d.Plan), began, now,
			sql.NullString{String: d.Endpoint.URL, Valid: !d.Endpoint.Unrecorded}, d.Endpoint.World, d.By)
	})
}

// Deployment reads one deployment; an unknown ID is [ErrNotFound].
func (j *Journal) Deployment(ctx context.Context, id string) (Deployment, error) {
	return firstRow(ctx, j, "read the deployment", id, scanDeployment,
		`SELECT `+deploymentColumns+` FROM deployments WHERE id = ?`, id)
}

// LatestDeployment returns the newest deployment that f selects, or [ErrNotFound].
func (j *Journal) LatestDeployment(ctx context.Context, f Filter) (Deployment, error) {
	f.Limit = 1
	where, args := f.clauses()
	return firstRow(ctx, j, "read the latest deployment", f.Service, scanDeployment,
		`SELECT `+deploymentColumns+` FROM deployments `+where, args...)
}

// Filter selects deployments; an empty field selects all.
type Filter struct {
	Account, Region, Cluster, Service string

	IDPrefix string // the first characters of the ID

	At    *Endpoint // only those of this endpoint; see [Endpoint.Has]
	Open  bool      // only those that have not ended
	Limit int       // 0 is no limit
}

// clauses returns the part of a query after its table, newest deployment first, and its arguments.
func (f Filter) clauses() (query string, args []any) {
	if f.Limit <= 0 {
		f.Limit = -1
	}
	at := Endpoint{}
	if f.At != nil {
		at = *f.At
	}
	return `WHERE (?1 = '' OR account = ?1) AND (?2 = '' OR region = ?2) AND (?3 = '' OR cluster = ?3)
		AND (?4 = '' OR service = ?4) AND (NOT ?5 OR state <> ?6)
		AND (NOT ?7 OR (world <> '' AND world = ?9) OR (endpoint IS NULL AND ?9 = '')
			OR (endpoint = ?8 AND (world = '' OR ?9 = '')))
		AND substr(id, 1, length(?11)) = ?11
		ORDER BY n DESC LIMIT ?10`,
		[]any{f.Account, f.Region, f.Cluster, f.Service, f.Open, Ended, f.At != nil, at.URL, at.World, f.Limit, f.IDPrefix}
}

// Deployments returns the deployments that f selects, newest first, in the order in which they were
// recorded.
func (j *Journal) Deployments(ctx context.Context, f Filter) ([]Deployment, error) {
	where, args := f.clauses()
	return listRows(ctx, j, "list deployments", j.path, scanDeployment,
		`SELECT `+deploymentColumns+` FROM deployments `+where, args...)
}

// SetState records that a deployment runs, waits or pauses. It reopens an ended deployment and
// clears its outcome: a rollback or a resume after the end begins with that. Only [Journal.EndDeployment]
// ends a deployment.
func (j *Journal) SetState(ctx context.Context, id string, s State) error {
	const op = "record the deployment's state"
	if s != Running && s != Waiting && s != Paused {
		return &sluice.Error{Op: op, Resource: id,
			Err: errors.New("state " + string(s) + " is not one of running, waiting, paused")}
	}
	return j.runWrite(ctx, op, id, func(tx *tx) error {
		return tx.execOrNotFound(`UPDATE deployments SET state = ?1, outcome = '', cause = '', next = '', ended = 0, updated = ?2,
			idle = idle + iif(ended > 0, max(?2 - ended, 0), 0) WHERE id = ?3`, s, j.nowNanos(), id)
	})
}

// EndDeployment records how and why a deployment ended, and what its reader should do. A second end
// replaces the first.
func (j *Journal) EndDeployment(ctx context.Context, id string, o sluice.Outcome, cause, next string) error {
	return j.runWrite(ctx, "record the deployment's end", id, func(tx *tx) error {
		return tx.execOrNotFound(`UPDATE deployments SET state = ?1, outcome = ?2, cause = ?3, next = ?4, ended = ?5, updated = ?5 WHERE id = ?6`,
			Ended, o, j.mask(cause), j.mask(next), j.nowNanos(), id)
	})
}

// touchDeployment sets a deployment's Updated to the current time.
func (j *Journal) touchDeployment(tx *tx, id string) error {
	return tx.execOrNotFound(`UPDATE deployments SET updated = ? WHERE id = ?`, j.nowNanos(), id)
}

// nonNilBytes keeps an empty value from becoming NULL.
func nonNilBytes(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
