package verdict

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// Remedy is what a deployment does if the revision of the files is already PRIMARY.
type Remedy string

const (
	NoRemedy    Remedy = "nothing" // the revision serves
	NoTasks     Remedy = "idle"    // the desired count is 0: no task shows whether the revision works
	KeepWaiting Remedy = "follow"  // AWS still starts tasks of the revision: wait for the verdict
	StartAgain  Remedy = "start"   // AWS starts no more tasks of the revision: start a new deployment
)

// RemedyOf chooses the remedy from the verdict of a wait for the revision, and from the service and
// the CodeDeploy deployment (nil: none) of the last poll. why is for users.
func RemedyOf(v Verdict, s *Service, code *CodeDeployment, revision string) (remedy Remedy, why string) {
	switch {
	case v.Outcome == sluice.Succeeded:
		return NoRemedy, v.Detail
	case s != nil && s.Status == "ACTIVE" && s.Desired == 0:
		return NoTasks, v.Detail
	case code != nil && !code.Ended():
		return KeepWaiting, v.Detail
	}
	if why := s.givenUpReason(revision); why != "" {
		return StartAgain, why
	}
	if v.Outcome == sluice.RolledBack && v.By == revision || v.Outcome == sluice.Stopped {
		return StartAgain, v.Detail
	}
	return KeepWaiting, v.Detail
}

// givenUpReason returns why AWS no longer deploys the revision: its PRIMARY deployment is FAILED,
// or the deployment had ended and has no task left. Empty: AWS still starts tasks of the revision.
func (s *Service) givenUpReason(revision string) string {
	if s == nil {
		return ""
	}
	if p := s.primaryDeployment(); p != nil && p.Revision == revision {
		switch {
		case p.State == "FAILED":
			return fmt.Sprintf("%s is FAILED, %d of %d running", revision, p.Running, s.Desired)
		case p.State == "COMPLETED" && hasLostTasks(p.Running, p.Pending, s.Desired):
			return fmt.Sprintf("%s has lost its tasks, 0 of %d running", revision, s.Desired)
		}
		return ""
	}
	if p := s.primarySet(); p != nil && p.Revision == revision && hasLostTasks(p.Running, p.Pending, p.Desired) {
		return fmt.Sprintf("%s has lost its tasks, 0 of %d running", revision, p.Desired)
	}
	return ""
}

// hasLostTasks reports whether no task runs or starts, although the desired count is above 0.
func hasLostTasks(running, pending, desired int) bool { return running+pending == 0 && desired > 0 }
