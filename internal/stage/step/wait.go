package step

import (
	"time"

	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// MemberWatch is a member that is being polled.
type MemberWatch struct {
	Member
	LeavingTargets ecs.StoppingTasks // addresses of tasks that are being stopped
	Stopped        ecs.StoppedOfSet
	StoppedReadAt  time.Time // when stopped tasks were read last
	EmptyReads     int       // reads of stopped tasks in a row that returned none, since [MemberWatch.Signs] saw one
	Signs          verdict.FailureSigns
	LastRunning    int       // LastRunning count at the last poll
	Latest         Member    // the member at the last read of the service
	LatestAt       time.Time // when that was
	Targets        string    // the member's targets at the last poll
	IsComplete     bool      // all of its tasks were healthy at the last poll
	Left           int       // its draining targets at the last poll
	LeftAt         time.Time // when they were read
	LeftRead       bool      // they were read
	DrainStart     time.Time // before the last of them began to drain; zero: not known
	DrainsUntil    time.Time // until when it drains at least; zero: not known
	Rescaled       int       // how often it was scaled to 0 again while it drains
}

// NewMemberWatch returns the watch of a member that was not polled yet.
func NewMemberWatch(m Member) *MemberWatch { return &MemberWatch{Member: m} }
