package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// startBudget is a token bucket of task starts.
type allowance struct {
	tokens float64
	at     time.Time
	used   bool
}

// refill refills a budget at rate tokens per second, up to size.
func (a *allowance) fill(now time.Time, size, rate float64) {
	if !a.used {
		*a = allowance{size, now, true}
	}
	a.tokens, a.at = min(size, a.tokens+now.Sub(a.at).Seconds()*rate), now
}

// accountStarts is an account's remaining starts on Fargate.
type startsOfAccount struct{ fargate allowance }

// fargateBurst is how many seconds' worth of starts Fargate accepts in one burst ("AWS Fargate
// throttling quotas": a burst of 100 at a sustained 20 a second).
const fargateBurst = 5

// takeStart takes one start from the quota of the service and from the account's quota on Fargate.
// If none is left, at is when the next one is available.
func takeStart(tx *world.Tx, ts *world.TaskSet) (at time.Time, ok bool) {
	k, now := tx.Knobs(), tx.Now()
	service := &serviceNote(ts.Service).starts
	account := &world.Room[startsOfAccount](tx.Region, "law starts").fargate
	perSecond := float64(k.TaskStartsPerMinute) / 60
	if k.TaskStartsPerMinute > 0 {
		service.fill(now, float64(k.TaskStartsPerMinute), perSecond)
		if service.tokens < 1 {
			return now.Add(until(service, perSecond)), false
		}
	}
	onFargate := ts.LaunchType == "FARGATE" && k.FargateStartsPerSecond > 0
	if onFargate {
		account.fill(now, float64(fargateBurst*k.FargateStartsPerSecond), float64(k.FargateStartsPerSecond))
		if account.tokens < 1 {
			return now.Add(until(account, float64(k.FargateStartsPerSecond))), false
		}
		account.tokens--
	}
	service.tokens--
	return now, true
}

// timeToStart returns how long it takes until a budget has a start again.
func until(a *allowance, rate float64) time.Duration {
	return time.Duration((1-a.tokens)/rate*float64(time.Second)) + time.Millisecond
}
