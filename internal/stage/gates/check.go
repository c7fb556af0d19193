package gates

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/metrics/check"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// httpReader sends a request and checks its response.
type httpReader struct {
	check   appfile.HTTPCheck
	outside *step.OutsideAWS
}

func (r httpReader) read(ctx context.Context, _ times) analysis.Look {
	header := http.Header{}
	for _, h := range r.check.Headers {
		value, err := r.outside.Resolve(ctx, h.Value)
		if err != nil {
			return unanswered(err)
		}
		header.Set(h.Key, value)
	}
	return lookOf(check.Request(ctx, r.outside.HTTP, r.check, header))
}

// lookOf returns the look of a check.
func lookOf(c analysis.Check, err error) analysis.Look {
	if err != nil {
		return unanswered(err)
	}
	return analysis.Look{Check: c}
}

// commandReader runs a command.
type commandReader struct {
	command check.Command
	clock   clock.Clock
}

// commandOf returns the command of a gate. It runs in the folder of the application file, or in the current one on a
// machine that does not have that folder, such as that of another job of CI.
func commandOf(g appfile.Gate) check.Command {
	c := check.Command{Argv: g.Read.Command, Dir: g.Read.Folder, Timeout: g.Timeout}
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		c.Dir = ""
	}
	return c
}

func (r commandReader) read(ctx context.Context, _ times) analysis.Look {
	exit, tail, err := r.command.Run(ctx, r.clock)
	text := fmt.Sprintf("%s: exit code %d in %s", r.command.Argv[0], exit, r.command.Folder())
	if tail != "" {
		text += ": " + tail
	}
	return lookOf(analysis.Check{Passed: exit == 0, Failed: text}, err)
}

// alarmReader reads the state of a CloudWatch alarm.
type alarmReader struct {
	account *account.Account
	name    string
}

func (r alarmReader) read(ctx context.Context, _ times) analysis.Look {
	all, err := metrics.ReadAlarms(ctx, r.account.CloudWatch(), []string{r.name})
	if err != nil {
		return unanswered(err)
	}
	state := fmt.Sprintf("alarm %s is in state %s: %s", r.name, all[0].State, all[0].Reason)
	if !all[0].HasData() {
		return unanswered(errors.New(state))
	}
	return analysis.Look{Check: analysis.Check{Passed: !all[0].IsFiring(), Failed: state}}
}
