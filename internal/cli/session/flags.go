package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
)

// Flags are the flags of every command.
type Flags struct {
	Region, profile, role, endpoint string
	state                           string
	timeout                         time.Duration // 0: not given
	Output                          OutputFormat
	verbose                         bool // ARNs in full
	files                           fileFlags
	providers                       string
}

func (f *Flags) Register(set *pflag.FlagSet) {
	set.StringVar(&f.Region, "region", "", "AWS `Region` (default: that of file, AWS_REGION, profile)")
	set.StringVar(&f.profile, "profile", "", "`name` of a profile of the AWS config files")
	set.StringVar(&f.role, "assume-role", "", "`ARN` of a role to assume")
	set.StringVar(&f.role, "assume-role-arn", "", "the same as --assume-role")
	set.DurationVar(&f.timeout, "timeout", 0, "`time` that a deployment, or any other command, may take, such as 15m")
	set.StringVar(&f.endpoint, "endpoint-url", "", "`URL` of all AWS services, such as a sluice sim")
	set.StringVar(&f.state, "state", "", "journal `file` (default: in the user's state folder)")
	set.BoolVar(&f.verbose, "verbose", false, "show ARNs in full")
	set.StringArrayVar(&f.files.envFiles, "env-file", nil,
		"`file` of variables for the application's files; repeatable")
	set.StringArrayVar(&f.files.set, "set", nil, "a variable of the files, as `NAME=value`; repeatable")
	set.Var(onceFlag{&f.files.environment}, "env", "`name` of the environment of sluice.yaml, such as prod")
	set.StringArrayVar(&f.files.envFiles, "envfile", nil,
		"`file` of environment variables for templates (ecspresso's files)")
	set.StringArrayVar(&f.files.extStr, "ext-str", nil, "external text of Jsonnet: `name=value`, several with ;")
	set.StringArrayVar(&f.files.extCode, "ext-code", nil, "external code of Jsonnet: `name=code`, several with ;")
	set.StringVar(&f.providers, "providers", "", "`file` with further analysisProviders, such as piped's configuration")
	f.Output = Text
	set.Var(&f.Output, "output", "text or json")
	set.Var(&f.Output, "log-format", "the same as --output")
	set.VarPF(boolFlag("", func(on bool) {
		if on {
			f.Output = JSON
		}
	}), "json", "", "the same as --output json").NoOptDefVal = "true"
}

// OutputFormat is the format of results.
type OutputFormat string

const (
	Text OutputFormat = "text"
	JSON OutputFormat = "json"
	// Markdown is a format of sluice plan only.
	Markdown OutputFormat = "markdown"
)

func (o *OutputFormat) String() string { return string(*o) }

func (o *OutputFormat) Type() string { return "format" }

func (o *OutputFormat) Set(s string) error {
	switch OutputFormat(s) {
	case Text, JSON:
		*o = OutputFormat(s)
		return nil
	case "table": // ecspresso's word
		*o = Text
		return nil
	case "tsv":
		return ChoiceError{Words: []string{string(Text), string(JSON)}, Note: ": jq -r prints json as TSV with @tsv"}
	}
	return ChoiceError{Words: []string{string(Text), string(JSON)}}
}

// OutputWords returns the formats of a command that also prints Markdown.
func OutputWords() []string { return []string{string(Text), string(JSON), string(Markdown)} }

// MarkdownFlag returns the value of the flag --output of a command that also prints Markdown.
func MarkdownFlag(flags *Flags) pflag.Value {
	return flagValue{kind: "format", byDefault: string(Text), set: func(s string) error {
		if OutputFormat(s) == Markdown {
			flags.Output = Markdown
			return nil
		}
		if err := flags.Output.Set(s); err != nil {
			return ChoiceError{Words: OutputWords()}
		}
		return nil
	}}
}

// ApplicationFlag is the flag that names the folder or file of an application.
type ApplicationFlag struct{ file string }

func (w *ApplicationFlag) Register(c *cobra.Command) {
	c.Flags().StringVarP(&w.file, "config", "c", "", "application `file`, or the folder that contains it")
}

// Path returns the path of the application, or the ID of a deployment. given is false if
// the command line names neither.
func (w *ApplicationFlag) Path(c *cobra.Command, args []string) (path string, given bool, err error) {
	switch {
	case len(args) > 0 && IsDeploymentID(args[0]):
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
	if file := c.Flags().Lookup("config").DefValue; file != "" {
		return file, true, nil // see takeVariables
	}
	return ".", false, nil
}

// Run returns the RunE of a command on the application that the command line names.
func (w *ApplicationFlag) Run(run func(c *cobra.Command, path string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		path, _, err := w.Path(c, args)
		if err != nil {
			return err
		}
		return run(c, path)
	}
}

// FilesPath returns the path of the application. path is the result of Path, which may be
// a deployment's ID.
func (w *ApplicationFlag) FilesPath(path string) string {
	switch {
	case w.file != "":
		return w.file
	case IsDeploymentID(path):
		return "."
	}
	return path
}

// ChooseEnvironment chooses the environment of the files, for a command whose own flag --env hides the one of all commands.
func (f *Flags) ChooseEnvironment(name string) error {
	if f.files.environment != "" {
		return errors.New("the environment is given twice")
	}
	f.files.environment = name
	return nil
}
