package session

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// ErrInterrupted is the cause of a context that Ctrl-C ended.
var ErrInterrupted = &sluice.Error{Kind: sluice.Halted, Err: errors.New("interrupted")}

// ExitCode returns the exit code of an error.
func ExitCode(err error) int {
	if hasKind(err, sluice.Denied) {
		return sluice.ExitDenied
	}
	return sluice.KindOf(err).ExitCode()
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

// PrintError prints an error: the operation, the cause, and the next step on a line of its own. It
// prints problems in files with their line and caret.
func (s *Session) PrintError(err error) {
	var others []error
	problems := 0
	for _, e := range splitErrors(err) {
		var problem *definition.Problem
		if !errors.As(e, &problem) {
			others = append(others, e)
			continue
		}
		problems++
		fmt.Fprintln(s.Env.Err, problem)
		s.WriteAnnotation(s.Env.Err, "error", problem.Message, show.AnnotationPlace(problem))
	}
	if problems > 0 {
		fmt.Fprintf(s.Env.Err, "%s in the files; nothing was written\n", sluice.Plural(problems, "problem"))
	}
	for _, err := range others {
		if _, noisy := err.(*smithy.OperationError); noisy {
			err = sluice.Inner(err)
		}
		fmt.Fprintln(s.Env.Err, s.Paint.Bad(s.Paint.ARNs(err.Error())))
		text := err.Error()
		if next := s.NextStep(sluice.NextStep(err)); next != "" {
			s.PrintNext(next)
			text += "\nnext: " + next
		}
		s.WriteAnnotation(s.Env.Err, "error", text, "")
	}
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

// WriteAnnotation writes an annotation if the process runs in GitHub Actions. place has its other properties, see
// [show.AnnotationPlace] and [show.AnnotationTitle].
func (s *Session) WriteAnnotation(w io.Writer, level, message, place string) {
	if s.Flags.Output != JSON && s.Env.isOnGitHub() {
		fmt.Fprintln(w, s.Paint.Annotation(level, s.Secrets.Mask(message), place))
	}
}

func (e Env) isOnGitHub() bool { return e.Getenv("GITHUB_ACTIONS") == "true" }

// ciSystem returns the CI system in which the process runs.
func (e Env) ciSystem() show.CI {
	switch {
	case e.isOnGitHub():
		return show.GitHub
	case e.Getenv("GITLAB_CI") == "true":
		return show.GitLab
	}
	return show.NoCI
}
