package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// readsAtOnce is how many applications are read at once.
const readsAtOnce = 8

// ReadOne is a command that reads one application. It writes to the session, and returns its result in a few words.
// given is false if the command line names no application.
type ReadOne func(ctx context.Context, s *Session, path string, given bool) (result string, err error)

// Run runs a command that reads for the applications.
func (n Named) Run(ctx context.Context, s *Session, verb string, one ReadOne) error {
	if n.AreSeveral {
		return readEach(ctx, s, verb, n.Paths, one)
	}
	_, err := one(ctx, s, n.Paths[0], n.IsGiven)
	return err
}

// readEach runs a command that reads for each of several applications, several at once. It prints the output of each
// below its path, in the order of the paths, and a table of the results at the end. In JSON, each document names the path
// as its folder. The exit code is the worst of theirs.
func readEach(ctx context.Context, s *Session, verb string, paths []string, one ReadOne) error {
	c, _, err := s.OpenClock()
	if err != nil {
		return err
	}
	r := &readRun{session: s, verb: verb, one: one}
	for _, path := range paths {
		r.reads = append(r.reads, &read{path: path})
	}
	EachAtOnce(c, len(paths), func(i int) { r.runAndPrint(ctx, r.reads[i]) })
	if err := errors.Join(r.problems...); err != nil {
		return err
	}
	return r.end(ctx)
}

// EachAtOnce calls read for each number below n, several at once, in their order.
func EachAtOnce(c clock.Clock, n int, read func(i int)) {
	var begun atomic.Int32
	workers := make([]func(), min(readsAtOnce, n))
	for w := range workers {
		workers[w] = func() {
			for i := int(begun.Add(1)) - 1; i < n; i = int(begun.Add(1)) - 1 {
				read(i)
			}
		}
	}
	clock.All(c, workers...)
}

// readRun runs a command for several applications.
type readRun struct {
	session *Session
	verb    string
	one     ReadOne

	mu       sync.Mutex
	reads    []*read
	printed  int     // how many of them
	problems []error // of writing the output
}

// read is the run of the command for one application.
type read struct {
	path   string
	done   bool
	result string
	err    error
	exit   int
	output recordedOutput
}

// runAndPrint runs the command for an application and prints what can be printed.
func (r *readRun) runAndPrint(ctx context.Context, x *read) {
	if ctx.Err() != nil {
		return
	}
	r.run(ctx, x)
	r.mu.Lock()
	defer r.mu.Unlock()
	x.done = true
	for ; r.printed < len(r.reads) && r.reads[r.printed].done; r.printed++ {
		if err := r.print(r.reads[r.printed]); err != nil {
			r.problems = append(r.problems, err)
		}
	}
}

// run runs the command for one application.
func (r *readRun) run(ctx context.Context, x *read) {
	s := r.session
	t := s.Terminal()
	t.Size, t.CI = nil, show.NoCI
	t.Out, t.Err = x.output.writer(s.Env.Out), x.output.writer(plainWriter{s.Env.Err})
	child := s.Child(t)
	x.err = RunGuarded(r.verb, x.path, func() (err error) {
		x.result, err = r.one(ctx, child, x.path, true)
		return err
	})
	var ended ExitStatus
	switch {
	case errors.As(x.err, &ended):
		x.exit, x.err = int(ended), nil
	case x.err != nil:
		x.exit, x.result = ExitCode(x.err), "error"
		child.PrintError(x.err)
	}
}

// RunGuarded runs a command for one of several applications. A panic is its error, and does not end the others.
func RunGuarded(verb, resource string, run func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &sluice.Error{Op: "sluice " + verb, Resource: resource, Err: fmt.Errorf("sluice has a defect: %v", v),
				Next: "report it with the command and the output of sluice version"}
		}
	}()
	return run()
}

// print prints the output of one application.
func (r *readRun) print(x *read) error {
	s := r.session
	if s.Flags.Output == JSON {
		return x.printJSON(s)
	}
	separator := "\n"
	if s.Flags.Output == Markdown { // each has its heading
		return x.output.replay()
	}
	if r.printed == 0 {
		separator = ""
	}
	if _, err := fmt.Fprintln(s.Env.Out, separator+s.PaintFor(s.Env.Out).Bold(x.path+":")); err != nil {
		return err
	}
	return x.output.replay()
}

// failedRead is the document of an application whose command has failed, in JSON.
type failedRead struct {
	ExitCode int    `json:"exitCode"`
	Error    string `json:"error"`
	Next     string `json:"next,omitempty"`
}

// printJSON prints the documents of one application, each on a line, with the path as its first member.
func (x *read) printJSON(s *Session) error {
	folder, err := json.Marshal(x.path)
	if err != nil {
		return err
	}
	var documents bytes.Buffer
	for _, c := range x.output.chunks {
		if c.to == s.Env.Out {
			documents.Write(c.text)
		} else if _, err := c.to.Write(c.text); err != nil {
			return err
		}
	}
	if x.err != nil {
		failed := failedRead{x.exit, x.err.Error(), sluice.NextStep(x.err)}
		if err := show.WriteJSON(&documents, failed); err != nil {
			return err
		}
	}
	for d := json.NewDecoder(&documents); ; {
		var document json.RawMessage
		if err := d.Decode(&document); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.Env.Out, "{\"folder\":%s,%s\n", folder, document[1:]); err != nil {
			return err
		}
	}
}

// end prints the table of the results and returns the worst exit code.
func (r *readRun) end(ctx context.Context) error {
	s := r.session
	codes := make([]int, len(r.reads))
	for i, x := range r.reads {
		if codes[i] = x.exit; !x.done {
			codes[i], x.result = sluice.ExitStopped, "not read"
		}
	}
	if s.Flags.Output == Text {
		fmt.Fprintln(s.Env.Out)
		w := show.NewTable(s.Env.Out)
		fmt.Fprintln(w, "APPLICATION\tRESULT")
		for _, x := range r.reads {
			fmt.Fprintf(w, "%s\t%s\n", x.path, x.result)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return ExitWith(sluice.WorstExit(codes...))
}

// recordedOutput is what a command wrote to several writers, in order.
type recordedOutput struct {
	mu     sync.Mutex
	chunks []chunk
}

type chunk struct {
	to   io.Writer
	text []byte
}

// writer returns a writer that records what is written for to.
func (o *recordedOutput) writer(to io.Writer) io.Writer { return &recorder{o, to} }

// replay writes everything that was recorded.
func (o *recordedOutput) replay() error {
	for _, c := range o.chunks {
		if _, err := c.to.Write(c.text); err != nil {
			return err
		}
	}
	return nil
}

type recorder struct {
	output *recordedOutput
	to     io.Writer
}

func (r *recorder) Write(p []byte) (int, error) {
	r.output.mu.Lock()
	defer r.output.mu.Unlock()
	r.output.chunks = append(r.output.chunks, chunk{r.to, bytes.Clone(p)})
	return len(p), nil
}

// Unwrap returns the writer that is written to later: whether it is a terminal decides on colors.
func (r *recorder) Unwrap() io.Writer { return r.to }

// plainWriter hides that a writer is one of a terminal.
type plainWriter struct{ io.Writer }
