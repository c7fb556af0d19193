package session

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
)

// variableFlags are the flags that have an environment variable of ecspresso: ECSPRESSO_TIMEOUT for --timeout. Those of
// fileFlags have one too.
var variableFlags = []string{"timeout", "assume-role-arn", "log-format"}

// TakeVariables sets flags that are not given by the environment variables of ecspresso.
func (s *Session) TakeVariables(c *cobra.Command) error {
	if file := s.Env.Getenv("ECSPRESSO_CONFIG"); file != "" {
		if f := c.Flags().Lookup("config"); f != nil {
			f.DefValue = file
		}
	}
	for _, name := range variableFlags {
		variable := "ECSPRESSO_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		value := s.Env.Getenv(variable)
		flag := c.Flags().Lookup(name)
		if value == "" || flag == nil || flag.Changed || name == "assume-role-arn" && s.Flags.role != "" {
			continue
		}
		if err := c.Flags().Set(name, value); err != nil {
			return &sluice.Error{Op: c.CommandPath(), Err: fmt.Errorf("%s is %q: %w", variable, value, err),
				Next: "correct the variable, or unset it"}
		}
	}
	return nil
}
