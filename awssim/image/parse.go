package image

import (
	"fmt"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Parse reads an image reference of the built-in kinds:
//
//	sim/web:v1                          answers 200 "v1"
//	sim/web:v2?latency=20ms&errors=1%   with options, as in a URL's query
//	sim/web:v2-crash-after-5s           with options in the tag, for tools that
//	                                    refuse "?" in an image
//	123456789012.dkr.ecr.eu-west-1.amazonaws.com/sim/web:v1   any registry before sim/
//	host:./server --flag                a program of the host
//
// The options are listed in [Options].
func Parse(ref string) (Behaviour, error) {
	if cmd, ok := strings.CutPrefix(ref, "host:"); ok {
		words := strings.Fields(cmd)
		if len(words) == 0 {
			return Behaviour{}, fmt.Errorf("image %q: host: needs a command", ref)
		}
		return Behaviour{Version: words[0], Command: words}, nil
	}
	name, query, _ := strings.Cut(ref, "?")
	repo, tag, ok := cutTag(name)
	if !ok || !(strings.HasPrefix(repo, "sim/") || strings.Contains(repo, "/sim/")) {
		return Behaviour{}, fmt.Errorf("image %q is not one of the simulator's: sim/<name>:<version>[?options], or host:<command>", ref)
	}
	version, opts := splitTag(tag)
	b := Behaviour{Version: version, HealthyAfter: 0}
	q, err := url.ParseQuery(query)
	if err != nil {
		return Behaviour{}, fmt.Errorf("image %q: options: %w", ref, err)
	}
	for k, v := range q {
		opts[k] = v[0]
	}
	return b, b.apply(ref, opts)
}

func cutTag(name string) (repo, tag string, ok bool) {
	i := strings.LastIndexByte(name, ':')
	if i < 0 || strings.ContainsRune(name[i:], '/') {
		return name, "latest", true
	}
	return name[:i], name[i+1:], i > 0
}

// splitTag takes options off a tag: "v2-crash-after-5s-exit-3" is version v2
// with crash-after=5s and exit=3.
func splitTag(tag string) (version string, opts map[string]string) {
	opts = map[string]string{}
	first := len(tag)
	for name := range Options {
		if i := strings.Index(tag, "-"+name); i >= 0 && i < first && boundary(tag, i+1+len(name)) {
			first = i
		}
	}
	version, rest := tag[:first], tag[first:]
	for rest != "" {
		name := longestOption(rest[1:])
		if name == "" {
			break
		}
		rest = strings.TrimPrefix(rest[1+len(name):], "-")
		end := len(rest)
		for other := range Options {
			if i := strings.Index(rest, "-"+other); i >= 0 && i < end && boundary(rest, i+1+len(other)) {
				end = i
			}
		}
		opts[name] = rest[:end]
		rest = rest[end:]
	}
	return version, opts
}

func boundary(s string, i int) bool { return i == len(s) || s[i] == '-' }

func longestOption(s string) string {
	best := ""
	for name := range Options {
		if strings.HasPrefix(s, name) && boundary(s, len(name)) && len(name) > len(best) {
			best = name
		}
	}
	return best
}

// Options are the words that an image reference understands, with what each
// does; durations are as in Go ("500ms", "2m").
var Options = map[string]string{
	"start-delay":     "added to the time before the task runs",
	"healthy-after":   "answers 503 until that long after its start",
	"unhealthy-after": "answers 503 from that long after its start",
	"never-healthy":   "answers 503 for ever",
	"latency":         "of each answer",
	"errors":          "share of requests answered 500, as 1% or 0.01",
	"crash-after":     "exits that long after its start",
	"exit":            "exit code of the crash (1 by default)",
	"noboot":          "never reaches RUNNING; the value is the reason, CannotPullContainerError by default",
	"term":            "goes on serving that long after SIGTERM",
	"ignores-term":    "exits only by SIGKILL",
}

func (b *Behaviour) apply(ref string, opts map[string]string) error {
	names := make([]string, 0, len(opts))
	for name := range opts {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if err := b.set(name, opts[name]); err != nil {
			return fmt.Errorf("image %q: option %s: %w", ref, name, err)
		}
	}
	if b.CrashAfter > 0 && b.ExitCode == 0 && opts["exit"] == "" {
		b.ExitCode = 1
	}
	return nil
}

func (b *Behaviour) set(name, value string) (err error) {
	switch name {
	case "start-delay":
		b.StartDelay, err = time.ParseDuration(value)
	case "healthy-after":
		b.HealthyAfter, err = time.ParseDuration(value)
	case "unhealthy-after":
		b.UnhealthyAfter, err = time.ParseDuration(value)
	case "never-healthy":
		b.NeverHealthy = value != "false"
	case "latency":
		b.Latency, err = time.ParseDuration(value)
	case "errors":
		b.ErrorRate, err = share(value)
	case "crash-after":
		b.CrashAfter, err = time.ParseDuration(value)
	case "exit":
		b.ExitCode, err = strconv.Atoi(value)
	case "noboot":
		if b.NoBoot = value; value == "" || value == "true" {
			b.NoBoot = "CannotPullContainerError: pull image manifest has been retried 5 time(s): image not found"
		}
	case "term":
		b.ServesAfterTerm, err = time.ParseDuration(value)
	case "ignores-term":
		b.IgnoresTerm = value != "false"
	default:
		return fmt.Errorf("not known")
	}
	return err
}

func share(s string) (float64, error) {
	n, percent := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(n, 64)
	if percent {
		f /= 100
	}
	if err == nil && (f < 0 || f > 1) {
		err = fmt.Errorf("%s is not a share between 0%% and 100%%", s)
	}
	return f, err
}
