package verdict

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// Remedy is what a deployment does where the revision of the files is PRIMARY
// already.
type Remedy string

const (
	NoRemedy    Remedy = "nothing" // the revision serves
	NoTasks     Remedy = "idle"    // no task is to run, so that no task shows whether the revision works
	KeepWaiting Remedy = "follow"  // AWS still starts tasks of the revision: its verdict is waited for
	StartAnew   Remedy = "start"   // AWS has given the revision up: a new deployment has to bring it
)

// RemedyOf decides by the verdict of a wait for the revision, and by the service
// and the CodeDeploy deployment (nil: none) of the last poll. why is for people.
func RemedyOf(v Verdict, s *Service, code *CodeDeployment, revision string) (remedy Remedy, why string) {
	switch {
	case v.Outcome == sluice.Succeeded:
		return NoRemedy, v.Detail
	case s != nil && s.Status == "ACTIVE" && s.Desired == 0:
		return NoTasks, v.Detail
	case code != nil && !code.Ended():
		return KeepWaiting, v.Detail
	}
	if why := s.givenUp(revision); why != "" {
		return StartAnew, why
	}
	if v.Outcome == sluice.RolledBack && v.By == revision || v.Outcome == sluice.Stopped {
		return StartAnew, v.Detail
	}
	return KeepWaiting, v.Detail
}

// givenUp is why AWS brings the revision no further: its PRIMARY deployment FAILED,
// or it had ended and no task of it is left. Empty: AWS still starts tasks of it.
func (s *Service) givenUp(revision string) string {
	if s == nil {
		return ""
	}
	if p := s.primary(); p != nil && p.Revision == revision {
		switch {
		case p.State == "FAILED":
			return fmt.Sprintf("%s is FAILED, %d of %d running", revision, p.Running, s.Desired)
		case p.State == "COMPLETED" && lost(p.Running, p.Pending, s.Desired):
			return fmt.Sprintf("%s has lost its tasks, 0 of %d running", revision, s.Desired)
		}
		return ""
	}
	if p := s.primarySet(); p != nil && p.Revision == revision && lost(p.Running, p.Pending, p.Desired) {
		return fmt.Sprintf("%s has lost its tasks, 0 of %d running", revision, p.Desired)
	}
	return ""
}

// lost reports whether no task runs or starts, though some should.
func lost(running, pending, desired int) bool { return running+pending == 0 && desired > 0 }
