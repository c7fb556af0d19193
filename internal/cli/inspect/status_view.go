package inspect

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// serviceView writes the state of a service as text.
type serviceView struct {
	show.Paint
	next func(string) string // see [session.Session.NextStep]; nil: commands are not changed
}

// writeText writes the state of the service as text.
func (t *ServiceReport) writeText(w io.Writer, p show.Paint, next func(string) string) error {
	return serviceView{p, next}.writeService(w, t)
}

// nextStep returns a command, or a text with one, for this command line.
func (v serviceView) nextStep(text string) string {
	if v.next == nil {
		return text
	}
	return v.next(text)
}

func (v serviceView) writeService(w io.Writer, t *ServiceReport) error {
	var b bytes.Buffer
	if session.IsTaskRun(t.Service) {
		v.writeTaskRuns(&b, t)
	} else if t.Status == "" {
		fmt.Fprintf(&b, "service %s/%s in %s: not found\n", t.Cluster, t.Service, t.Region)
	} else {
		fmt.Fprintf(&b, "service %s in %s: %s, %d desired, %d running, %d pending (controller %s)\n",
			v.Bold(t.Cluster+"/"+t.Service), t.Region, t.Status, t.Desired, t.Running, t.Pending, t.Controller)
	}
	v.writeScaling(&b, t)
	v.writeDeployment(&b, t)
	v.writeRules(&b, t)
	v.writeCallers(&b, t)
	v.writeRequests(&b, t)
	v.writeNames(&b, t)
	v.writeCodeDeploy(&b, t)
	for _, s := range t.TaskSets {
		v.writeTaskSet(&b, s)
	}
	v.writeRollouts(&b, t)
	v.writeCanaryService(&b, t)
	for _, l := range t.OtherTargets {
		fmt.Fprintf(&b, "target %s of %s: %s\n", l.Address, l.Group, l.State)
	}
	for _, text := range t.undescribedTexts() {
		fmt.Fprintln(&b, v.Warn("warning: "+text))
	}
	v.writeCauses(&b, t)
	if t.Problem != "" {
		fmt.Fprintln(&b, v.Warn("warning: "+t.Problem))
	}
	text := v.ARNs(b.String())
	if c := t.Callers; c != nil && c.Next != "" {
		text += "next: " + v.nextStep(c.Next) + "\n" // a command: its ARNs stay whole
	}
	for _, n := range t.Names {
		if n.Next != "" {
			text += "next: " + v.nextStep(n.Next) + "\n"
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

func (v serviceView) writeDeployment(b *bytes.Buffer, t *ServiceReport) {
	d := t.Deployment
	if d == nil || t.OtherJournal != "" {
		v.writeOtherClaim(b, t)
	}
	if d == nil {
		return
	}
	before := ""
	if t.OtherJournal != "" {
		before = "last of this journal: "
	}
	fmt.Fprintf(b, "%sdeployment %s: %s, %s", before, d.ID, v.Bold(cmp.Or(string(d.Outcome), string(d.State))),
		revisionChange(d.From, d.To))
	switch {
	case d.Runner != "":
		fmt.Fprintf(b, ", run by %s", d.Runner)
	case d.Outcome == "":
		fmt.Fprint(b, v.nextStep(fmt.Sprintf(", no process is running it. %s: sluice resume %s", t.howToContinue(), d.ID)))
	}
	fmt.Fprintln(b)
	if d.Later != "" {
		fmt.Fprintf(b, "  later: %s was deployed by others\n", v.Bold(d.Later))
	}
	if d.Cause != "" {
		fmt.Fprintf(b, "  %s\n", v.Bad(d.Cause))
	}
	if t.OtherJournal != "" && d.Outcome != "" {
		return // the stages that matter are in the other journal
	}
	for _, s := range d.Stages {
		fmt.Fprintf(b, "  %s %2d %s %s\n", v.colorStatus(show.PadRight(cmp.Or(s.Status, "-"), 8), s.Status), s.Number,
			show.PadRight(s.Name, 20), s.What)
	}
	for _, g := range d.Gates {
		fmt.Fprintf(b, "  %s\n", g)
	}
	if d.Waiting != "" && !t.goesOnInECS() {
		fmt.Fprintf(b, "  %s\n", d.Waiting)
	}
}

// writeOtherClaim writes the claim of a deployment that is not in this journal.
func (v serviceView) writeOtherClaim(b *bytes.Buffer, t *ServiceReport) {
	claim, err := plan.ParseClaim(t.Claim)
	switch {
	case t.Claim == "":
	case err != nil:
		fmt.Fprintf(b, "a deployment of another journal has claimed the service: %s\n", t.Claim)
	default:
		until := "claimed until "
		if t.ClaimExpired {
			until = "its claim expired at "
		}
		fmt.Fprintf(b, "deployment %s of another journal (%s%s)\n", v.Bold(claim.Deployment), until,
			show.FormatTime(claim.Until))
	}
}

func (v serviceView) colorStatus(text, status string) string {
	switch status {
	case "done":
		return v.Good(text)
	case "failed":
		return v.Bad(text)
	case "running":
		return v.Bold(text)
	}
	return v.Dim(text)
}

func revisionChange(from, to string) string {
	if from == "" || from == to {
		return to
	}
	return from + " -> " + to
}

// writeRules writes the requested weights of the deployment and the actual weights of the rules.
func (v serviceView) writeRules(b *bytes.Buffer, t *ServiceReport) {
	if len(t.Rules) == 0 {
		return
	}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "weights (primary / canary)\trequested\tactual")
	for _, r := range t.Rules {
		asked := "-"
		if t.OtherJournal == "" && t.Deployment != nil && t.Deployment.Requested != nil {
			asked = fmt.Sprintf("%d / %d", t.Deployment.Requested.Primary(), t.Deployment.Requested.Canary())
		}
		fmt.Fprintf(w, "  %s\t%s\t%s / %s\n", r.Name, asked, weightText(r.Primary), weightText(r.Canary))
	}
	w.Flush()
}

func weightText(w *int) string {
	if w == nil {
		return "-"
	}
	return strconv.Itoa(*w)
}

func (v serviceView) writeTaskSet(b *bytes.Buffer, s taskSetReport) {
	steady := ""
	if s.Steady {
		steady = ", steady"
	}
	share := fmt.Sprintf("%g%%", s.Scale)
	if s.Weight != nil {
		share = fmt.Sprintf("%g%% of the traffic", *s.Weight)
	}
	fmt.Fprintf(b, "task set %s (%s, %s) of %s: %s, %s%s\n", s.ID, v.Bold(cmp.Or(s.Role, "other")), s.Status, s.Revision,
		share, sluice.RunningText(s.Running, s.Desired), steady)
	writeTasks(b, s.Tasks)
}

func writeTasks(b *bytes.Buffer, all []taskReport) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, task := range all {
		fmt.Fprintf(w, "  task %s\t%s\t%s\t%s\n", task.ID, task.Status, cmp.Or(task.Address, "-"), cmp.Or(task.Target, "-"))
	}
	w.Flush()
}
