package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// RegisterWaitUntil adds the flag --wait-until of ecspresso. A command here always waits for the end of the deployment and
// for steady tasks, so that deployed and stable change nothing. until gets what the wait ends at before, in the form of
// [watch.Update.HasReached]; nil: the command has none.
func RegisterWaitUntil(c *cobra.Command, until *string) {
	help := "deployed or stable (ecspresso): sluice always waits for both"
	if until != nil {
		help += "; end earlier: at `codedeploy:EVENT`, a lifecycle event that has succeeded, ecs:STAGE, a stage of ECS's own " +
			"strategy, or paused, when a hook of it waits for an answer"
	}
	c.Flags().Var(FlagOf("state", func(s string) error { return setWaitUntil(until, s) }), "wait-until", help)
}

// setWaitUntil accepts the values for which sluice waits anyway, a lifecycle event, a lifecycle stage and paused.
func setWaitUntil(until *string, s string) error {
	event, isCodeDeploy := strings.CutPrefix(s, "codedeploy:")
	stage, isECS := strings.CutPrefix(s, watch.UntilECS)
	switch {
	case s == "deployed", s == "stable":
		return nil
	case (isCodeDeploy || isECS || s == watch.UntilPaused) && until == nil:
		return fmt.Errorf("sluice cannot wait for %s here: give it to sluice deploy or sluice wait", s)
	case isCodeDeploy && !slices.Contains(verdict.LifecycleEventNames(), event):
		return fmt.Errorf("%q is no lifecycle event of ECS: give one of %s", event,
			strings.Join(verdict.LifecycleEventNames(), ", "))
	case isECS && !slices.Contains(verdict.LifecycleStageNames(), stage):
		return fmt.Errorf("%q is no lifecycle stage of ECS: give one of %s", stage,
			strings.Join(verdict.LifecycleStageNames(), ", "))
	case isCodeDeploy:
		*until = event
		return nil
	case isECS, s == watch.UntilPaused:
		*until = s
		return nil
	}
	return ChoiceError{Words: []string{"deployed", "stable", watch.UntilPaused, "codedeploy:EVENT", "ecs:STAGE"}}
}
