package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/report"
	"github.com/sluice-ecs/sluice/internal/printable"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// Reports are how a command ended, for the CI system. The sessions of several applications share them.
type Reports struct {
	junit string // file; empty: none

	mu  sync.Mutex
	all []report.Report
}

// Add adds how a deployment or a wait of the command ended. A session that [New] has not made keeps none.
func (r *Reports) Add(ended report.Report) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, ended)
}

// RegisterReports makes a command report its end to the CI system: in the file of --junit, and in GitHub Actions as the
// summary and the outputs of the step. Call it when the command has its RunE.
func (s *Session) RegisterReports(c *cobra.Command) {
	c.Flags().StringVar(&s.Reports.junit, "junit", "",
		"`file` for the result and the stages as test results (JUnit XML), for GitLab and others")
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := s.Reports.checkJUnitFile(); err != nil {
			return err
		}
		err := run(c, args)
		s.Reports.write(s, c.CommandPath(), err)
		return err
	}
}

// checkJUnitFile creates the file of --junit, so that a path that cannot be written is an error before the first write
// to AWS.
func (r *Reports) checkJUnitFile() error {
	if r.junit == "" {
		return nil
	}
	f, err := os.Create(r.junit)
	if err != nil {
		return &sluice.Error{Op: "write the test results", Resource: r.junit, Err: errors.Unwrap(err),
			Next: "give --junit a file in a folder that exists and can be written"}
	}
	return f.Close()
}

// write writes the reports of a command that ended with err. A file that cannot be written is a warning: what
// was deployed stays deployed.
func (r *Reports) write(s *Session, command string, err error) {
	r.mu.Lock()
	all := r.all
	r.mu.Unlock()
	var ended ExitStatus
	if err != nil && !errors.As(err, &ended) {
		all = append(all, report.Report{Name: command, Outcome: "error", Exit: ExitCode(err), Cause: err.Error(),
			Next: sluice.NextStep(err)})
	}
	if len(all) == 0 {
		return
	}
	for i := range all {
		all[i] = Masked(s, all[i])
	}
	summary := func(has int) string { return report.Summary(all, maxSummary-has) }
	outputs := func(int) string { return report.Worst(all).Outputs() }
	for what, err := range map[string]error{
		"summary":      s.Env.appendForGitHub("GITHUB_STEP_SUMMARY", summary, s.Secrets),
		"outputs":      s.Env.appendForGitHub("GITHUB_OUTPUT", outputs, s.Secrets),
		"test results": r.writeJUnit(all, s.Secrets)} {
		if err != nil {
			text := fmt.Sprintf("the %s of the job could not be written: %v", what, err)
			fmt.Fprintln(s.Env.Err, s.Paint.Warn("warning: "+text))
			s.WriteAnnotation(s.Env.Err, "warning", text, "")
		}
	}
}

// maxSummary is how many bytes the summary of a step may have; GitHub shows none of a larger one (GitHub documentation,
// "Step isolation and limits").
const maxSummary = 1 << 20

// appendForGitHub appends text to the file that a variable of GitHub Actions names, without secrets. It gets how many
// bytes the file has.
func (e Env) appendForGitHub(variable string, text func(has int) string, secrets *secret.Known) error {
	path := e.Getenv(variable)
	if !e.isOnGitHub() || path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	has, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = io.WriteString(withoutKnown(f, secrets), text(int(has)))
	}
	return errors.Join(err, f.Close())
}

func (r *Reports) writeJUnit(all []report.Report, secrets *secret.Known) error {
	if r.junit == "" {
		return nil
	}
	text, err := report.JUnit(all)
	if err != nil {
		return err
	}
	f, err := os.Create(r.junit)
	if err != nil {
		return err
	}
	_, err = io.WriteString(withoutKnown(f, secrets), text)
	return errors.Join(err, f.Close())
}

// Masked returns a value, which JSON can hold, without the secret values of lookups in its texts. A writer would not find
// them after they were escaped for Markdown or XML.
func Masked[T any](s *Session, value T) T {
	var masked T
	text, err := json.Marshal(value)
	if err != nil || json.Unmarshal([]byte(s.Secrets.Mask(string(text))), &masked) != nil {
		var none T
		return none // rather than a secret
	}
	return masked
}

// withoutKnown returns a writer that masks secrets, as the output of the command does.
func withoutKnown(w io.Writer, secrets *secret.Known) io.Writer {
	return printable.NewWriter(w, "", 0).HideKnown(secrets)
}
