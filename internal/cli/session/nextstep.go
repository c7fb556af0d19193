package session

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// ownCommand matches a command of sluice that reads AWS, the journal or the application's files, and namedPlace the words
// after it if they name a deployment, a service, a folder, or a word such as ID for which a person puts something.
var (
	ownCommand = regexp.MustCompile(`\bsluice (abort|approve|continue|delete|deploy|diff|exec|gate test|history|logs|plan|refresh|` +
		`resume|revisions|rollback|run|scale|status|tasks|verify|wait)\b`)
	namedPlace = regexp.MustCompile(`^[^,;]* (?:slc-|--cluster|--service|[^ ,;]*/|[A-Z]{2,}\b|in the application's folder)`)
	nextClause = regexp.MustCompile(`,|;|\. | or | then `)
)

// takesService are the commands that take CLUSTER/SERVICE in place of a folder.
var takesService = []string{"abort", "approve", "continue", "exec", "history", "logs", "resume", "revisions",
	"rollback", "status", "tasks", "wait"}

// takesService reports whether the command line's command takes CLUSTER/SERVICE in place of a folder.
func (l *commandLine) takesService() bool {
	return len(l.words) > 1 && slices.Contains(takesService, l.words[1])
}

// setPlace keeps what the command line names, for the next steps that it prints.
func (l *commandLine) setPlace(args []string, f *pflag.FlagSet) {
	config := f.Lookup("config")
	switch {
	case config != nil && config.Changed:
		l.place, l.placeFlag = config.Value.String(), " -c"
	case len(args) == 1 && args[0] != ".":
		l.place = args[0]
	case len(args) == 0:
		l.place = serviceOfFlags(f)
	}
}

// serviceOfFlags returns the only service that the flags --cluster and --service name, as CLUSTER/SERVICE, or "".
func serviceOfFlags(f *pflag.FlagSet) string {
	service, cluster := f.Lookup("service"), "default"
	if service == nil || !service.Changed {
		return ""
	}
	name := service.Value.String()
	if all, isList := service.Value.(pflag.SliceValue); isList {
		if len(all.GetSlice()) != 1 {
			return ""
		}
		name = all.GetSlice()[0]
	}
	if given := f.Lookup("cluster"); given != nil && given.Changed {
		cluster = sluice.ARNName(given.Value.String())
	}
	return cluster + "/" + sluice.ARNName(name)
}

// setPlaceOf keeps the service of a deployment that the command line names by its ID.
func (l *commandLine) setPlaceOf(d journal.Deployment) {
	if IsDeploymentID(l.place) && !IsTaskRun(d.Service) {
		l.place = d.Cluster + "/" + d.Service
	}
}

// setWords keeps the command and its arguments, for the next steps that repeat them.
func (l *commandLine) setWords(c *cobra.Command, args []string) {
	l.words, l.program = append(strings.Fields(c.CommandPath()), args...), nil
	if dash := c.ArgsLenAtDash(); dash >= 0 {
		l.words, l.program = l.words[:len(l.words)-len(args)+dash], args[dash:]
	}
}

// commandAt returns the command line without its flags, for another folder than the one at a path, which it may not name.
func (l *commandLine) commandAt(path, folder string) string {
	words := slices.Clone(l.words)
	if i := slices.Index(words, path); i > 0 {
		words[i] = folder
	} else {
		words = append(words, folder)
	}
	if len(l.program) > 0 {
		words = append(append(words, "--"), l.program...)
	}
	return ShellLine(words)
}

// ShellLine returns a command line with these words as a shell reads it.
func ShellLine(words []string) string {
	var all []string
	for _, word := range words {
		all = append(all, shellWord(word))
	}
	return strings.Join(all, " ")
}

// NextStep returns a next step whose commands are about the same as this one: they get the folder or the service that the
// command line names, unless they name one, and its flags for the journal, the files and the account, unless the text has
// them. A command "with its journal" is about another journal than the one of the command line.
func (s *Session) NextStep(next string) string {
	flags, ofOther := s.Flags.givenWithout(next), s.Flags
	ofOther.state = ""
	var all strings.Builder
	end := 0
	for _, at := range ownCommand.FindAllStringSubmatchIndex(next, -1) {
		all.WriteString(next[end:at[1]])
		end = at[1]
		words := nextClause.Split(next[end:], 2)[0]
		if s.line.takesPlace(s.Env.Disk, next[at[2]:at[3]], words) {
			all.WriteString(s.line.placeFlag + " " + shellWord(s.line.place))
		}
		if strings.Contains(words, " with its journal") {
			all.WriteString(ofOther.givenWithout(next))
		} else {
			all.WriteString(flags)
		}
	}
	return all.String() + next[end:]
}

// givenWithout returns the flags of each command that the command line gives and a text does not have, as a shell reads
// them after a command.
func (f *Flags) givenWithout(text string) string {
	var all strings.Builder
	for _, flag := range []struct {
		name   string
		values []string
	}{{"state", []string{f.state}}, {"env", []string{f.files.environment}}, {"env-file", f.files.envFiles},
		{"set", withoutSecrets(f.files.set)}, {"region", []string{f.Region}}, {"profile", []string{f.profile}},
		{"assume-role", []string{f.role}}, {"endpoint-url", []string{f.endpoint}}} {
		if regexp.MustCompile(`--` + flag.name + `(?:[^\w-]|$)`).MatchString(text) {
			continue
		}
		for _, value := range flag.values {
			if value != "" {
				all.WriteString(" --" + flag.name + " " + shellWord(value))
			}
		}
	}
	return all.String()
}

// withoutSecrets returns variables NAME=value, with the word VALUE in place of a value that is not shown.
func withoutSecrets(pairs []string) (shown []string) {
	for _, pair := range pairs {
		if name, value, _ := strings.Cut(pair, "="); secret.Value(name, value) != value {
			pair = name + "=VALUE"
		}
		shown = append(shown, pair)
	}
	return shown
}

// takesPlace reports whether a command with these words after it needs the place of the command line.
func (l *commandLine) takesPlace(disk Disk, command, words string) bool {
	if l.place == "" || namedPlace.MatchString(strings.ReplaceAll(words, " --id ID", "")) ||
		strings.HasPrefix(words+" ", l.placeFlag+" "+shellWord(l.place)+" ") {
		return false
	}
	if _, isService := disk.ServiceAt(l.place); isService {
		return slices.Contains(takesService, command) && !strings.Contains(words, "--adopt") // which needs the files
	}
	return !strings.HasPrefix(l.place, "slc-") && disk.Exists(l.place)
}

// PrintNext prints a next step.
func (s *Session) PrintNext(next string) { fmt.Fprintln(s.Env.Err, "next: "+s.NextStep(next)) }

// plainWord matches a word that no shell changes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// shellWord returns a word as a shell reads it.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
