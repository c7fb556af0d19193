package fault

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kindForm lists the parameters of a kind of fault.
type kindForm struct {
	on      string   // the noun for the second word; "" if there is none
	needs   []string // options that must be given
	accepts []string // options that may be given
}

var (
	callOptions  = []string{"times", "p", "after", "for"}
	skipOptions  = []string{"skip", "times", "p", "after", "for"}
	worldOptions = []string{"after", "for"}

	kindForms = map[Kind]kindForm{
		Throttle:           {on: "operation", accepts: callOptions},
		ServerError:        {on: "operation", accepts: skipOptions},
		LostReply:          {on: "operation", accepts: callOptions},
		NoSend:             {on: "operation", accepts: callOptions},
		Stale:              {on: "operation", needs: []string{"by"}, accepts: callOptions},
		Latency:            {on: "operation", needs: []string{"by"}, accepts: callOptions},
		ExpiredCredentials: {accepts: callOptions},
		Denied:             {on: "operation", accepts: skipOptions},
		Invalid:            {on: "operation", accepts: skipOptions},
		Outage:             {on: "operation", accepts: append([]string{"as"}, skipOptions...)},
		FailedOperation:    {on: "operation", accepts: callOptions},
		SlowStart:          {on: "service", needs: []string{"by"}, accepts: worldOptions},
		NoCapacity:         {on: "cluster", accepts: worldOptions},
		ZoneLost:           {on: "Availability Zone", accepts: worldOptions},
		TaskCrash:          {on: "service", accepts: []string{"count", "revision", "exit", "after"}},
		SpotInterruption:   {on: "service", accepts: []string{"count", "after"}},
	}

	// serviceNames are the service names with which an operation may begin: those of IAM policies.
	serviceNames = []string{"application-autoscaling", "cloudformation", "cloudwatch", "codedeploy", "ec2", "ecr", "ecs",
		"elasticloadbalancing", "iam", "lambda", "logs", "s3", "secretsmanager", "servicediscovery", "ssm", "sts"}
)

// Parse reads one line:
//
//	throttle ecs:CreateTaskSet times=3
//	5xx ecs:DescribeServices p=0.1 for=30s
//	lost-reply ecs:CreateTaskSet times=1
//	no-send elasticloadbalancing:ModifyRule times=1
//	stale ecs:Describe* by=5s
//	latency ecs:* by=300ms
//	outage *:* as=page skip=40 for=30s
//	expired-credentials times=1
//	denied ecs:DeleteTaskSet skip=1 times=1
//	invalid elasticloadbalancing:ModifyRule times=1
//	failed-operation servicediscovery:RegisterInstance times=1
//	slow-start web by=30s
//	no-capacity prod for=60s
//	zone-lost us-east-1a after=10s
//	task-crash web count=1 exit=137
//	task-crash web revision=2 exit=1
//	spot-interruption web count=2 after=30s
//
// An asterisk matches any text. after= delays the beginning, for= limits the duration,
// times= limits the number of hits, p= is the chance per call. skip= passes that many
// calls first; for= then counts from the first call with the fault.
func Parse(line string) (Fault, error) {
	f, err := parseLine(line)
	if err != nil {
		return Fault{}, fmt.Errorf("fault %q: %w", strings.TrimSpace(line), err)
	}
	return f, nil
}

func parseLine(line string) (Fault, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return Fault{}, fmt.Errorf("the line is empty; known are %s", joinWords(slices.Sorted(maps.Keys(kindForms))))
	}
	f := Fault{Kind: Kind(words[0])}
	form, ok := kindForms[f.Kind]
	if !ok {
		return f, fmt.Errorf("%q is not a kind of fault; known are %s", words[0],
			joinWords(slices.Sorted(maps.Keys(kindForms))))
	}
	words = words[1:]
	if form.on != "" {
		if len(words) == 0 || strings.Contains(words[0], "=") {
			return f, f.kindError("names no %s", form.on)
		}
		f.On, words = words[0], words[1:]
	}
	if form.on == "operation" {
		if err := checkOperation(f.On); err != nil {
			return f, err
		}
	}
	return f, f.readOptions(form, words)
}

func checkOperation(on string) error {
	svc, op, ok := strings.Cut(on, ":")
	if !ok || op == "" {
		return fmt.Errorf("%q is not an operation such as ecs:CreateTaskSet or ecs:*", on)
	}
	for _, known := range serviceNames {
		if matchesPattern(svc, known) {
			return nil
		}
	}
	return fmt.Errorf("%q: %q is not a service; known are %s", on, svc, joinWords(serviceNames))
}

func (f *Fault) readOptions(form kindForm, words []string) error {
	if f.endsTasks() {
		f.Count = 1
	}
	if f.Kind == TaskCrash {
		f.Exit = 1
	}
	known := append(slices.Clone(form.needs), form.accepts...)
	seen := map[string]bool{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		switch {
		case !ok:
			return f.kindError("%q is not an option such as %s=…", w, known[0])
		case !slices.Contains(known, name):
			return f.kindError("option %q is not known here; known are %s", name, joinWords(known))
		case seen[name]:
			return f.kindError("option %s is given twice", name)
		}
		seen[name] = true
		if err := f.setOption(name, value); err != nil {
			return f.kindError("option %s: %w", name, err)
		}
	}
	for _, name := range form.needs {
		if !seen[name] {
			return f.kindError("needs %s=…", name)
		}
	}
	return nil
}

func (f *Fault) setOption(name, value string) (err error) {
	switch name {
	case "as":
		if f.As = value; !slices.Contains(Outages, value) {
			err = fmt.Errorf("%q is none of %s", value, joinWords(Outages))
		}
	case "skip":
		f.Skip, err = parseWhole(value, 1, 1<<31-1)
	case "times":
		f.Times, err = parseWhole(value, 1, 1<<31-1)
	case "count":
		f.Count, err = parseWhole(value, 1, 1<<31-1)
	case "revision":
		f.Revision, err = parseWhole(value, 1, 1<<31-1)
	case "exit":
		f.Exit, err = parseWhole(value, 0, 255)
	case "p":
		f.P, err = parseChance(value)
	case "by":
		f.By, err = parseDuration(value)
	case "after":
		f.After, err = parseDuration(value)
	case "for":
		f.For, err = parseDuration(value)
	}
	return err
}

func parseWhole(s string, lo, hi int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < lo || n > hi {
		return 0, fmt.Errorf("%q is not an integer from %d to %d", s, lo, hi)
	}
	return n, nil
}

func parseChance(s string) (float64, error) {
	p, err := strconv.ParseFloat(s, 64)
	if err != nil || !(p > 0 && p <= 1) {
		return 0, fmt.Errorf("%q is not a probability above 0 and up to 1", s)
	}
	return p, nil
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration such as 500ms, 5s or 2m", s)
	}
	return d, nil
}

func joinWords[S ~string](words []S) string {
	s := make([]string, len(words))
	for i, w := range words {
		s[i] = string(w)
	}
	return strings.Join(s, ", ")
}
