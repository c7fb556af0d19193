package session

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/oklog/ulid/v2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// openedAccounts are the accounts that a session has opened.
type openedAccounts struct {
	mu     sync.Mutex
	opened map[accountPlace]*account.Account
	limits *account.Limits // of all of them
}

// accountPlace is a Region, and the role that is assumed; empty: none.
type accountPlace struct{ region, role string }

func newOpenedAccounts() *openedAccounts {
	return &openedAccounts{opened: map[accountPlace]*account.Account{}, limits: account.NewLimits()}
}

// OpenAccountOf opens the AWS account of an application: in its Region, with its role. The flags override both.
func (s *Session) OpenAccountOf(ctx context.Context, app *appfile.Application) (*account.Account, clock.Clock, error) {
	a, c, err := s.OpenAccount(ctx, app.Region, app.Role)
	if err != nil && s.Flags.Region == "" && account.IsNoRegion(app.Region) {
		err = appfile.LocateAt(app.PlaceOfRegion(), err)
	}
	return a, c, adviseRegion(err, app)
}

// adviseRegion adds to a missing Region the one of the ARNs in the files.
func adviseRegion(err error, app *appfile.Application) error {
	var problem *sluice.Error
	region, place := app.RegionOfARNs()
	if region == "" || !errors.Is(err, account.ErrNoRegion) || !errors.As(err, &problem) {
		return err
	}
	advised := *problem
	advised.Err = fmt.Errorf("%w; the ARN in %s is of %s", problem.Err, place, region)
	advised.Next = "give --region " + region + ", or set AWS_REGION"
	if app.Format == appfile.Sluice {
		advised.Next = "give --region " + region + ", or write region: " + region + " in " + app.File
	}
	return &advised
}

// OpenAccount opens the AWS account in a Region with a role; both may be empty. The flags override them.
func (s *Session) OpenAccount(ctx context.Context, region, role string) (*account.Account, clock.Clock, error) {
	return s.OpenAccountIn(ctx, cmp.Or(s.Flags.Region, region), role)
}

// OpenAccountIn opens the AWS account in exactly that Region, with a role that the flag overrides.
func (s *Session) OpenAccountIn(ctx context.Context, region, role string) (*account.Account, clock.Clock, error) {
	c, scaled, err := s.OpenClock()
	if err != nil {
		return nil, nil, err
	}
	at := accountPlace{region, cmp.Or(s.Flags.role, role)}
	if s.accounts == nil {
		s.accounts = newOpenedAccounts()
	}
	s.accounts.mu.Lock()
	defer s.accounts.mu.Unlock()
	if a := s.accounts.opened[at]; a != nil {
		return a, c, nil
	}
	a, err := account.Open(ctx, account.Config{
		Region: at.region, Profile: s.Flags.profile, AssumeRole: at.role, EndpointURL: s.Flags.endpoint,
		HTTPClient: s.Env.HTTPClient, Credentials: s.Env.Credentials, APIOptions: s.Env.APIOptions, Clock: c,
		Jitter:    s.Env.RandomFraction,
		Limits:    s.accounts.limits,
		OnSilence: func(e sluice.Unanswered) { s.Notices.show(s.Env.Err, e.Text()) }, // no event reports it
		OnBegin:   s.Notices.calls.Begin,
	})
	if err != nil {
		return nil, nil, err
	}
	if scaled {
		err = a.SpeedAllowed()
	}
	if err == nil {
		s.accounts.opened[at] = a
	}
	return a, c, err
}

// RandomFraction returns a random number in [0,1).
func (e Env) RandomFraction() float64 {
	var b [8]byte
	if _, err := e.Rand.Read(b[:]); err != nil {
		return 0
	}
	return float64(binary.LittleEndian.Uint64(b[:])>>11) / (1 << 53)
}

// NewEngine returns an engine that runs deployments of the account with the journal.
func (s *Session) NewEngine(a *account.Account, c clock.Clock, j *journal.Journal) *engine.Engine {
	return &engine.Engine{Journal: j, Account: a, Clock: c, Owner: s.Env.OwnerName(), By: s.Env.starterName(),
		IsAlive: s.Env.IsOwnerAlive, OutsideAWS: s.Env.OutsideAWS(a),
		NewID: func() string {
			id := ulid.MustNew(ulid.Timestamp(c.Now()), s.Env.Rand)
			return plan.IDPrefix + strings.ToLower(id.String())
		}}
}

// OwnerName returns the name of this process in leases.
func (e Env) OwnerName() string { return fmt.Sprintf("%s/%d", e.Host, e.PID) }

// IsOwnerAlive reports whether the process of a lease still runs. A process of another machine
// cannot be checked; it counts as running until its lease expires.
func (e Env) IsOwnerAlive(owner string) bool {
	host, text, ok := strings.Cut(owner, "/")
	pid, err := strconv.Atoi(text)
	if !ok || err != nil || host != e.Host {
		return true
	}
	return e.IsAlive(pid)
}
