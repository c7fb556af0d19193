package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"strings"
)

// rowsText holds the rows of FIDELITY.md, one per line: the section, a tab, the behaviour. A
// test compares it with FIDELITY.md and writes it again with -update.
//
//go:embed rows.txt
var rowsText string

// row is one behaviour that FIDELITY.md states.
type row struct {
	section, text string
	check         func(*rowRun) // nil: not checkable
	needs         string        // "vpc", "subnets" or "balancer": option that the check needs besides an account
	reason        string        // why it is not checkable
}

// rowCheck is the check of a row: the beginning of the row's text, the option that it needs, and
// its function.
type rowCheck struct {
	begins, needs string
	check         func(*rowRun)
}

// allRows returns all rows, each with its check or the reason why it has none.
func allRows() (all []row, err error) {
	checks := allChecks()
	used := make([]int, len(checks))
	for _, line := range strings.Split(strings.TrimSpace(rowsText), "\n") {
		section, text, _ := strings.Cut(line, "\t")
		r := row{section: section, text: text}
		for i, c := range checks {
			if strings.HasPrefix(text, c.begins) {
				r.check, r.needs = c.check, c.needs
				used[i]++
			}
		}
		if r.check == nil {
			r.reason = reasonOf(r)
		}
		all = append(all, r)
	}
	for i, n := range used {
		if n != 1 {
			return nil, fmt.Errorf("the check %q matches %d rows of FIDELITY.md, not one", checks[i].begins, n)
		}
	}
	return all, nil
}

// reasonsByText are the reasons why rows are not checkable, by the beginning of their text. They
// precede reasonsBySection.
var reasonsByText = []struct{ begins, why string }{
	{"Names of members", "it is about the wire protocol, which every other check uses"},
	{"Token buckets", "it would use up the rates that the account shares with others"},
	{"DescribeAlarms 9", "it would use up the rates that the account shares with others"},
	{"GetLogEvents 25", "it would use up the rates that the account shares with others"},
	{"DiscoverInstances 1,000/s", "it would use up the rates that the account shares with others"},
	{"Cloud Map's writes", "it would use up the rates that the account shares with others"},
	{"Stale reads", "AWS does not report that a response is stale"},
	{"A question that was not asked before", "AWS does not report that a response is stale"},
	{"A lost request", "it is about networks"},
	{"Quotas", "it would take hundreds of resources"},
	{"Name servers", "it needs a resolver in the VPC"},
	{"Answers:", "it needs a resolver in the VPC"},
	{"SRV:", "it needs a resolver in the VPC"},
	{"Names without records", "it needs a resolver in the VPC"},
	{"GetMetricStatistics", "custom metrics cost money and take minutes to show"},
	{"No percentiles", "custom metrics cost money and take minutes to show"},
	{"GetMetricData in pages", "custom metrics cost money and take minutes to show"},
	{"Application Load Balancers publish", "it is about requests through a load balancer to targets that respond"},
	{"TargetResponseTime", "it is about requests through a load balancer to targets that respond"},
	{"Points come late", "it is about requests through a load balancer to targets that respond"},
	{"Missing data of alarms", "custom metrics cost money and take minutes to show"},
	{"StateReason and", "custom metrics cost money and take minutes to show"},
	{"History:", "AWS writes the history minutes later"},
	{"One seed", "it is a property of the simulator"},
	{"An OIDC client secret", "it needs an identity provider"},
}

var reasonsBySection = map[string]string{
	"Application Auto Scaling":         "it needs tasks that run, under load, for minutes",
	"CloudWatch":                       "it is about the protocols, which every other check uses",
	"CloudWatch Logs":                  "it needs tasks that run",
	"CodeDeploy":                       "it needs tasks that run, a load balancer and an IAM role",
	"Data plane":                       "it is about requests through a load balancer to tasks that run",
	"ecs":                              "it needs tasks that run",
	"Elastic Load Balancing v2":        "it is about requests through a load balancer to targets that respond",
	"Cloud Map":                        "it needs tasks that run, or a resolver in the VPC",
	"IAM":                              "it needs principals whose policies are known",
	"CloudFormation":                   "it needs stacks whose outputs are known",
	"ECR":                              "it needs images that are pushed",
	"Lambda":                           "it needs functions, which need code and a role",
	"S3":                               "it needs objects that are written",
	"Secrets Manager":                  "secrets cost money, and a deleted one keeps its name for days",
	"Systems Manager":                  "it needs parameters that are written",
	"Protocols, credentials, networks": "it is about the wire protocol, or about networks that the account shares",
}

func reasonOf(r row) string {
	for _, x := range reasonsByText {
		if strings.HasPrefix(r.text, x.begins) {
			return x.why
		}
	}
	return reasonsBySection[r.section]
}

func (r row) listLine() string {
	if r.check == nil {
		return "not checkable  " + r.section + ": " + r.text + " (" + r.reason + ")"
	}
	needs := ""
	if r.needs != "" {
		needs = " (needs --" + r.needs + ")"
	}
	return "checked        " + r.section + ": " + r.text + needs
}

// reportResult checks a row and prints the result. It returns whether AWS differs.
func (r row) reportResult(ctx context.Context, s *site, out io.Writer) (differs bool) {
	say := func(word string) { fmt.Fprintf(out, "%-14s %s: %s\n", word, r.section, r.text) }
	switch {
	case r.check == nil:
		say("not checkable")
		fmt.Fprintf(out, "    %s\n", r.reason)
		return false
	case !s.canCheck(r.needs):
		say("not checked")
		fmt.Fprintf(out, "    needs --%s\n", r.needs)
		return false
	}
	c := &rowRun{ctx: ctx, site: s}
	c.runCheck(r.check)
	switch {
	case c.err != nil:
		say("failed")
		fmt.Fprintf(out, "    %v\n", c.err)
		return ctx.Err() == nil
	case len(c.differences) > 0:
		say("differs")
		for _, d := range c.differences {
			fmt.Fprintf(out, "    %s\n", d)
		}
		return true
	}
	say("agrees")
	return false
}
