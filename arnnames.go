package sluice

import (
	"cmp"
	"regexp"
	"strings"
)

// ARNNames are names of resources by ARN, for resources whose ARN does not contain enough. A nil map is
// usable.
type ARNNames map[string]string

// arnPattern matches an ARN in a text, with the flag of a command before it.
var arnPattern = regexp.MustCompile(
	`(--[a-z-]+[ =])?arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:[0-9]*:[A-Za-z0-9_./:*-]*[A-Za-z0-9_*]`)

// Shorten returns a text with a short name for each ARN: its kind and the name that a person gave,
// such as "target group web-canary". An ARN of an unknown kind stays as it is, and so does an argument
// of a command.
func (n ARNNames) Shorten(text string) string {
	if !strings.Contains(text, "arn:") {
		return text
	}
	var b strings.Builder
	at := 0
	for _, m := range arnPattern.FindAllStringIndex(text, -1) {
		before, name := text[at:m[0]], n.nameOf(text[m[0]:m[1]])
		if noun := lastNoun.FindString(before); noun != "" {
			name = strings.TrimPrefix(name, strings.ReplaceAll(noun, "-", " ")) // "the role role deployer"
		}
		at = m[1]
		if named, inBrackets := strings.CutSuffix(before, " ("); inBrackets && strings.HasSuffix(named, name) &&
			strings.HasPrefix(text[at:], ")") { // "check the default rule of port 80 (default rule of port 80)"
			before, name, at = named, "", at+1
		}
		b.WriteString(before + name)
	}
	return b.String() + text[at:]
}

// lastNoun matches the kind of a resource at the end of a text.
var lastNoun = regexp.MustCompile(`\b(?:target[- ]group|task definition|listener rule|[a-z]+) $`)

// nameOf returns the short name of an ARN, or the ARN itself.
func (n ARNNames) nameOf(arn string) string {
	return cmp.Or(n[arn], arnKindName(arn), arn)
}

// arnKinds are the kinds of resources, by service and the first word of the resource. part is the index
// of the name in the resource, split at slashes; -1 is everything after the first word.
var arnKinds = map[string]struct {
	noun string
	part int
}{
	"elasticloadbalancing listener/":      {"listener of ", 2},
	"elasticloadbalancing listener-rule/": {"listener rule of ", 2},
	"elasticloadbalancing loadbalancer/":  {"load balancer ", 2},
	"elasticloadbalancing targetgroup/":   {"target group ", 1},
	"ecs cluster/":                        {"cluster ", -1},
	"ecs service/":                        {"service ", -1},
	"ecs task-set/":                       {"task set ecs-svc/", 4},
	"ecs task-definition/":                {"task definition ", -1},
	"ecs task/":                           {"task ", 2},
	"ecs container-instance/":             {"container instance ", 2},
	"ecs service-deployment/":             {"service deployment ", 3},
	"ecs service-revision/":               {"service revision ", 3},
	"servicediscovery service/":           {"Cloud Map service ", 1},
	"servicediscovery namespace/":         {"Cloud Map namespace ", 1},
	"codedeploy deploymentgroup:":         {"deployment group ", -1},
	"codedeploy application:":             {"application ", -1},
	"iam role/":                           {"role ", -1},
	"cloudwatch alarm:":                   {"alarm ", -1},
}

// arnKindName returns the kind and the name of an ARN, or "".
func arnKindName(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 || parts[0] != "arn" {
		return ""
	}
	end := strings.IndexAny(parts[5], "/:")
	if end < 0 {
		return ""
	}
	kind, ok := arnKinds[parts[2]+" "+parts[5][:end+1]]
	if !ok {
		return ""
	}
	if kind.part < 0 {
		return kind.noun + parts[5][end+1:]
	}
	names := strings.Split(parts[5], "/")
	if kind.part >= len(names) {
		return ""
	}
	return kind.noun + names[kind.part]
}

// AddRule adds the name of a listener rule, see [Rule.Name], and of its listener: its load balancer and
// port. The default action of a listener has the listener's ARN.
func (n ARNNames) AddRule(arn, name string) {
	n[arn] = name
	listener := RuleOfARN(arn).Listener
	_, port, ok := strings.Cut(name, " of port ")
	if parts := strings.Split(listener, "/"); ok && len(parts) > 2 {
		n[listener] = "listener " + parts[2] + ":" + port
	}
}
