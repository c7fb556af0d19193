package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
)

// globalFlags are the flags of every command.
type globalFlags struct {
	region, profile, role, endpoint string
	state                           string
	output                          outputFormat
}

func (f *globalFlags) registerGlobalFlags(set *pflag.FlagSet) {
	set.StringVar(&f.region, "region", "", "AWS `Region` (default: the file's, AWS_REGION, the profile's)")
	set.StringVar(&f.profile, "profile", "", "`name` of a profile of the AWS config files")
	set.StringVar(&f.role, "assume-role", "", "`ARN` of a role to assume")
	set.StringVar(&f.endpoint, "endpoint-url", "", "`URL` of all AWS services, such as a sluice sim")
	set.StringVar(&f.state, "state", "", "journal `file` (default: sluice/journal.sqlite in the user's state folder)")
	f.output = textOut
	set.Var(&f.output, "output", "text or json")
}

// outputFormat is the format of results.
type outputFormat string

const (
	textOut outputFormat = "text"
	jsonOut outputFormat = "json"
)

func (o *outputFormat) String() string { return string(*o) }
func (o *outputFormat) Type() string   { return "format" }

func (o *outputFormat) Set(s string) error {
	switch outputFormat(s) {
	case textOut, jsonOut:
		*o = outputFormat(s)
		return nil
	}
	return errors.New("it must be text or json")
}

// statePath returns the path of the journal.
func (p *program) statePath() string {
	if p.flags.state != "" {
		return p.flags.state
	}
	return filepath.Join(p.env.StateDir, "journal.sqlite")
}

// appFlag is the flag that names the folder or file of an application.
type appFlag struct{ file string }

func (w *appFlag) registerConfigFlag(c *cobra.Command) {
	c.Flags().StringVarP(&w.file, "config", "c", "", "application `file`, or the folder that contains it")
}

// applicationPath returns the path of the application, or the ID of a deployment. given is false if
// the command line names neither.
func (w *appFlag) applicationPath(c *cobra.Command, args []string) (path string, given bool, err error) {
	switch {
	case len(args) > 0 && isDeploymentID(args[0]):
		return args[0], true, nil
	case w.file != "" && len(args) > 0:
		return "", false,
			&sluice.Error{Op: c.CommandPath(), Err: fmt.Errorf("the application is given twice: %s and %s", args[0],
				w.file),
				Next: "give the folder, or the file with -c"}
	case w.file != "":
		return w.file, true, nil
	case len(args) > 0:
		return args[0], true, nil
	}
	return ".", false, nil
}

// filesPath returns the path of the application. path is the result of applicationPath, which may be
// a deployment's ID.
func (w *appFlag) filesPath(path string) string {
	switch {
	case w.file != "":
		return w.file
	case isDeploymentID(path):
		return "."
	}
	return path
}
