package session

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/oklog/ulid/v2"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// openedAccounts are the accounts that a session has opened, by Region.
type openedAccounts struct {
	mu       sync.Mutex
	byRegion map[string]*account.Account
	limits   *account.Limits // of all of them
}

func newOpenedAccounts() *openedAccounts {
	return &openedAccounts{byRegion: map[string]*account.Account{}, limits: account.NewLimits()}
}

// OpenAccount opens the AWS account in a Region. The flag --region overrides the argument.
func (s *Session) OpenAccount(ctx context.Context, region string) (*account.Account, clock.Clock, error) {
	c, scaled, err := s.OpenClock()
	if err != nil {
		return nil, nil, err
	}
	if s.Flags.Region != "" {
		region = s.Flags.Region
	}
	a, err := s.openIn(ctx, region, c, scaled)
	return a, c, err
}

// OpenAccountIn opens the AWS account in exactly that Region.
func (s *Session) OpenAccountIn(ctx context.Context, region string) (*account.Account, error) {
	c, scaled, err := s.OpenClock()
	if err != nil {
		return nil, err
	}
	return s.openIn(ctx, region, c, scaled)
}

func (s *Session) openIn(ctx context.Context, region string, c clock.Clock, scaled bool) (*account.Account, error) {
	if s.accounts == nil {
		s.accounts = newOpenedAccounts()
	}
	s.accounts.mu.Lock()
	defer s.accounts.mu.Unlock()
	if a := s.accounts.byRegion[region]; a != nil {
		return a, nil
	}
	a, err := account.Open(ctx, account.Config{
		Region: region, Profile: s.Flags.profile, AssumeRole: s.Flags.role, EndpointURL: s.Flags.endpoint,
		HTTPClient: s.Env.HTTPClient, Credentials: s.Env.Credentials, APIOptions: s.Env.APIOptions, Clock: c,
		Jitter:    s.RandomFraction,
		Limits:    s.accounts.limits,
		OnSilence: s.printSilence,
		OnBegin:   s.calls.Begin,
	})
	if err != nil {
		return nil, err
	}
	if scaled {
		err = a.SpeedAllowed()
	}
	if err == nil {
		s.accounts.byRegion[region] = a
	}
	return a, err
}

// RandomFraction returns a random number in [0,1).
func (s *Session) RandomFraction() float64 {
	var b [8]byte
	if _, err := s.Env.Rand.Read(b[:]); err != nil {
		return 0
	}
	return float64(binary.LittleEndian.Uint64(b[:])>>11) / (1 << 53)
}

// NewEngine returns an engine that runs deployments of the account with the journal.
func (s *Session) NewEngine(a *account.Account, c clock.Clock, j *journal.Journal) *engine.Engine {
	return &engine.Engine{Journal: j, Account: a, Clock: c, Owner: s.OwnerName(), By: s.starterName(), IsAlive: s.IsOwnerAlive,
		OutsideAWS: s.OutsideAWS(a),
		NewID: func() string {
			id := ulid.MustNew(ulid.Timestamp(c.Now()), s.Env.Rand)
			return plan.IDPrefix + strings.ToLower(id.String())
		}}
}

// OwnerName returns the name of this process in leases.
func (s *Session) OwnerName() string { return fmt.Sprintf("%s/%d", s.Env.Host, s.Env.PID) }

// IsOwnerAlive reports whether the process of a lease still runs. A process of another machine
// cannot be checked; it counts as running until its lease expires.
func (s *Session) IsOwnerAlive(owner string) bool {
	host, text, ok := strings.Cut(owner, "/")
	pid, err := strconv.Atoi(text)
	if !ok || err != nil || host != s.Env.Host {
		return true
	}
	return s.Env.IsAlive(pid)
}
