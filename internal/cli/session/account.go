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
func (p *Session) OpenAccount(ctx context.Context, region string) (*account.Account, clock.Clock, error) {
	c, scaled, err := p.OpenClock()
	if err != nil {
		return nil, nil, err
	}
	if p.Flags.Region != "" {
		region = p.Flags.Region
	}
	if a := p.accounts[region]; a != nil {
		return a, c, nil
	}
	a, err := account.Open(ctx, account.Config{
		Region: region, Profile: p.Flags.profile, AssumeRole: p.Flags.role, EndpointURL: p.Flags.endpoint,
		HTTPClient: p.Env.HTTPClient, Credentials: p.Env.Credentials, APIOptions: p.Env.APIOptions, Clock: c,
		Jitter:    p.RandomFraction,
		OnSilence: p.printSilence,
	})
	if err != nil {
		return nil, nil, err
	}
	if scaled {
		err = a.SpeedAllowed()
	}
	if err == nil {
		if p.accounts == nil {
			p.accounts = map[string]*account.Account{}
		}
		p.accounts[region] = a
	}
	return a, c, err
}

// printSilence prints that AWS does not respond. It is used where no deployment reports this by an
// event.
func (p *Session) printSilence(e sluice.Unanswered) { fmt.Fprintln(p.Env.Err, e.Text()) }

// RandomFraction returns a random number in [0,1).
func (p *Session) RandomFraction() float64 {
	var b [8]byte
	if _, err := p.Env.Rand.Read(b[:]); err != nil {
		return 0
	}
	return float64(binary.LittleEndian.Uint64(b[:])>>11) / (1 << 53)
}

// NewEngine returns an engine that runs deployments of the account with the journal.
func (p *Session) NewEngine(a *account.Account, c clock.Clock, j *journal.Journal) *engine.Engine {
	return &engine.Engine{Journal: j, Account: a, Clock: c, Owner: p.OwnerName(), IsAlive: p.IsOwnerAlive,
		NewID: func() string {
			id := ulid.MustNew(ulid.Timestamp(c.Now()), p.Env.Rand)
			return plan.IDPrefix + strings.ToLower(id.String())
		}}
}

// OwnerName returns the name of this process in leases.
func (p *Session) OwnerName() string { return fmt.Sprintf("%s/%d", p.Env.Host, p.Env.PID) }

// IsOwnerAlive reports whether the process of a lease still runs. A process of another machine
// cannot be checked; it counts as running until its lease expires.
func (p *Session) IsOwnerAlive(owner string) bool {
	host, text, ok := strings.Cut(owner, "/")
	pid, err := strconv.Atoi(text)
	if !ok || err != nil || host != p.Env.Host {
		return true
	}
	return p.Env.IsAlive(pid)
}
