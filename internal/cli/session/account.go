package session

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// OpenAccount opens the AWS account in a Region. The flag --region overrides the argument.
func (s *Session) OpenAccount(ctx context.Context, region string) (*account.Account, clock.Clock, error) {
	c, scaled, err := s.OpenClock()
	if err != nil {
		return nil, nil, err
	}
	if s.Flags.Region != "" {
		region = s.Flags.Region
	}
	if a := s.accounts[region]; a != nil {
		return a, c, nil
	}
	a, err := account.Open(ctx, account.Config{
		Region: region, Profile: s.Flags.profile, AssumeRole: s.Flags.role, EndpointURL: s.Flags.endpoint,
		HTTPClient: s.Env.HTTPClient, Credentials: s.Env.Credentials, APIOptions: s.Env.APIOptions, Clock: c,
		Jitter:    s.RandomFraction,
		OnSilence: s.printSilence,
	})
	if err != nil {
		return nil, nil, err
	}
	if scaled {
		err = a.SpeedAllowed()
	}
	if err == nil {
		if s.accounts == nil {
			s.accounts = map[string]*account.Account{}
		}
		s.accounts[region] = a
	}
	return a, c, err
}

// printSilence prints that AWS does not respond. It is used where no deployment reports this by an
// event.
func (s *Session) printSilence(e sluice.Unanswered) { fmt.Fprintln(s.Env.Err, e.Text()) }

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
	return &engine.Engine{Journal: j, Account: a, Clock: c, Owner: s.OwnerName(), IsAlive: s.IsOwnerAlive,
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
