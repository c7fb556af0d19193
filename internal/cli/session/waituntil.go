package session

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// RegisterWaitUntil adds the flag --wait-until of ecspresso. A command here always waits for the end of the deployment and
// for steady tasks, so that the two usual values change nothing.
func RegisterWaitUntil(c *cobra.Command) {
	c.Flags().Var(waitUntilFlag{}, "wait-until", "deployed or stable (ecspresso): sluice always waits for both")
}

// waitUntilFlag accepts the values for which sluice waits anyway.
type waitUntilFlag struct{}

func (waitUntilFlag) String() string { return "" }

func (waitUntilFlag) Type() string { return "state" }

func (waitUntilFlag) Set(s string) error {
	switch {
	case s == "deployed", s == "stable":
		return nil
	case strings.HasPrefix(s, "ecs:"), strings.HasPrefix(s, "codedeploy:"):
		return fmt.Errorf("sluice cannot wait for %s: leave the flag out to wait for the end, or give --no-wait", s)
	}
	return errors.New("it must be deployed or stable")
}
