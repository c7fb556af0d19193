package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
)

// greatestWeight is AWS's limit for the weight of a target group.
const greatestWeight = 999

const (
	// ConfirmGrace is how long callers may not reach the version of an outcome before the outcome changes. AWS's
	// answers lag behind writes, and other tools write rules one after the other.
	ConfirmGrace = time.Minute
	// RulePropagation is how long nodes of an Application Load Balancer may still use a rule that was changed. AWS
	// names no time; seconds are observed.
	RulePropagation = 10 * time.Second
	// NoMoreWaits is a time after which [Confirmation.Decide] waits for nothing.
	NoMoreWaits = 10 * ConfirmGrace
	// ConfirmInterval is the time between reads of a [Traffic] that is waited for.
	ConfirmInterval = 5 * time.Second
)

// Problem is a production rule by which callers get errors, or another version.
type Problem struct {
	Route Route
	Why   string // "rule 10 of port 80 sends 100 % of the requests to web-canary, which has no healthy target"
	// CanServe are the names of the service's groups that can serve the version: where the rule should send requests.
	CanServe []string
	// Serves is the ARN of the only group of CanServe, or of several the one to which the rule sent all requests
	// before; empty: that is not known.
	Serves string
	// Beside are the shares of groups of others that the forward action had before, or has now: "other 20". Its
	// restored form has them too. Empty: there are none.
	Beside string
	// Empty is the ARN of a group of the service that gets requests and cannot serve; empty: that is not the problem.
	Empty string
	// FailsOpen: callers reach the targets of the group, and each of them fails its health checks.
	FailsOpen bool
	// Former is what the rule, its listener or the group had before, and the command that shows it; empty: the same.
	Former string
}

// Next returns the command that mends the problem, or the one that shows the rule.
func (p Problem) Next() string {
	if p.Route.Repair != "" {
		return "give the weight to the group that can serve: " + p.Route.Repair
	}
	switch {
	case p.Route.Hidden != "":
		return "see the rule that gets the requests, and remove it or give it a higher number: " +
			DescribeRuleCommand(p.Route.HiddenBy)
	case p.Route.Gone == ListenerDeleted && p.Route.IsDefault() && p.Beside == "" && p.Route.Balancer != "":
		return p.Route.createListener(p.Serves)
	case p.Route.Gone != "":
		return "create the rule again, with an action that forwards to the target group of the service"
	case p.Former != "":
		return "see it, then restore " + p.Former
	case p.Route.Returns[p.Serves] != "" && p.Beside == "":
		return "forward its requests to " + sluice.TargetGroupName(p.Serves) + " again: " + p.Route.Returns[p.Serves]
	case len(p.CanServe) == 0 && p.Empty != "":
		return "see why no target of the group can serve: aws elbv2 describe-target-health --target-group-arn " + p.Empty
	}
	return fmt.Sprintf("see the rule, then restore its forward action%s: ", p.forwardsTo()) + DescribeRuleCommand(p.Route.ARN)
}

// forwardsTo describes where the restored rule sends requests; empty: no group can serve.
func (p Problem) forwardsTo() string {
	if len(p.CanServe) == 0 {
		return ""
	}
	to := ", to " + strings.Join(p.CanServe, " or ")
	if p.Beside != "" {
		to += " beside " + p.Beside
	}
	return to
}

// Problems returns why callers do not get the version that should serve. serving are the ARNs of the groups with its
// tasks; none: every group of the service. before is an earlier read, in which callers reached the service, or the
// zero value. A rule that sends requests to other services only is no problem, unless it sent them here before.
func (t Traffic) Problems(before Traffic, serving ...string) (all []Problem) {
	for _, r := range t.Routes {
		if why, isOpen := t.problemOf(r, before, serving); why != "" {
			p := Problem{Route: r, Why: why, Empty: t.emptyGroup(r), Former: before.former(r), Beside: t.beside(r, before),
				FailsOpen: isOpen}
			able := t.canServe(serving)
			for _, arn := range able {
				p.CanServe = append(p.CanServe, sluice.TargetGroupName(arn))
			}
			p.Serves = before.leadTo(r, able)
			if g, ok := t.group(p.Empty); ok && isOpen {
				if changes := before.CheckChanges(g.ARN, g.Check); changes != "" {
					p.Why += "; " + changes
					p.Former = "its former health check: aws elbv2 describe-target-groups --target-group-arns " + g.ARN
				}
			}
			all = append(all, p)
		}
	}
	return all
}

// beside describes the shares of groups of other services in a rule, as an earlier read shows it if that has the rule.
func (t Traffic) beside(r Route, before Traffic) string {
	if was, ok := before.route(r.ARN); ok {
		r = was
	}
	_, all := t.weight(r)
	var others []sluice.Share
	for _, s := range r.Forward {
		if _, own := t.group(s.Group); !own && s.Weight > 0 && s.Weight < all && !t.isDead(s.Group) {
			others = append(others, s)
		}
	}
	return DescribeShares(others)
}

// canServe returns the ARNs of the groups of the service with targets that are healthy, or that no rule reaches, of
// serving if that names any.
func (t Traffic) canServe(serving []string) (arns []string) {
	for _, g := range t.Groups {
		if t.mayServe(g) && (len(serving) == 0 || slices.Contains(serving, g.ARN)) {
			arns = append(arns, g.ARN)
		}
	}
	return arns
}

// leadTo returns the group that should get the requests of a rule: the only one that can serve, or of several the one
// that got all of them in this earlier read; empty: it is not known.
func (t Traffic) leadTo(r Route, able []string) string {
	if len(able) == 1 {
		return able[0]
	}
	was, _ := t.route(r.ARN)
	_, all := t.weight(was)
	for _, s := range was.Forward {
		if s.Weight > 0 && s.Weight == all && slices.Contains(able, s.Group) {
			return s.Group
		}
	}
	return ""
}

// LeadsAway reports whether a rule forwards to groups of other services only.
func (t Traffic) LeadsAway(r Route) bool {
	own, all := t.weight(r)
	return r.Gone == "" && own == 0 && all > 0
}

// createListener says how to create the listener of a default rule again, with a group that gets all requests. Words in
// the command stand for values that are not known.
func (r Route) createListener(group string) string {
	var unknown []string
	orWord := func(value, word string) string {
		if value == "" {
			unknown = append(unknown, word)
			return word
		}
		return value
	}
	port, certificate := "", ""
	if r.Port > 0 {
		port = strconv.Itoa(r.Port)
	}
	if r.ListenerProtocol == "HTTPS" || r.ListenerProtocol == "TLS" {
		certificate = " --certificates CertificateArn=" + orWord("", "CERTIFICATE")
	}
	protocol := orWord(r.ListenerProtocol, "PROTOCOL")
	port, group = orWord(port, "PORT"), orWord(group, "TARGET_GROUP")
	with := ""
	if len(unknown) > 0 {
		with = ", with its values for " + strings.Join(unknown, ", ")
	}
	return fmt.Sprintf("create the listener again%s: aws elbv2 create-listener --load-balancer-arn %s --protocol %s --port %s%s "+
		"--default-actions Type=forward,TargetGroupArn=%s", with, r.Balancer, protocol, port, certificate, group)
}

// Had reports whether each of the problems is of a rule that was a problem in this read too.
func (t Traffic) Had(problems []Problem) bool {
	was := t.Problems(Traffic{})
	for _, p := range problems {
		if !slices.ContainsFunc(was, func(b Problem) bool { return b.Route.ARN == p.Route.ARN }) {
			return false
		}
	}
	return true
}

// MostlyUnhealthy returns the groups with weight in which more targets fail their health checks than pass them, for
// users; empty: there is none. A load balancer still sends requests to the others, which they may not withstand.
func (t Traffic) MostlyUnhealthy() string {
	var all []string
	for _, g := range t.Groups {
		if g.Unhealthy > g.Healthy && t.HasWeight(g.ARN) {
			all = append(all, fmt.Sprintf("%d of %d targets of %s are unhealthy", g.Unhealthy, g.Targets,
				sluice.TargetGroupName(g.ARN)))
		}
	}
	return strings.Join(all, "; ")
}

// Besides returns the rules that send callers to the service, and that are neither written nor rules of a written
// listener. written are ARNs.
func (t Traffic) Besides(written []string) (all []Route) {
	for _, r := range t.Routes {
		if t.reached(r.ARN) && !isOf(written, r.Rule) && !t.isCovered(r) && firstFor(r.Conditions, r, t.Routes) == nil {
			all = append(all, r)
		}
	}
	return all
}

// LostSince returns the rules by which callers reached the service in an earlier read, and do not any more.
func (t Traffic) LostSince(before Traffic) (all []Problem) {
	for _, p := range t.Problems(before) {
		if before.reached(p.Route.ARN) && (!t.leads(p.Route) || p.Former != "") {
			all = append(all, p)
		}
	}
	return all
}

// problemOf returns why callers of one rule do not get the version; empty: they do, or the rule is not for them.
// isOpen: they get targets that fail their health checks.
func (t Traffic) problemOf(r Route, before Traffic, serving []string) (why string, isOpen bool) {
	if t.isForOthers(r, before) || t.isFollowed(r, before) {
		return "", false
	}
	if why = t.problemOfRule(r, before); why != "" {
		return r.Name() + " " + why, false
	}
	for _, s := range r.Forward {
		switch text, opens := t.problemOfShare(r, s, serving); {
		case text != "" && !opens:
			return text, false
		case why == "":
			why, isOpen = text, opens
		}
	}
	if why == "" && before.sentMore(r, t) {
		why = r.Name() + " sends more of its requests to another service than before: it forwards to " +
			DescribeShares(r.Forward)
	}
	return why, isOpen
}

// isForOthers reports whether callers of the service do not need a rule. A rule that names the service without weight,
// and sends the requests to groups without targets, is for them: callers get 503. So is a rule that deployments do not
// write and that sends requests to the service, whenever it was made.
func (t Traffic) isForOthers(r Route, before Traffic) bool {
	own, all := t.weight(r)
	switch {
	case r.Gone != "" && t.isReplaced(r, before):
		return true
	case r.Beside:
		return !before.reached(r.ARN) && !t.leads(r) || t.isCovered(r)
	case before.reached(r.ARN):
		return false
	case own == 0 && (!r.Named && (r.Gone != "" || !t.namesOwn(r)) || r.Gone == "" && t.otherServes(r)):
		return true
	case own == 0 && all > 0 && !r.Named && t.isCovered(r):
		return true
	}
	return r.Gone == "" && r.Hidden != "" && t.ReceivesRequests()
}

// problemOfRule returns why a rule sends callers to no group of the service, without the name of the rule; empty: it
// does.
func (t Traffic) problemOfRule(r Route, before Traffic) string {
	own, all := t.weight(r)
	switch {
	case r.Gone != "":
		return "no longer exists: " + string(r.Gone)
	case r.Hidden != "":
		return "gets no requests: " + r.Hidden + ", gets them first"
	case before.former(r) != "" && !t.isReplaced(r, before):
		return "gets other requests than before: " + before.changes(r)
	case r.Action != "":
		return "no longer forwards: its action is " + r.Action
	case all == 0:
		return "gives weight to no target group: callers get 503"
	case own == 0 && before.reached(r.ARN):
		return "sends no requests to the service any more: it forwards to " + DescribeShares(r.Forward)
	}
	return ""
}

// sentMore reports whether a rule sent a greater part of its requests to groups of the service in this read than in the
// one of now. A group of this read may be none of the service now, without any task.
func (t Traffic) sentMore(r Route, now Traffic) bool {
	was, _ := t.route(r.ARN)
	ownThen, allThen := t.weight(was)
	t.Groups = slices.Concat(t.Groups, now.Groups)
	own, all := t.weight(r)
	return t.reached(r.ARN) && own*allThen < ownThen*all
}

// changes describes how the requests that a rule gets differ from those that it got in this earlier read; empty: it
// gets at least the same ones, or reached no group of the service then.
func (t Traffic) changes(r Route) string {
	was, ok := t.route(r.ARN)
	switch {
	case !ok || !t.reached(r.ARN):
		return ""
	case was.Port != r.Port && was.Port != 0:
		return fmt.Sprintf("its listener has port %d, and had %d", r.Port, was.Port)
	case len(was.Conditions) > 0 && !matchesAll(r.Conditions, was.Conditions):
		return fmt.Sprintf("its conditions are %s, and were %s", describeConditions(r.Conditions),
			describeConditions(was.Conditions))
	}
	return ""
}

// former describes what to restore so that a rule gets the requests of this earlier read again; empty: nothing.
func (t Traffic) former(r Route) string {
	was, _ := t.route(r.ARN)
	switch {
	case t.changes(r) == "":
		return ""
	case was.Port != r.Port:
		return fmt.Sprintf("port %d: %s", was.Port, DescribeRuleCommand(r.Listener))
	}
	return "its conditions: " + DescribeRuleCommand(r.ARN)
}

// emptyGroup returns the group of the service to which a rule gives weight and that cannot serve; empty: there is none.
func (t Traffic) emptyGroup(r Route) string {
	for _, s := range r.Forward {
		if g, own := t.group(s.Group); own && s.Weight > 0 && g.Read && !g.Deleted && g.Healthy == 0 {
			return s.Group
		}
	}
	return ""
}

// problemOfShare returns why callers whom a rule sends to one group do not get the version; empty: they do. isOpen:
// they get targets that fail their health checks.
func (t Traffic) problemOfShare(r Route, s sluice.Share, serving []string) (why string, isOpen bool) {
	g, own := t.group(s.Group)
	dead := !own && t.isDead(s.Group)
	_, all := t.weight(r)
	name, percent := sluice.TargetGroupName(s.Group), fmt.Sprintf("%.3g %%", float64(s.Weight)*100/float64(all))
	sends := fmt.Sprintf("%s sends %s of the requests to %s, which ", r.Name(), percent, name)
	switch {
	case s.Weight == 0 || !own && !dead:
		return "", false
	case dead:
		open := t.other(s.Group).failsOpen()
		return strings.TrimSuffix(sends+"has no healthy target: "+open, ": "), open != ""
	case g.Deleted:
		return sends + "does not exist", false
	case !g.Read:
		return "", false
	case g.failsOpen() != "":
		return fmt.Sprintf("no target of %s is healthy, so %s (%s: %s of the requests)", name, g.failsOpen(), r.Name(),
			percent), true
	case g.Healthy == 0 && g.Targets == 0:
		return sends + "has no targets", false
	case g.Healthy == 0:
		return sends + "has no healthy target", false
	case len(serving) > 0 && !slices.Contains(serving, s.Group):
		return sends + "runs another version", false
	}
	return "", false
}

// isCovered reports whether a rule is the default action of a listener on which a rule sends requests to the service.
// Callers of the service use that rule, and the default action may keep what ECS's own strategy left there.
func (t Traffic) isCovered(r Route) bool {
	return r.IsDefault() && slices.ContainsFunc(t.Routes, func(x Route) bool {
		return x.Listener == r.Listener && !x.IsDefault() && t.serves(x)
	})
}

// otherServes reports whether a rule gives weight to a group of another service that may serve.
func (t Traffic) otherServes(r Route) bool {
	return slices.ContainsFunc(r.Forward, func(s sluice.Share) bool {
		_, own := t.group(s.Group)
		return s.Weight > 0 && !own && !t.isDead(s.Group)
	})
}

// reached reports whether a rule sent requests to the service in this read: one that deployments do not write, to
// healthy targets.
func (t Traffic) reached(rule string) bool {
	r, ok := t.route(rule)
	return ok && t.leads(r) && (!r.Beside || slices.ContainsFunc(r.Forward, func(s sluice.Share) bool {
		g, _ := t.group(s.Group)
		return s.Weight > 0 && g.Healthy > 0
	}))
}

// isReplaced reports whether another rule of the same port, which did not exist before, sends the same requests to the
// service.
func (t Traffic) isReplaced(gone Route, before Traffic) bool {
	was, ok := before.route(gone.ARN)
	if !ok {
		was = gone
	}
	return slices.ContainsFunc(t.Routes, func(r Route) bool {
		return t.serves(r) && r.Balancer == gone.Balancer && r.Port == was.Port && !before.has(r.ARN) &&
			(len(was.Conditions) == 0 || matchesAll(r.Conditions, was.Conditions))
	})
}

func (t Traffic) namesOwn(r Route) bool {
	return slices.ContainsFunc(r.Forward, func(s sluice.Share) bool { _, ok := t.group(s.Group); return ok })
}

// Repairable returns the problems that a change of the rule mends: another group of the service can serve. Those of
// rules that deployments do not write are left out: a deployment may move the tasks to their group.
func (t Traffic) Repairable() []Problem {
	if !slices.ContainsFunc(t.Groups, t.mayServe) {
		return nil
	}
	return slices.DeleteFunc(t.Problems(Traffic{}), Problem.isBeside)
}

// isBeside reports whether deployments do not write the rule of the problem.
func (p Problem) isBeside() bool { return p.Route.Beside }

// Describe returns what callers get, as one text: the problems after a lead, such as "callers do not reach the
// service". The lead is left out if callers reach targets that fail their health checks.
func Describe(lead string, all []Problem) string {
	if !slices.ContainsFunc(all, func(p Problem) bool { return !p.FailsOpen }) {
		return Texts(all)
	}
	return lead + ": " + Texts(all)
}

// Texts returns the problems as one text.
func Texts(all []Problem) string {
	var texts []string
	for _, p := range all {
		texts = append(texts, p.Why)
	}
	return strings.Join(texts, "; ")
}

// Repaired returns the weights of a rule with which callers reach a group that can serve. The weight of groups without
// a healthy target goes to one group of the service that has one: to one with weight if there is one, of several to
// prefer, else to the first. ok is false if no group of the rule can serve, or if nothing needs to change.
func (t Traffic) Repaired(forward []sluice.Share, prefer string) (out []sluice.Share, ok bool) {
	out = slices.Clone(forward)
	lost, all, best := 0, 0, -1
	for i, s := range out {
		all += s.Weight
		g, own := t.group(s.Group)
		switch {
		case !own && !t.isDead(s.Group):
			continue
		case g.Healthy == 0:
			lost, out[i].Weight = lost+s.Weight, 0
			continue
		}
		if best < 0 || better(out[i], out[best], prefer) {
			best = i
		}
	}
	if best < 0 || lost == 0 && all > 0 {
		return forward, false
	}
	if all == 0 {
		lost = 100
	}
	out[best].Weight = min(out[best].Weight+lost, greatestWeight)
	return out, true
}

// Rerouted returns the weights of a rule that forwards only to groups of the service that cannot serve, with all
// requests for a group that the rule does not name and that has tasks. It is never the test group. ok is false for
// another rule, or without such a group.
func (t Traffic) Rerouted(forward []sluice.Share) (out []sluice.Share, ok bool) {
	for _, s := range forward {
		g, own := t.group(s.Group)
		if !own || g.Healthy > 0 || !g.Read && !g.Deleted {
			return forward, false
		}
		if !g.Deleted {
			out = append(out, sluice.Share{Group: s.Group})
		}
	}
	i := slices.IndexFunc(t.Groups, t.isLeft)
	if i < 0 || len(forward) == 0 {
		return forward, false
	}
	return append(out, sluice.Share{Group: t.Groups[i].ARN, Weight: 100}), true
}

// better reports whether the weight should go to a rather than to b.
func better(a, b sluice.Share, prefer string) bool {
	if (a.Weight > 0) != (b.Weight > 0) {
		return a.Weight > 0
	}
	return a.Group == prefer && b.Group != prefer
}
