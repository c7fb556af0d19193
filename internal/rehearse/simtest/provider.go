package simtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// Answers of a provider of metrics, beside values, NaN and the status of a response.
const (
	isDown  = "down"  // the connection is refused
	isLate  = "late"  // the response comes after the timeout
	isEmpty = "empty" // no series
)

// greatestGood is the greatest value that generated gates expect.
const greatestGood = 1.0

// provider is a server like Prometheus. It gives the answers of the case, one for each reading; the last one repeats.
type provider struct {
	env     *rehearse.Environment
	report  *rehearse.Report
	given   []string // the answers that were given
	isAsked bool     // a person was asked to decide without a verdict
}

// hasGate reports whether a gate of the case reads a provider.
func hasGate(c rehearse.Case) bool { return c.Provider != "" }

// RoundTrip answers a query with one point at the begin of its span.
func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	all := strings.Fields(p.env.Case.Provider)
	answer := all[min(len(p.given), len(all)-1)]
	p.given = append(p.given, answer)
	status, result := http.StatusOK, ""
	switch answer {
	case isDown:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case isLate:
		if err := p.env.Clock.Sleep(r.Context(), time.Hour); err != nil {
			return nil, context.DeadlineExceeded
		}
	case isEmpty:
	case "401", "500":
		status, _ = strconv.Atoi(answer)
	default:
		if err := r.ParseForm(); err != nil {
			return nil, err
		}
		result = fmt.Sprintf(`{"metric":{},"values":[[%s,%q]]}`, r.Form.Get("start"), answer)
	}
	body := fmt.Sprintf(`{"status":"success","data":{"resultType":"matrix","result":[%s]}}`, result)
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// isValue reports whether an answer has a value that can be judged.
func isValue(answer string) bool {
	_, err := strconv.ParseFloat(answer, 64)
	return err == nil && answer != "401" && answer != "500" && answer != "NaN"
}

func isGoodValue(answer string) bool {
	v, _ := strconv.ParseFloat(answer, 64)
	return isValue(answer) && v <= greatestGood
}

// skipsNoData reports whether the gate of the case takes a reading without data for a good one.
func skipsNoData(c rehearse.Case) bool {
	return slices.ContainsFunc(c.Pipeline, func(s string) bool { return strings.Contains(s, `"skipOnNoData":true`) })
}

// fails reports whether an answer is a failed reading: in any file, or in one of PipeCD only.
func (p *provider) fails(answer string) bool {
	switch {
	case isValue(answer):
		return !isGoodValue(answer)
	case !p.env.Case.PipeCD || answer == isEmpty:
		return false
	}
	return answer != "NaN" || !skipsNoData(*p.env.Case)
}

// onEvent checks how a stage with a gate ends (P2): without a value it does not pass, and with a failed reading it
// fails.
func (p *provider) onEvent(e sluice.Envelope) {
	c := *p.env.Case
	if !hasGate(c) {
		return
	}
	switch ev := e.Open().(type) {
	case sluice.ApprovalAwaited:
		p.isAsked = p.isAsked || ev.Undecided != ""
		if c.PipeCD {
			p.report.AddViolation("P2", "a gate of PipeCD's file asked a person: it has %v", p.given)
		}
		if !gateMayFail(c) && len(c.Kills) == 0 {
			p.report.AddViolation("P2", "a gate asked a person after good readings: %v", p.given)
		}
	case sluice.StageEnded:
		if ev.Name != "ANALYSIS" || ev.Status != journal.StageDone {
			return
		}
		if !p.isAsked && !slices.ContainsFunc(p.given, isValue) && !(c.PipeCD && skipsNoData(c)) {
			p.report.AddViolation("P2", "a gate passed without a value: %v", p.given)
		}
		if len(c.Kills) == 0 && c.FullDisk.Row == 0 && slices.ContainsFunc(p.given, p.fails) {
			p.report.AddViolation("P2", "a gate passed with a failed reading: %v", p.given)
		}
	}
}

// gateMayFail reports whether a reading of the gate may have no good value.
func gateMayFail(c rehearse.Case) bool {
	return slices.ContainsFunc(strings.Fields(c.Provider), func(answer string) bool { return !isGoodValue(answer) })
}

// addGate adds a gate after the first stage that gives the canary requests. Its provider fails in half of the cases.
func (d *random) addGate(c *rehearse.Case) {
	at := slices.IndexFunc(c.Pipeline, givesCanaryRequests)
	metric := fmt.Sprintf(`{"provider":"prom","query":"q","expected":{"max":%g}`, greatestGood)
	c.PipeCD = c.Before+c.After == "" && d.chance(50)
	if d.chance(25) {
		metric += `,"skipOnNoData":true`
	}
	if reaction := d.oneOf("", "", "pass", "fail", "hold"); reaction != "" && !(c.PipeCD && reaction == "hold") {
		metric += fmt.Sprintf(`,"onUndecided":%q`, reaction)
	}
	c.Provider = d.oneOf("0.5", "0.5", "2", "0.5 2", isDown, isLate, isEmpty, "NaN", "401", "500", "0.5 "+isDown,
		isDown+" 0.5", "0.5 NaN", isEmpty+" 0.5", "401 401 401 401 401 401 0.5")
	c.Pipeline = slices.Insert(slices.Clone(c.Pipeline), at+1, fmt.Sprintf("ANALYSIS duration=%s metrics=[%s}]",
		d.oneDuration(2*time.Minute, 3*time.Minute, 8*time.Minute), metric))
}

// givesCanaryRequests reports whether a stage gives the canary a share.
func givesCanaryRequests(stage string) bool {
	share, ok := strings.CutPrefix(stage, "ECS_TRAFFIC_ROUTING canary=")
	return ok && share != "0"
}

// writeProvider writes the provider of the gate.
func (d *draft) writeProvider(c rehearse.Case) {
	if hasGate(c) {
		writeLine(&d.pipeline, "analysisProviders: [{name: prom, type: PROMETHEUS, config: {address: %q}}]",
			"http://prom.example")
	}
}

// pipeCDFile returns the application file in PipeCD's form: sluice's own keys are those of the input, and the Region is
// the one of piped.
func (d *draft) pipeCDFile() string {
	var app, input strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(d.app.String()), "\n") {
		switch key, _, _ := strings.Cut(line, ":"); key {
		case "name":
			writeLine(&app, "%s", line)
		case "region", "cluster":
		default:
			writeLine(&input, "  %s", line)
		}
	}
	spec := app.String() + "input:\n" + input.String() + d.input.String() + d.pipeline.String()
	return "apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec:\n  " +
		strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ") + "\n"
}
