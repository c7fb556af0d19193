package inspect

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// codeDeployReport is a CodeDeploy deployment.
type codeDeployReport struct {
	ID           string                   `json:"id"`
	Application  string                   `json:"application"`
	Group        string                   `json:"deploymentGroup"`
	Config       string                   `json:"deploymentConfig,omitempty"`
	Status       string                   `json:"status"`
	Revision     string                   `json:"revision,omitempty"` // that it deploys
	RollbackOf   string                   `json:"rollbackOf,omitempty"`
	ErrorCode    string                   `json:"errorCode,omitempty"`
	ErrorMessage string                   `json:"errorMessage,omitempty"`
	Detail       string                   `json:"detail,omitempty"` // progress in words
	URL          string                   `json:"console"`
	Lifecycle    []verdict.LifecycleEvent `json:"lifecycle,omitempty"`
	CreatedAt    time.Time                `json:"createdAt,omitzero"`
	EndedAt      time.Time                `json:"endedAt,omitzero"`
}

func (c codeDeployReport) hasEnded() bool {
	return slices.Contains([]string{"Succeeded", "Failed", "Stopped"}, c.Status)
}

// addCodeDeploy adds the running or last deployment of a service that CodeDeploy deploys.
func (r serviceReader) addCodeDeploy(ctx context.Context) error {
	t := r.report
	seen, err := watch.New(r.account, r.clock).PollCodeDeploy(ctx, t.Cluster, t.Service)
	if err != nil {
		return err
	}
	if seen.Code != nil {
		if err := r.addCodeDeployment(ctx, seen); err != nil {
			return err
		}
	}
	t.copyCauses(seen.Verdict)
	return nil
}

func (r serviceReader) addCodeDeployment(ctx context.Context, seen watch.Update) error {
	t, d, region := r.report, seen.Code, r.account.Region()
	now := reportCodeDeploy(region, d, seen.CodeTarget)
	if d.RollbackOf == "" {
		now.Revision = seen.Verdict.Revision
	} else {
		hand := codedeploy.Client{API: r.account.CodeDeploy()}
		first, err := hand.GetDeployment(ctx, d.RollbackOf)
		if err != nil {
			return err
		}
		course, err := hand.ReadTarget(ctx, d.RollbackOf, t.Cluster, t.Service)
		if err != nil {
			return err
		}
		if first != nil {
			rolledBack := reportCodeDeploy(region, first, course)
			rolledBack.Revision = seen.Verdict.Revision
			t.CodeDeploy = append(t.CodeDeploy, rolledBack)
		}
	}
	if seen.Verdict.State != verdict.Ended {
		now.Detail = seen.Verdict.Detail
	}
	t.CodeDeploy = append(t.CodeDeploy, now)
	t.setColors(seen.CodeTarget)
	return nil
}

func reportCodeDeploy(region string, d *verdict.CodeDeployment, course *verdict.CodeTarget) codeDeployReport {
	c := codeDeployReport{ID: d.ID, Application: d.Application, Group: d.Group, Config: d.Config, Status: d.Status,
		RollbackOf: d.RollbackOf, ErrorCode: d.Code, ErrorMessage: d.Message, URL: codedeploy.ConsoleURL(region, d.ID),
		CreatedAt: d.CreatedAt, EndedAt: d.EndedAt}
	if course != nil {
		c.Lifecycle = course.Events
	}
	return c
}

// setColors sets which task sets are blue and green, and their share of the traffic.
func (t *ServiceReport) setColors(course *verdict.CodeTarget) {
	if course == nil {
		return
	}
	for i := range t.TaskSets {
		s := &t.TaskSets[i]
		for role, set := range map[string]*verdict.CodeSet{"blue": course.Blue, "green": course.Green} {
			if set != nil && set.ID == s.ID {
				s.Role, s.Weight = role, &set.Weight
			}
		}
	}
}

// writeCodeDeploy writes the CodeDeploy deployments with their lifecycle events.
func (v serviceView) writeCodeDeploy(b *bytes.Buffer, t *ServiceReport) {
	for _, d := range t.CodeDeploy {
		what := "CodeDeploy deployment"
		if d.RollbackOf != "" {
			what = "CodeDeploy rollback"
		}
		fmt.Fprintf(b, "%s %s of %s/%s: %s%s\n", what, d.ID, d.Application, d.Group, v.Bold(d.Status),
			codeDeployText(d))
		w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		for _, e := range d.Lifecycle {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", e.Name, e.Status, e.Message)
		}
		w.Flush()
		if d.Detail != "" {
			fmt.Fprintf(b, "  %s\n", d.Detail)
		}
	}
}

func codeDeployText(d codeDeployReport) string {
	text := ""
	if d.Revision != "" {
		text += ", deploys " + d.Revision
	}
	if d.RollbackOf != "" {
		text += ", rolls back " + d.RollbackOf
	}
	if d.Config != "" && d.RollbackOf == "" {
		text += ", with " + d.Config
	}
	if d.ErrorMessage != "" {
		text += ": " + d.ErrorMessage
	}
	return text
}
