package terraform

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// needsWait reports whether an update waits: the deployment may be another one, or the last wait did
// not see a success. Other limits and another bake time alone need no wait.
func needsWait(plan, state waitModel) bool {
	return !plan.TaskDefinition.Equal(state.TaskDefinition) || !plan.DeploymentID.Equal(state.DeploymentID) ||
		!plan.Triggers.Equal(state.Triggers) || state.Outcome.ValueString() != string(sluice.Succeeded)
}

// ModifyPlan plans the outputs of an update. They are unknown if it waits, also if only the last
// outcome requires that. They stay if it does not wait.
func (r *waitResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest,
	resp *resource.ModifyPlanResponse) {
	if req.State.Raw.IsNull() || req.Plan.Raw.IsNull() {
		return
	}
	var plan, state waitModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.setOutputs(state)
	if needsWait(plan, state) {
		plan.forgetOutputs()
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
}

// setOutputs takes the outputs of another state.
func (m *waitModel) setOutputs(of waitModel) {
	m.Outcome, m.Message, m.Reasons = of.Outcome, of.Message, of.Reasons
	m.RolledBackTo, m.Revision, m.Deployment = of.RolledBackTo, of.Revision, of.Deployment
}

// forgetOutputs makes the outputs unknown.
func (m *waitModel) forgetOutputs() {
	unknown := types.StringUnknown()
	m.setOutputs(waitModel{Outcome: unknown, Message: unknown, Reasons: types.ListUnknown(types.StringType),
		RolledBackTo: unknown, Revision: unknown, Deployment: unknown})
}

// Create waits. If the deployment did not succeed, it saves the outcome and fails: Terraform then
// marks the resource as tainted, and the next apply waits again. Without an outcome it saves nothing.
func (r *waitResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m waitModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if r.wait(ctx, &m, m.Timeouts.createLimit(), &resp.Diagnostics) {
		resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
	}
}

// Update waits if it has to. If the deployment did not succeed, the state keeps its former values, so
// that the next plan has the same update.
func (r *waitResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state waitModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if needsWait(m, state) {
		r.wait(ctx, &m, m.Timeouts.updateLimit(), &resp.Diagnostics)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
	}
}

// Read keeps the state: an outcome does not change.
func (r *waitResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Delete does nothing. Terraform removes the resource from its state; the deployment is not affected.
func (r *waitResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// wait waits for the deployment and sets the outputs. It reports whether there is an outcome. An
// outcome other than success is an error, or a warning without fail_on_error.
func (r *waitResource) wait(ctx context.Context, m *waitModel, limit time.Duration, diags *diag.Diagnostics) bool {
	name := m.name()
	if m.checkOneTarget(diags); diags.HasError() {
		return false
	}
	if err := r.connection.checkKnown(); err != nil {
		addError(diags, "Cannot wait for "+name, err)
		return false
	}
	result, err := r.connection.judge.Wait(ctx, r.request(ctx, m, limit))
	switch {
	case ctx.Err() != nil:
		diags.AddError("The wait for "+name+" was cancelled",
			"The deployment continues. The next apply waits again.")
		return false
	case err != nil:
		addError(diags, "Cannot wait for "+name, err)
		return false
	}
	m.setResult(ctx, result, diags)
	if result.Succeeded() {
		return true
	}
	summary, detail := name+": "+string(result.Outcome), flagWords.Replace(result.Message)
	if m.FailOnError.ValueBool() {
		diags.AddError(summary, detail)
	} else {
		diags.AddWarning(summary, detail)
	}
	return true
}

func (r *waitResource) request(ctx context.Context, m *waitModel, limit time.Duration) watch.Request {
	c := r.connection.config
	return watch.Request{Cluster: m.Cluster.ValueString(), Service: m.Service.ValueString(),
		TaskDefinition: m.TaskDefinition.ValueString(), Deployment: m.DeploymentID.ValueString(), JustStarted: true,
		Timeout: limit, LeastTimeout: leastTimeout, Bake: durationOf(m.Bake), Region: c.Region, Profile: c.Profile,
		AssumeRole: c.AssumeRole, EndpointURL: c.EndpointURL,
		Report: func(line string) { tflog.Info(ctx, line, map[string]any{"service": m.name()}) }}
}

// setResult sets the ID and the outputs.
func (m *waitModel) setResult(ctx context.Context, r watch.Result, diags *diag.Diagnostics) {
	m.ID = types.StringValue(m.name())
	m.Outcome, m.Message = types.StringValue(string(r.Outcome)), types.StringValue(r.Detail)
	m.RolledBackTo = types.StringValue(r.RolledBackTo)
	m.Revision, m.Deployment = types.StringValue(r.Revision), types.StringValue(r.Deployment)
	reasons, bad := types.ListValueFrom(ctx, types.StringType, append([]string{}, r.Reasons...))
	m.Reasons = reasons
	diags.Append(bad...)
}

// name returns "<cluster>/<service>", or the deployment if no service is named.
func (m *waitModel) name() string {
	cluster := sluice.ARNName(m.Cluster.ValueString())
	switch {
	case m.Service.ValueString() == "":
		return m.DeploymentID.ValueString()
	case cluster == "":
		cluster = "default"
	}
	return cluster + "/" + sluice.ARNName(m.Service.ValueString())
}
