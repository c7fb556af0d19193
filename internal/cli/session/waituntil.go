package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/verdict"
)

// RegisterWaitUntil adds the flag --wait-until of ecspresso. A command here always waits for the end of the deployment and
// for steady tasks, so that deployed and stable change nothing. event gets the lifecycle event of codedeploy:EVENT; nil: the
// command has none.
func RegisterWaitUntil(c *cobra.Command, event *string) {
	help := "deployed or stable (ecspresso): sluice always waits for both"
	if event != nil {
		help += "; or codedeploy:`EVENT`, to end when this lifecycle event has succeeded"
	}
	c.Flags().Var(waitUntilFlag{event}, "wait-until", help)
}

// waitUntilFlag accepts the values for which sluice waits anyway, and a lifecycle event.
type waitUntilFlag struct{ event *string }

func (waitUntilFlag) String() string { return "" }

func (waitUntilFlag) Type() string { return "state" }

func (f waitUntilFlag) Set(s string) error {
	name, isCodeDeploy := strings.CutPrefix(s, "codedeploy:")
	switch {
	case s == "deployed", s == "stable":
		return nil
	case isCodeDeploy && f.event == nil:
		return fmt.Errorf("sluice cannot wait for %s here: give it to sluice deploy or sluice wait", s)
	case isCodeDeploy && !slices.Contains(verdict.LifecycleEventNames(), name):
		return fmt.Errorf("%q is no lifecycle event of ECS: give one of %s", name,
			strings.Join(verdict.LifecycleEventNames(), ", "))
	case isCodeDeploy:
		*f.event = name
		return nil
	case strings.HasPrefix(s, "ecs:"):
		return fmt.Errorf("sluice cannot wait for %s: leave the flag out to wait for the end, or give --no-wait", s)
	case s == "paused":
		return errors.New("sluice does not wait for a pause: leave the flag out, or give --no-wait")
	}
	return errors.New("it must be deployed or stable")
}
