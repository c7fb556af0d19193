package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// errInterrupted is the cause of a context that Ctrl-C ended.
var errInterrupted = &sluice.Error{Kind: sluice.Halted, Err: errors.New("interrupted")}

// exitCode returns the exit code of an error.
func exitCode(err error) int {
	if hasKind(err, sluice.Denied) {
		return sluice.ExitDenied
	}
	return sluice.KindOf(err).ExitCode()
}

// pausedExitCode returns the exit code for a deployment that an error paused.
func pausedExitCode(err error) int {
	if errors.Is(err, journal.ErrUnusable) {
		return sluice.ExitStopped
	}
	return exitCode(err)
}

// hasKind reports whether an error of the kind is in err's tree.
func hasKind(err error, kind sluice.Kind) bool {
	if e, ok := err.(*sluice.Error); ok && e.Kind == kind {
		return true
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return hasKind(e.Unwrap(), kind)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if hasKind(inner, kind) {
				return true
			}
		}
	}
	return false
}

// printError prints an error: the operation, the cause, and the next step on a line of its own. It
// prints problems in files with their line and caret.
func (p *program) printError(err error) {
	var others []error
	problems := 0
	for _, e := range splitErrors(err) {
		var problem *definition.Problem
		if !errors.As(e, &problem) {
			others = append(others, e)
			continue
		}
		problems++
		fmt.Fprintln(p.env.Err, problem)
		p.writeAnnotation(p.env.Err, "error", problem.Message, annotationPlace(problem))
	}
	if problems > 0 {
		fmt.Fprintf(p.env.Err, "%s in the files; nothing was written\n", sluice.Plural(problems, "problem"))
	}
	for _, e := range others {
		p.printOneError(e)
	}
}

func (p *program) printOneError(err error) {
	if _, noisy := err.(*smithy.OperationError); noisy {
		err = sluice.Inner(err)
	}
	fmt.Fprintln(p.env.Err, p.paint.bad(err.Error()))
	if next := sluice.NextStep(err); next != "" {
		fmt.Fprintln(p.env.Err, "next: "+next)
	}
	p.writeAnnotation(p.env.Err, "error", err.Error(), "")
}

// splitErrors returns a tree of joined errors as a list.
func splitErrors(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) == 0 || !strings.HasPrefix(fmt.Sprintf("%T", err), "*errors.") {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, splitErrors(e)...)
	}
	return all
}

// writeAnnotation writes an annotation if the process runs in GitHub Actions.
func (p *program) writeAnnotation(w io.Writer, level, message, place string) {
	if p.flags.output == textOut && p.isOnGitHub() {
		fmt.Fprintln(w, p.paint.annotationText(level, message, place))
	}
}

func (p *program) isOnGitHub() bool { return p.env.Getenv("GITHUB_ACTIONS") == "true" }

// annotationText returns a workflow command (GitHub documentation, "Workflow commands for GitHub
// Actions"). It escapes percent, CR and LF.
func (p paint) annotationText(level, message, place string) string {
	message = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(message)
	if place != "" {
		level += " " + place
	}
	return p.own.Raw("::") + level + "::" + message
}

// annotationPlace returns the place of a problem as properties of an annotation. It also escapes
// colons and commas in the file's name.
func annotationPlace(p *definition.Problem) string {
	file := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(p.File)
	return fmt.Sprintf("file=%s,line=%d,col=%d", file, p.Line, p.Column)
}
