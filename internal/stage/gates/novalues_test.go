package gates_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// matrix is a server like Prometheus: it answers the n-th range with these values, one per series, at the
// times that it was asked for. They are whole milliseconds.
type matrix func(n int) (status int, series []string)

func (m matrix) start(t *testing.T) *httptest.Server {
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, series := m(n)
		n++
		var all []string
		for _, value := range series {
			all = append(all, fmt.Sprintf(`{"metric":{},"values":[[%s,%q]]}`, r.FormValue("start"), value))
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[%s]}}`, strings.Join(all, ","))
	}))
	t.Cleanup(s.Close)
	return s
}

func always(series ...string) matrix {
	return func(int) (int, []string) { return http.StatusOK, series }
}

func refusing(status int) matrix { return func(int) (int, []string) { return status, nil } }

func providerAt(address string) string {
	return "analysisProviders: [{name: prom, type: PROMETHEUS, config: {address: \"" + address + "\"}}]\n"
}

// pipeCDFiles returns the files of an application of PipeCD with the text of a sluice.yaml.
func pipeCDFiles(files fstest.MapFS) fstest.MapFS {
	text := string(files["sluice.yaml"].Data)
	text = strings.NewReplacer("region: us-east-1\n", "", "cluster: prod\n", "").Replace(text)
	files["sluice.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec:\n  " +
		strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n")}
	return files
}

// judgeBy deploys with one gate of a server and returns how it ended, and whether a person was asked, who approves.
func judgeBy(b *stagetest.Bench, address, duration, gate string, isPipeCD bool) (end engine.RunResult, isAsked bool) {
	return judgeFiles(b, b.Files("sim/web:v2", judged(analysisStage("duration: "+duration+", metrics: [{provider: prom, "+
		gate+"}]"))+providerAt(address)), 2, isPipeCD)
}

// judgeFiles deploys files. The person approves the stage with the index asks.
func judgeFiles(b *stagetest.Bench, files fstest.MapFS, asks int, isPipeCD bool) (end engine.RunResult, isAsked bool) {
	stagetest.Must(b, b.Clock.Sleep(context.Background(), 424_511_387)) // clocks have nanoseconds
	b.Engine.OutsideAWS = &stage.OutsideAWS{HTTP: http.DefaultClient}
	if isPipeCD {
		files = pipeCDFiles(files)
	}
	id, watch := b.Start(files), b.Engine.OnEvent
	b.Engine.OnEvent = func(e sluice.Envelope) {
		watch(e)
		if _, ok := e.Open().(sluice.ApprovalAwaited); ok && !isAsked {
			isAsked = true
			stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, journal.Approve, asks, "ana"))
		}
	}
	return stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b), isAsked
}

// A gate without a value never passes. Files of PipeCD fail as PipeCD's analysis plugin does; other gates ask. A
// person sees why there is no value.
func TestGateWithoutAValueNeverPasses(t *testing.T) {
	once := func(n int) (int, []string) {
		if n == 0 {
			return http.StatusOK, []string{"0.5"}
		}
		return http.StatusInternalServerError, nil
	}
	isDown := httptest.NewServer(http.NotFoundHandler())
	isDown.Close()
	for name, c := range map[string]struct {
		serve  matrix
		gate   string
		pipeCD string // how PipeCD's file ends, or the cause of its failure
		own    string // how the same gate ends in sluice.yaml: good, asks, or a cause
		shown  string // to people
	}{
		"in range":           {always("0.5"), "", "good", "good", "0 of 2 readings failed  good"},
		"tolerated":          {always("2"), ", failureLimit: 99", "good", "good", "2 of 2 readings failed, 99 tolerated  good"},
		"out of range":       {always("2"), "", "the value 2 is more than 1", "the value 2 is more than 1", ""},
		"down":               {nil, "", "no values: connection refused", "asks", "no values: connection refused"},
		"credentials":        {refusing(http.StatusUnauthorized), "", "HTTP 401", "asks", "no values: HTTP 401"},
		"not a number":       {always("NaN"), "", "not a number", "asks", "no values: the query is not a number (NaN)"},
		"not a number, skip": {always("NaN"), ", skipOnNoData: true", "good", "asks", "without values"},
		"misspelt, skip":     {always(), ", skipOnNoData: true", "good", "asks", "without values"},
		"once, then no series, skip": {func(n int) (int, []string) {
			if n == 0 {
				return http.StatusOK, []string{"0.5"}
			}
			return http.StatusOK, nil
		}, ", skipOnNoData: true", "good", "good", "0 of 2 readings failed  1 of 2 readings without values  good"},
		"misspelt metric":     {always(), "", "no values in 2 readings", "asks", "no values: the answer has no series  2 of 2 readings without values"},
		"several series":      {always("0.5", "2"), "", "the value 2 is more than 1", "asks", ""},
		"several good series": {always("0.5", "1"), "", "good", "asks", ""},
		"once, then silent":   {once, "", "HTTP 500", "good", "1 of 2 readings without values"},
		"pass":                {always(), ", onUndecided: pass", "no values in 2 readings", "asks", ""},
		"fail":                {always(), ", onUndecided: fail", "no values in 2 readings", "no values in 2 readings", ""},
	} {
		for _, isPipeCD := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, PipeCD %t", name, isPipeCD), func(t *testing.T) {
				address, want := isDown.URL, c.own
				if c.serve != nil {
					address = c.serve.start(t).URL
				}
				if isPipeCD {
					want = c.pipeCD
				}
				stagetest.RunPlain(t, func(b *stagetest.Bench) {
					end, isAsked := judgeBy(b, address, "2m", "query: q, expected: {max: 1}"+c.gate, isPipeCD)
					outcome, cause := sluice.RolledBack, want
					if want == "good" || want == "asks" {
						outcome, cause = sluice.Succeeded, ""
					}
					if end.Outcome != outcome || !strings.Contains(end.Cause, cause) || isAsked != (want == "asks") {
						b.Fatalf("%s, asked %t: %s; want %s\n%s", end.Outcome, isAsked, end.Cause, want, b.EventLog())
					}
					if all := gateReads(b); c.shown != "" && !strings.Contains(all[len(all)-1].Text(), c.shown) {
						b.Errorf("shown: %s; want %s", all[len(all)-1].Text(), c.shown)
					}
				})
			})
		}
	}
}

// The line of a gate says what it would do at the end: without a value it is never good, whatever lets the gate pass.
// In PipeCD's files skipOnNoData passes at the end.
func TestLineOfAGateWithoutValuesIsNeverGood(t *testing.T) {
	for _, reads := range []string{"query: q, expected: {max: 1}", "query: q, strategy: PREVIOUS",
		`query: "q {{ .Variant }}", strategy: CANARY_PRIMARY`, `query: "q {{ .Variant }}", strategy: PAIRED`} {
		for answer, serve := range map[string]matrix{"no series": always(), "not a number": always("NaN"), "down": refusing(500)} {
			for _, key := range []string{"skipOnNoData: true", "onUndecided: pass", "onError: pass",
				"skipOnNoData: true, onUndecided: pass, onError: pass"} {
				t.Run(reads+", "+key+", "+answer, func(t *testing.T) {
					server := serve.start(t)
					stagetest.RunPlain(t, func(b *stagetest.Bench) {
						end, isAsked := judgeBy(b, server.URL, "3m", reads+", "+key, false)
						if end.Outcome != sluice.Succeeded || !isAsked {
							b.Errorf("%s, asked %t: %s; want a person to be asked", end.Outcome, isAsked, end.Cause)
						}
						for _, ev := range gateReads(b) {
							if ev.Verdict != sluice.GateUndecided {
								b.Errorf("the line reads %s, want undecided: %s", ev.Verdict, ev.Text())
							}
						}
					})
				})
			}
		}
	}
}

// A gate with a value that may pass without a verdict is good at the end, and not before.
func TestLineOfAGateThatMayPassIsGoodAtTheEnd(t *testing.T) {
	for reads, serve := range map[string]matrix{
		"query: q, expected: {max: 1}": func(n int) (int, []string) {
			if n == 0 {
				return http.StatusOK, []string{"0.5"}
			}
			return http.StatusInternalServerError, nil
		},
		`query: "q {{ .Variant }}", strategy: PAIRED`: always("0.5"),
	} {
		server := serve.start(t)
		stagetest.RunPlain(t, func(b *stagetest.Bench) {
			end, isAsked := judgeBy(b, server.URL, "3m", reads+", onUndecided: pass", false)
			all := gateReads(b)
			if end.Outcome != sluice.Succeeded || isAsked || all[len(all)-1].Verdict != sluice.GateGood {
				b.Fatalf("%s, asked %t: %s; want a last line that is good\n%s", end.Outcome, isAsked, end.Cause, b.EventLog())
			}
			for _, ev := range all[:len(all)-1] {
				if ev.Verdict == sluice.GateGood {
					b.Errorf("%s: the line is good before the end: %s", reads, ev.Text())
				}
			}
		})
	}
}

// A gate that counts requests does not pass early by a wrong query: a count that is negative is no answer, and
// without a series of bad requests there is no proof that none was bad.
func TestWrongCountsAreNoEvidence(t *testing.T) {
	for name, c := range map[string]struct{ bad, shown string }{
		"negative":     {"-5", "has the value -5, and a count is 0 or more"},
		"not a number": {"NaN", "has the value NaN"},
		"infinite":     {"+Inf", "has the value +Inf"},
		"no series":    {"", "the query of bad requests has no series"},
		"zero":         {"0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				value, points := "1000", []string{}
				if strings.HasPrefix(r.FormValue("query"), "bad") {
					value = c.bad
				}
				var start, end float64
				fmt.Sscan(r.FormValue("start"), &start)
				fmt.Sscan(r.FormValue("end"), &end)
				for at := start; at <= end; at += 60 {
					points = append(points, fmt.Sprintf("[%.3f,%q]", at, value))
				}
				result := `{"metric":{},"values":[` + strings.Join(points, ",") + `]}`
				if value == "" {
					result = ""
				}
				fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[%s]}}`, result)
			}))
			defer server.Close()
			stagetest.RunPlain(t, func(b *stagetest.Bench) {
				end, isAsked := judgeBy(b, server.URL, "20m", `bad: "bad {{ .Variant }}", all: "all {{ .Variant }}", max: 1%, worse: 2`,
					false)
				if end.Outcome != sluice.Succeeded || isAsked != (c.shown != "") {
					b.Fatalf("%s, asked %t: %s\n%s", end.Outcome, isAsked, end.Cause, b.EventLog())
				}
				if all := gateReads(b); c.shown != "" && !strings.Contains(all[len(all)-1].Text(), c.shown) {
					b.Errorf("shown: %s; want %s", all[len(all)-1].Text(), c.shown)
				}
			})
		})
	}
}

// The gates of the whole pipeline need a value too: by the end of the last stage that waits while the canary gets
// requests.
func TestGatesOfThePipelineNeedAValue(t *testing.T) {
	wait := "{name: WAIT, with: {duration: 3m}}"
	for name, c := range map[string]struct {
		serve  matrix
		more   string
		pipeCD bool
		want   string
	}{
		"values":          {always("0.5"), "", false, "good"},
		"none":            {refusing(http.StatusUnauthorized), "", false, "asks"},
		"none, dry run":   {refusing(http.StatusUnauthorized), ", dryRun: true", false, "good"},
		"none, fails":     {always(), ", onUndecided: fail", false, "no values in"},
		"none, of PipeCD": {always(), "", true, "no values in"},
	} {
		t.Run(name, func(t *testing.T) {
			server := c.serve.start(t)
			stagetest.RunPlain(t, func(b *stagetest.Bench) {
				pipeline := stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, wait, wait, stagetest.PrimaryRollout,
					stagetest.ShiftBack, stagetest.CleanCanary)
				end, isAsked := judgeFiles(b, b.Files("sim/web:v2", pipeline+"gates: [{provider: prom, query: q, expected: {max: 1}"+
					c.more+"}]\n"+providerAt(server.URL)), 3, c.pipeCD)
				outcome, cause := sluice.RolledBack, c.want
				if c.want == "good" || c.want == "asks" {
					outcome, cause = sluice.Succeeded, ""
				}
				if end.Outcome != outcome || !strings.Contains(end.Cause, cause) || isAsked != (c.want == "asks") {
					b.Fatalf("%s, asked %t: %s\n%s", end.Outcome, isAsked, end.Cause, b.EventLog())
				}
			})
		})
	}
}

// Each step of a series is in exactly one reading, whatever nanoseconds the clock has and however the interval
// divides into steps.
func TestEachStepIsReadOnce(t *testing.T) {
	for interval, step := range map[string]time.Duration{"25s": 25 * time.Second, "1m": time.Minute, "90s": time.Minute,
		"2m": time.Minute} {
		t.Run(interval, func(t *testing.T) {
			var ends []float64 // of the steps that were read
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var start, end float64
				fmt.Sscan(r.FormValue("start"), &start)
				fmt.Sscan(r.FormValue("end"), &end)
				for at := start; at <= end; at += step.Seconds() {
					ends = append(ends, at)
				}
				fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"values":[[%.3f,"0.5"]]}]}}`, end)
			}))
			defer server.Close()
			stagetest.RunPlain(t, func(b *stagetest.Bench) {
				if end, _ := judgeBy(b, server.URL, "12m", "query: q, expected: {max: 1}, interval: "+interval, true); end.Outcome !=
					sluice.Succeeded {
					b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
				for i := range ends[1:] {
					if d := ends[i+1] - ends[i] - step.Seconds(); d > .002 || d < -.002 {
						b.Errorf("step %d ends %.3f s after the one before it, want %s", i+1, ends[i+1]-ends[i], step)
					}
				}
				if want := int(12 * time.Minute / step); len(ends) < want-1 || len(ends) > want {
					b.Errorf("%d steps were read, want %d", len(ends), want)
				}
			})
		})
	}
}

// A reading of AWS is sent once: a gate can do without it, and the stage does not wait for an AWS that is silent.
func TestReadingsOfAWSAreSentOnce(t *testing.T) {
	stagetest.RunPlain(t, func(b *stagetest.Bench) {
		stagetest.Must(b, b.Sim.Inject("throttle cloudwatch:DescribeAlarms"))
		end := deploy(b, "sim/web:v2", judged("{name: WAIT, with: {duration: 4m, gates: [{alarm: slow, onUndecided: fail}]}}"))
		if end.Outcome != sluice.RolledBack || !strings.Contains(end.Cause, "no values in 4 readings") {
			b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		for _, c := range b.Calls {
			if c.Operation == "DescribeAlarms" && c.Attempt > 1 {
				b.Errorf("a reading of the gate was sent %d times", c.Attempt)
			}
		}
	})
}

// An alarm without data has judged nothing: its gate does not pass, unless missing data is good for the alarm.
func TestAnAlarmWithoutDataIsNoValue(t *testing.T) {
	for missing, want := range map[string]sluice.Outcome{"missing": sluice.RolledBack, "notBreaching": sluice.Succeeded} {
		stagetest.RunPlain(t, func(b *stagetest.Bench) {
			stagetest.Got(awscw.NewFromConfig(b.Sim.Config()).PutMetricAlarm(context.Background(), &awscw.PutMetricAlarmInput{
				AlarmName: aws.String("slow"), Namespace: aws.String("Shop"), MetricName: aws.String("Slow"),
				Statistic: cwtypes.StatisticSum, Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(1),
				ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold, TreatMissingData: aws.String(missing)}))(b)
			end := deploy(b, "sim/web:v2", judged("{name: WAIT, with: {duration: 4m, gates: [{alarm: slow, onUndecided: fail}]}}"))
			if end.Outcome != want || want == sluice.RolledBack && !strings.Contains(end.Cause, "no values in 4 readings") {
				b.Errorf("missing data is %s: %s: %s, want %s\n%s", missing, end.Outcome, end.Cause, want, b.EventLog())
			}
		})
	}
}

// A gate whose first reading is due as the stage ends is read before it is judged.
func TestFirstReadingAtTheEndIsWaitedFor(t *testing.T) {
	server := always("2").start(t)
	stagetest.RunPlain(t, func(b *stagetest.Bench) {
		end, _ := judgeBy(b, server.URL, "2m", "query: q, expected: {max: 1}, interval: 2m", true)
		if end.Outcome != sluice.RolledBack || !strings.Contains(end.Cause, "the value 2 is more than 1") {
			b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
	})
}

// A reading that begins late, as each does on a machine that has other work, does not move the next one.
func TestLateReadingsDoNotMoveTheNext(t *testing.T) {
	server := always("0.5").start(t)
	stagetest.RunPlain(t, func(b *stagetest.Bench) {
		watch, isLate := b.Engine.OnEvent, false
		b.Engine.OnEvent = func(e sluice.Envelope) {
			watch(e)
			if _, ok := e.Open().(sluice.GateRead); ok && !isLate {
				isLate = true
				stagetest.Must(b, b.Clock.Sleep(context.Background(), 70*time.Second)) // the next poll is late
			}
		}
		end, _ := judgeBy(b, server.URL, "4m", "query: q, expected: {max: 1}", true)
		if all := gateReads(b); end.Outcome != sluice.Succeeded || all[len(all)-1].Readings != 4 {
			b.Fatalf("%s: %s: %d readings, want those of 1, 2 (late), 3 and 4 minutes\n%s", end.Outcome, end.Cause,
				all[len(all)-1].Readings, b.EventLog())
		}
	})
}

// Readings count after the time `after`: a canary that is bad only while it is cold passes.
func TestWarmUpIsNotRead(t *testing.T) {
	for after, want := range map[string]sluice.Outcome{"": sluice.RolledBack, ", after: 1m": sluice.Succeeded} {
		t.Run("after"+after, func(t *testing.T) {
			var began time.Time
			var now func() time.Time
			server := matrix(func(int) (int, []string) {
				if now().Sub(began) < 70*time.Second {
					return http.StatusOK, []string{"2"}
				}
				return http.StatusOK, []string{"0.5"}
			}).start(t)
			stagetest.RunPlain(t, func(b *stagetest.Bench) {
				now = b.Clock.Now
				watch := b.Engine.OnEvent
				b.Engine.OnEvent = func(e sluice.Envelope) {
					watch(e)
					if _, ok := e.Open().(sluice.StageStarted); ok && strings.HasSuffix(e.Stage, " ANALYSIS") {
						began = e.At
					}
				}
				end, _ := judgeBy(b, server.URL, "2m", "query: q, expected: {max: 1}"+after, true)
				if end.Outcome != want {
					b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
			})
		})
	}
}

// The next step after an alarm that refused the canary is to read the alarm.
func TestFailedAlarmNamesTheAlarm(t *testing.T) {
	stagetest.RunPlain(t, func(b *stagetest.Bench) {
		stagetest.Got(awscw.NewFromConfig(b.Sim.Config()).PutMetricAlarm(context.Background(), &awscw.PutMetricAlarmInput{
			AlarmName: aws.String("shop's errors"), Namespace: aws.String("Shop"), MetricName: aws.String("Slow"),
			Statistic: cwtypes.StatisticSum, Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(1),
			ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold, TreatMissingData: aws.String("breaching")}))(b)
		end := deploy(b, "sim/web:v2", judged(`{name: WAIT, with: {duration: 4m, gates: [{alarm: "shop's errors"}]}}`))
		const next = `read the alarm: aws cloudwatch describe-alarms --alarm-names 'shop'\''s errors'; then deploy a fixed version`
		for _, e := range b.Events {
			if ev, ok := e.Open().(sluice.StageEnded); ok && strings.Contains(ev.Cause, "alarm shop's errors is in state ALARM") {
				if ev.Next != next {
					b.Errorf("the next step is %q, want %q", ev.Next, next)
				}
				return
			}
		}
		b.Errorf("%s: %s; want a stage that the alarm failed\n%s", end.Outcome, end.Cause, b.EventLog())
	})
}
