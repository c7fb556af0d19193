package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// startBudget is a token bucket of task starts.
type startBudget struct {
	tokens float64
	at     time.Time
	used   bool
}

// refill refills a budget at rate tokens per second, up to size.
func (a *startBudget) refill(now time.Time, size, rate float64) {
	if !a.used {
		*a = startBudget{size, now, true}
	}
	a.tokens, a.at = min(size, a.tokens+now.Sub(a.at).Seconds()*rate), now
}

// accountStarts is an account's remaining starts on Fargate.
type accountStarts struct{ fargate startBudget }

// fargateBurst is how many seconds' worth of starts Fargate accepts in one burst ("AWS Fargate
// throttling quotas": a burst of 100 at a sustained 20 a second).
const fargateBurst = 5

// takeStart takes one start from the quota of the service and from the account's quota on Fargate.
// If none is left, at is when the next one is available.
func takeStart(tx *world.Tx, ts *world.TaskSet) (at time.Time, ok bool) {
	k, now := tx.Settings(), tx.Now()
	service := &stateOfService(ts.Service).budget
	account := &world.PrivateState[accountStarts](tx.Region, "law starts").fargate
	perSecond := float64(k.TaskStartsPerMinute) / 60
	if k.TaskStartsPerMinute > 0 {
		service.refill(now, float64(k.TaskStartsPerMinute), perSecond)
		if service.tokens < 1 {
			return now.Add(timeToStart(service, perSecond)), false
		}
	}
	onFargate := ts.LaunchType == "FARGATE" && k.FargateStartsPerSecond > 0
	if onFargate {
		account.refill(now, float64(fargateBurst*k.FargateStartsPerSecond), float64(k.FargateStartsPerSecond))
		if account.tokens < 1 {
			return now.Add(timeToStart(account, float64(k.FargateStartsPerSecond))), false
		}
		account.tokens--
	}
	service.tokens--
	return now, true
}

// timeToStart returns how long it takes until a budget has a start again.
func timeToStart(a *startBudget, rate float64) time.Duration {
	return time.Duration((1-a.tokens)/rate*float64(time.Second)) + time.Millisecond
}
