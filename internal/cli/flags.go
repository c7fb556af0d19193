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
type flags struct {
	region, profile, role, endpoint string
	state                           string
	output                          output
}

func (f *flags) register(set *pflag.FlagSet) {
	set.StringVar(&f.region, "region", "", "AWS `Region` (default: the file's, AWS_REGION, the profile's)")
	set.StringVar(&f.profile, "profile", "", "`name` of a profile of the AWS config files")
	set.StringVar(&f.role, "assume-role", "", "`ARN` of a role to take on")
	set.StringVar(&f.endpoint, "endpoint-url", "", "`URL` of all AWS services, such as a sluice sim")
	set.StringVar(&f.state, "state", "", "journal `file` (default: sluice/journal.sqlite in the user's state folder)")
	f.output = text
	set.Var(&f.output, "output", "text or json")
}

// outputFormat is the format of results.
type output string

const (
	text    output = "text"
	jsonOut output = "json"
)

func (o *output) String() string { return string(*o) }
func (o *output) Type() string   { return "format" }

func (o *output) Set(s string) error {
	switch output(s) {
	case text, jsonOut:
		*o = output(s)
		return nil
	}
	return errors.New("it is text or json")
}

// statePath returns the path of the journal.
func (p *program) statePath() string {
	if p.flags.state != "" {
		return p.flags.state
	}
	return filepath.Join(p.env.StateDir, "journal.sqlite")
}

// appFlag is the flag that names the folder or file of an application.
type where struct{ file string }

func (w *where) register(c *cobra.Command) {
	c.Flags().StringVarP(&w.file, "config", "c", "", "application `file`, or the folder that holds it")
}

// applicationPath returns the path of the application, or the ID of a deployment. given is false if
// the command line names neither.
func (w *where) path(c *cobra.Command, args []string) (path string, given bool, err error) {
	switch {
	case len(args) > 0 && isID(args[0]):
		return args[0], true, nil
	case w.file != "" && len(args) > 0:
		return "", false, &sluice.Error{Op: c.CommandPath(), Err: fmt.Errorf("the application is given twice: %s and %s", args[0], w.file),
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
func (w *where) files(path string) string {
	switch {
	case w.file != "":
		return w.file
	case isID(path):
		return "."
	}
	return path
}
