package terraform

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sluice-ecs/sluice/internal/watch"
)

// leastTimeout is the shortest hard limit of a wait without timeouts, whose limit follows from the service. It is the
// limit of aws_ecs_service.
const leastTimeout = 20 * time.Minute

// waitResource is the resource sluice_wait: one wait per create and per update.
type waitResource struct{ connection *connection }

// waitModel is the configuration and the state of a sluice_wait.
type waitModel struct {
	ID             types.String   `tfsdk:"id"`
	Cluster        types.String   `tfsdk:"cluster"`
	Service        types.String   `tfsdk:"service"`
	TaskDefinition types.String   `tfsdk:"task_definition"`
	DeploymentID   types.String   `tfsdk:"deployment_id"`
	Triggers       types.Map      `tfsdk:"triggers"`
	Bake           types.String   `tfsdk:"bake"`
	FailOnError    types.Bool     `tfsdk:"fail_on_error"`
	Timeouts       *timeoutsModel `tfsdk:"timeouts"`

	Outcome      types.String `tfsdk:"outcome"`
	Message      types.String `tfsdk:"message"`
	Reasons      types.List   `tfsdk:"reasons"`
	RolledBackTo types.String `tfsdk:"rolled_back_to"`
	Revision     types.String `tfsdk:"revision"`
	Deployment   types.String `tfsdk:"deployment"`
}

type timeoutsModel struct {
	Create types.String `tfsdk:"create"`
	Update types.String `tfsdk:"update"`
}

// Metadata returns the name of the resource.
func (r *waitResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_wait"
}

// Configure receives the connection of the provider.
func (r *waitResource) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	r.connection = connectionOf(req.ProviderData)
}

// Schema returns the attributes of the resource.
func (r *waitResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Waits for a deployment of an ECS service. A create and an update end when the " +
			"deployment has ended, and fail with the cause unless it succeeded. A plan never waits. A destroy only " +
			"removes the resource from the state.",
		Attributes: waitAttributes(),
		Blocks: map[string]schema.Block{
			"timeouts": schema.SingleNestedBlock{
				MarkdownDescription: "Hard limits of a wait, for example `15m`. Default: it follows from the service " +
					"(starts, health checks, drain) and is at least `20m`; `bake` is added.",
				Attributes: map[string]schema.Attribute{
					"create": schema.StringAttribute{Optional: true, MarkdownDescription: "Limit of a create."},
					"update": schema.StringAttribute{Optional: true, MarkdownDescription: "Limit of an update."},
				},
			},
		},
	}
}

func waitAttributes() map[string]schema.Attribute {
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	output := func(text string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: text}
	}
	return map[string]schema.Attribute{
		"id": schema.StringAttribute{Computed: true, MarkdownDescription: "Cluster and service.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
		"cluster": schema.StringAttribute{Optional: true, PlanModifiers: replace,
			MarkdownDescription: "Name or ARN of the cluster. Default: the cluster `default`."},
		"service": schema.StringAttribute{Optional: true, PlanModifiers: replace,
			MarkdownDescription: "Name or ARN of the service. Optional if `deployment_id` is one of CodeDeploy."},
		"task_definition": schema.StringAttribute{Optional: true,
			MarkdownDescription: "`family:revision` or ARN of the task definition that has to serve. Without it and " +
				"`deployment_id`, the wait is for the deployment that is current when it begins."},
		"deployment_id": schema.StringAttribute{Optional: true,
			MarkdownDescription: "ARN or ID of a service deployment, `ecs-svc/<number>` of a deployment or a task set, " +
				"or `d-XXXXXXXXX` of CodeDeploy. It excludes `task_definition`."},
		"triggers": schema.MapAttribute{Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Any values. If one changes, the next apply waits again."},
		"bake": schema.StringAttribute{Optional: true, MarkdownDescription: "How long all tasks have to run, watched, " +
			"before the wait succeeds, for example `2m`. It shows tasks that stop later. Default: no time."},
		"fail_on_error": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true),
			MarkdownDescription: "Whether an outcome other than `succeeded` fails the apply. Default: `true`. With " +
				"`false` it is a warning, and the next apply waits again."},
		"outcome": output("`succeeded`, `failed`, `rolled back`, `superseded`, `stalled`, `timed out`, `stopped` or " +
			"`gone`."),
		"message": output("Outcome and cause in one line."),
		"reasons": schema.ListAttribute{Computed: true, ElementType: types.StringType,
			MarkdownDescription: "Causes of a failure, the leading one first. Empty after success."},
		"rolled_back_to": output("`family:revision` that serves after a rollback; otherwise empty."),
		"revision":       output("`family:revision` that was waited for."),
		"deployment":     output("ARN or ID of the deployment that was waited for."),
	}
}

// ValidateConfig returns an error for attributes that exclude each other or have no valid value.
func (r *waitResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest,
	resp *resource.ValidateConfigResponse) {
	var m waitModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	wrong := func(name, summary, detail string) {
		resp.Diagnostics.AddAttributeError(path.Root(name), summary, detail)
	}
	for name, s := range map[string]types.String{"cluster": m.Cluster, "service": m.Service,
		"task_definition": m.TaskDefinition, "deployment_id": m.DeploymentID} {
		if isEmpty(s) {
			wrong(name, "Empty "+name, "Set "+name+" to a value, or remove it.")
		}
	}
	for _, p := range m.nameProblems() {
		wrong(attributeOf[p.Part], "Not a "+string(p.Part)+" of this wait", "The "+string(p.Part)+" "+p.Text+".")
	}
	_, _, isARN := watch.DeploymentPlace(m.DeploymentID.ValueString())
	if m.Service.IsNull() && !m.DeploymentID.IsUnknown() && !isARN && !strings.HasPrefix(m.DeploymentID.ValueString(), "d-") {
		wrong("service", "No service given", "Set service to the name or ARN of a service. Only the ARN of a service "+
			"deployment and a deployment of CodeDeploy need none.")
	}
	m.checkOneTarget(&resp.Diagnostics)
	m.Timeouts.validate(&resp.Diagnostics)
	checkDuration(path.Root("bake"), "Not a bake time", m.Bake, &resp.Diagnostics)
}

// checkOneTarget adds an error if both deployments are named. An unknown value may become null, so it is checked again
// when it is known.
func (m *waitModel) checkOneTarget(to *diag.Diagnostics) {
	if isGiven(m.TaskDefinition) && isGiven(m.DeploymentID) {
		to.AddAttributeError(path.Root("deployment_id"), "Both deployment_id and task_definition given",
			"Remove one of them.")
	}
}

// isGiven reports whether a value is known and not null.
func isGiven(v attr.Value) bool { return !v.IsNull() && !v.IsUnknown() }

// attributeOf has the attribute of each part of a request.
var attributeOf = map[watch.Part]string{watch.PartCluster: "cluster", watch.PartService: "service",
	watch.PartTaskDefinition: "task_definition", watch.PartDeployment: "deployment_id"}

// nameProblems returns what is wrong with the names and ARNs that are known.
func (m *waitModel) nameProblems() []watch.Problem {
	r := watch.Request{Service: m.Service.ValueString(), Cluster: m.Cluster.ValueString(),
		TaskDefinition: m.TaskDefinition.ValueString(), Deployment: m.DeploymentID.ValueString()}
	if m.Cluster.IsUnknown() {
		return nil // a service is compared with its cluster
	}
	return r.Problems()
}

// validate returns an error for a limit that is not a duration above 0.
func (t *timeoutsModel) validate(to *diag.Diagnostics) {
	if t == nil {
		return
	}
	for name, s := range map[string]types.String{"create": t.Create, "update": t.Update} {
		checkDuration(path.Root("timeouts").AtName(name), "Not a limit", s, to)
	}
}

// checkDuration adds an error for a known value that is not a duration above 0.
func checkDuration(at path.Path, summary string, s types.String, to *diag.Diagnostics) {
	if s.IsNull() || s.IsUnknown() || durationOf(s) > 0 {
		return
	}
	to.AddAttributeError(at, summary,
		fmt.Sprintf("%q is not a duration above 0. Set it to a value such as 90s, 15m or 1h.", s.ValueString()))
}

// durationOf returns a validated duration; 0: none is given.
func durationOf(s types.String) time.Duration {
	d, err := time.ParseDuration(s.ValueString())
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// createLimit returns the limit of a create; 0: it follows from the service.
func (t *timeoutsModel) createLimit() time.Duration {
	if t == nil {
		return 0
	}
	return durationOf(t.Create)
}

// updateLimit returns the limit of an update; 0: it follows from the service.
func (t *timeoutsModel) updateLimit() time.Duration {
	if t == nil {
		return 0
	}
	return durationOf(t.Update)
}
