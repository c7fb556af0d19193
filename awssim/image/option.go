package image

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options are the options of an image reference, with what each does; durations are as in Go
// ("500ms", "2m").
var Options = map[string]string{
	"start-delay":     "added to the time before the task runs",
	"healthy-after":   "answers 503 until that long after its start",
	"unhealthy-after": "answers 503 from that long after its start",
	"never-healthy":   "always answers 503",
	"latency":         "of each answer",
	"latency-after":   "answers have the latency from that long after its start",
	"latency-grow":    "what the latency grows by, as 20ms/m",
	"latency-share":   "share of the answers that have the latency, as 5%; all if not given",
	"check-latency":   "of answers to health checks; latency if not given",
	"errors":          "share of requests answered 500, as 1% or 0.01",
	"errors-after":    "answers 500 from that long after its start; all requests, or the share of errors",
	"errors-grow":     "what the share of errors grows by, as 1%/m",
	"error-bursts":    "answers 500 only for 10s in every 2m, as 10s/2m; all requests, or the share of errors",
	"crash-after":     "exits that long after its start",
	"exit":            "exit code of the crash, 0 to 255 (1 by default)",
	"exec-format":     "built for another processor: exits with 1 as soon as it starts",
	"listen":          "listens only on that port, not on that of the task definition",
	"no-role":         "never reaches RUNNING: the task's role cannot be assumed",
	"no-secret":       "never reaches RUNNING: a secret of the task definition cannot be read",
	"noboot":          "never reaches RUNNING; the value is the reason, CannotPullContainerError by default",
	"oom-after":       "runs out of memory that long after its start: killed, exit code 137",
	"term":            "keeps serving that long after SIGTERM",
	"ignores-term":    "exits only by SIGKILL",
	"prints":          "lines that it prints, separated by |: before its crash, otherwise at its start",
}

const noImage = "CannotPullContainerError: pull image manifest has been retried 5 time(s): image not found"

const (
	noSecret = "ResourceInitializationError: unable to pull secrets or registry auth: execution resource retrieval " +
		"failed: unable to retrieve secret from asm: " +
		"service call has been retried 1 time(s): failed to fetch secret from secrets manager: " +
		"AccessDeniedException: " +
		"User is not authorized to perform: secretsmanager:GetSecretValue because no identity-based policy allows " +
		"the action"
	unassumed  = "ECS was unable to assume the role "
	verifyRole = "that was provided for this task. Please verify that the role being passed has the proper " +
		"trust relationship and permissions and that your IAM user has permissions to pass this role."
	noRole      = unassumed + verifyRole
	outOfMemory = "OutOfMemoryError: Container killed due to memory usage"
	execFormat  = "exec /usr/local/bin/app: exec format error"
)

// RoleError is what AWS says of a task whose role ECS cannot assume.
func RoleError(role string) string { return unassumed + "'" + role + "' " + verifyRole }

// instantExit is the simulated run time of a program that cannot be executed.
const instantExit = 100 * time.Millisecond

type option struct{ name, value string }

// Set applies one option of [Options] to the behaviour.
func (b *Behaviour) Set(name, value string) error {
	if err := b.setOption(name, value); err != nil {
		return fmt.Errorf("option %s: %w", name, err)
	}
	return nil
}

func (b *Behaviour) applyOptions(opts []option) error {
	seen := map[string]bool{}
	for _, o := range opts {
		if seen[o.name] {
			return fmt.Errorf("option %s is given twice", o.name)
		}
		seen[o.name] = true
		if err := b.Set(o.name, o.value); err != nil {
			return err
		}
	}
	b.FillDefaults(seen["exit"])
	return nil
}

// FillDefaults fills in values that follow from other options: a crash has exit code 1 unless
// another is given.
func (b *Behaviour) FillDefaults(exitGiven bool) {
	switch {
	case b.ExitReason == outOfMemory:
		b.ExitCode = 137
	case b.CrashAfter > 0 && !exitGiven:
		b.ExitCode = 1
	}
}

func (b *Behaviour) setOption(name, value string) (err error) {
	switch name {
	case "start-delay":
		b.StartDelay, err = parseDuration(value)
	case "healthy-after":
		b.HealthyAfter, err = parseDuration(value)
	case "unhealthy-after":
		b.UnhealthyAfter, err = parsePositive(value)
	case "never-healthy":
		b.NeverHealthy, err = parseFlag(value)
	case "latency":
		b.Latency, err = parseDuration(value)
	case "latency-after":
		b.LatencyAfter, err = parsePositive(value)
	case "latency-grow":
		b.LatencyGrowth, err = parseGrowth(value, parsePositive)
	case "latency-share":
		b.LatencyShare, err = parseSomeShare(value)
	case "check-latency":
		b.CheckLatency, err = parsePositive(value)
	case "errors":
		b.ErrorRate, err = parseShare(value)
	case "errors-after":
		b.ErrorsAfter, err = parsePositive(value)
	case "errors-grow":
		b.ErrorGrowth, err = parseGrowth(value, parseSomeShare)
	case "error-bursts":
		b.ErrorBursts, err = parseBursts(value)
	case "crash-after":
		b.CrashAfter, err = parsePositive(value)
	case "exit":
		b.ExitCode, err = parseExitCode(value)
	case "exec-format":
		err = b.setCrash(instantExit, "", execFormat, value)
	case "oom-after":
		var d time.Duration
		if d, err = parsePositive(value); err == nil {
			err = b.setCrash(d, outOfMemory, "", "")
		}
	case "listen":
		b.Listen, err = parsePort(value)
	case "no-role":
		err = b.setNoBoot(noRole, value)
	case "no-secret":
		err = b.setNoBoot(noSecret, value)
	case "noboot":
		b.NoBoot = value
		if value == "" || value == "true" {
			b.NoBoot = noImage
		}
	case "term":
		b.ServesAfterTerm, err = parseDuration(value)
	case "ignores-term":
		b.IgnoresTerm, err = parseFlag(value)
	case "prints":
		b.Prints, err = splitLines(value)
	default:
		known := slices.Sorted(maps.Keys(Options))
		return fmt.Errorf("not known; known are %s", strings.Join(known, ", "))
	}
	return err
}

// setCrash makes the container exit, if value (a flag) is not false.
func (b *Behaviour) setCrash(after time.Duration, reason, says, value string) error {
	on, err := parseFlag(value)
	if err != nil || !on {
		return err
	}
	if b.CrashAfter > 0 {
		return fmt.Errorf("the image crashes already by another option")
	}
	b.CrashAfter, b.ExitReason = after, reason
	if says != "" {
		b.Prints = append(b.Prints, says)
	}
	return nil
}

// setNoBoot makes the task fail before RUNNING, if value (a flag) is not false.
func (b *Behaviour) setNoBoot(reason, value string) error {
	on, err := parseFlag(value)
	if on {
		b.NoBoot = reason
	}
	return err
}

func parsePort(s string) (int32, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 65535 {
		return 0, fmt.Errorf("%q is not a port from 1 to 65535", s)
	}
	return int32(n), nil
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration such as 500ms, 5s or 2m", s)
	}
	return d, nil
}

// parsePositive reads a duration for which 0 would mean "never".
func parsePositive(s string) (time.Duration, error) {
	d, err := parseDuration(s)
	if err == nil && d == 0 {
		err = fmt.Errorf("must be more than 0")
	}
	return d, err
}

func parseFlag(s string) (bool, error) {
	switch s {
	case "", "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", s)
}

func parseExitCode(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 255 {
		return 0, fmt.Errorf("%q is not an exit code from 0 to 255", s)
	}
	return n, nil
}

func parseShare(s string) (float64, error) {
	n, percent := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(n, 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f >= 0 && f <= 1) {
		return 0, fmt.Errorf("%q is not a share between 0%% and 100%%", s)
	}
	return f, nil
}

// parseSomeShare reads a share for which 0 would mean something else.
func parseSomeShare(s string) (float64, error) {
	f, err := parseShare(s)
	if err == nil && f == 0 {
		err = fmt.Errorf("must be more than 0")
	}
	return f, err
}
