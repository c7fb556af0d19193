package session

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Opened is a deployment of the journal with its opened account.
type Opened struct {
	Journal    *journal.Journal
	Deployment journal.Deployment
	Plan       *plan.Plan
	Account    *account.Account
	Clock      clock.Clock
}

// FindAndOpen finds the deployment and opens its account.
func (s *Session) FindAndOpen(ctx context.Context, verb, path string, given bool) (*Opened, error) {
	t := &Opened{}
	var err error
	if t.Journal, err = s.OpenExistingJournal(); err != nil {
		return nil, err
	}
	if t.Deployment, err = s.Deployments(t.Journal).Find(ctx, verb, path, given); err == nil {
		err = t.EnterAccount(ctx, s)
	}
	if err != nil {
		t.Journal.Close()
		return nil, err
	}
	return t, nil
}

// EnterAccount opens the account of the deployment. It returns an error if the credentials or the
// Region belong to another one.
func (t *Opened) EnterAccount(ctx context.Context, s *Session) error {
	d := t.Deployment
	var err error
	if t.Plan, err = ReadPlan(d); err != nil {
		return err
	}
	if s.Flags.Region != "" && s.Flags.Region != d.Region {
		return &sluice.Error{Op: "open AWS account", Err: fmt.Errorf("deployment %s is in %s, but --region is %s", d.ID,
			d.Region, s.Flags.Region),
			Next: "leave --region out"}
	}
	if err := checkEndpoint(s.Endpoint(ctx), d); err != nil {
		return err
	}
	if t.Account, t.Clock, err = s.OpenAccount(ctx, d.Region, t.Plan.Role); err != nil {
		return err
	}
	id, err := t.Account.ID(ctx)
	if err == nil && id != d.Account {
		err = &sluice.Error{Op: "open AWS account",
			Err: fmt.Errorf("deployment %s is in account %s, but the credentials are those of %s", d.ID, d.Account,
				id),
			Next: "log in to that account, or give --profile or --assume-role"}
	}
	return err
}

// RunningProcess returns the name of the process that runs a deployment of the journal now, or "".
func (e Env) RunningProcess(ctx context.Context, j *journal.Journal, d journal.Deployment) (string, error) {
	owner, _, err := j.Holder(ctx, engine.LeaseResource(d))
	if err != nil || owner == "" || !e.IsOwnerAlive(owner) {
		return "", err
	}
	return owner, nil
}
