package terraform

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// liveWeights is the data source sluice_live_weights: the forward action of a listener rule or a
// listener as it is now.
type liveWeights struct{ connection *connection }

// liveWeightsModel is the configuration and the result of a sluice_live_weights.
type liveWeightsModel struct {
	RuleARN         types.String `tfsdk:"rule_arn"`
	ListenerARN     types.String `tfsdk:"listener_arn"`
	LoadBalancerARN types.String `tfsdk:"load_balancer_arn"`
	Port            types.Int64  `tfsdk:"port"`
	Priority        types.Int64  `tfsdk:"priority"`

	InitialWeights map[string]int64 `tfsdk:"initial_weights"`

	Source  types.String   `tfsdk:"source"`
	Forward []forwardModel `tfsdk:"forward"`
}

// forwardModel has the shape of the block forward of aws_lb_listener_rule and aws_lb_listener.
type forwardModel struct {
	TargetGroup []targetGroupModel `tfsdk:"target_group"`
	Stickiness  []stickinessModel  `tfsdk:"stickiness"`
}

type targetGroupModel struct {
	ARN    types.String `tfsdk:"arn"`
	Weight types.Int64  `tfsdk:"weight"`
}

type stickinessModel struct {
	Enabled  types.Bool  `tfsdk:"enabled"`
	Duration types.Int64 `tfsdk:"duration"`
}

// Values of the output source.
const (
	sourceLive    = "live"
	sourceInitial = "initial"
)

// Metadata returns the name of the data source.
func (d *liveWeights) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_live_weights"
}

// Configure receives the connection of the provider.
func (d *liveWeights) Configure(_ context.Context, req datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	d.connection = connectionOf(req.ProviderData)
}

// Schema returns the attributes of the data source.
func (d *liveWeights) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	text := func(about string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: about}
	}
	number := func(about string) schema.Int64Attribute {
		return schema.Int64Attribute{Optional: true, MarkdownDescription: about}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Reads the forward action of a listener rule, or of a listener, as it is now. With these " +
			"weights in `aws_lb_listener_rule`, an apply does not reset those of a running release.",
		Attributes: map[string]schema.Attribute{
			"rule_arn": text("ARN of the rule. It excludes all attributes below, apart from `initial_weights`. " +
				"A rule of the same configuration is named by its listener and priority instead."),
			"listener_arn":      text("ARN of the listener."),
			"load_balancer_arn": text("ARN of the load balancer, with `port`, instead of `listener_arn`."),
			"port":              number("Port of the listener."),
			"priority": number("Priority of the rule in the listener. Without it, the default action of the listener " +
				"is read."),
			"initial_weights": schema.MapAttribute{Optional: true, ElementType: types.Int64Type,
				MarkdownDescription: "Weight of each target group ARN as long as the rule or the listener does not exist, " +
					"or forwards requests to another target group. Without it, a missing rule is an error."},
			"source":  schema.StringAttribute{Computed: true, MarkdownDescription: "`live` or `initial`."},
			"forward": forwardSchema(),
		},
	}
}

func forwardSchema() schema.ListNestedAttribute {
	list := func(about string, of map[string]schema.Attribute) schema.ListNestedAttribute {
		return schema.ListNestedAttribute{Computed: true, MarkdownDescription: about,
			NestedObject: schema.NestedAttributeObject{Attributes: of}}
	}
	return list("One forward action, in the shape of `aws_lb_listener_rule`.", map[string]schema.Attribute{
		"target_group": list("Target groups and their weights.", map[string]schema.Attribute{
			"arn":    schema.StringAttribute{Computed: true},
			"weight": schema.Int64Attribute{Computed: true}}),
		"stickiness": list("Stickiness of target groups; none if AWS returns none.", map[string]schema.Attribute{
			"enabled":  schema.BoolAttribute{Computed: true},
			"duration": schema.Int64Attribute{Computed: true}}),
	})
}

// ValidateConfig returns an error unless exactly one rule or listener is named.
func (d *liveWeights) ValidateConfig(ctx context.Context, req datasource.ValidateConfigRequest,
	resp *datasource.ValidateConfigResponse) {
	var rule, listener, balancer types.String
	var port, priority types.Int64
	var weights types.Map
	for name, to := range map[string]any{"rule_arn": &rule, "listener_arn": &listener, "load_balancer_arn": &balancer,
		"port": &port, "priority": &priority, "initial_weights": &weights} {
		resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root(name), to)...)
	}
	named, unknown := 0, 0
	for _, s := range []types.String{rule, listener, balancer} {
		switch {
		case s.IsUnknown(): // it may become null
			unknown++
		case !s.IsNull():
			named++
		}
	}
	wrong := func(name, summary, detail string) {
		resp.Diagnostics.AddAttributeError(path.Root(name), summary, detail)
	}
	switch {
	case named > 1 || named+unknown == 0:
		resp.Diagnostics.AddError("Not exactly one rule or listener",
			"Set one of rule_arn, listener_arn, and load_balancer_arn with port.")
	case balancer.IsNull() && isGiven(port), isGiven(balancer) && port.IsNull():
		wrong("port", "Port without load balancer, or load balancer without port",
			"Set load_balancer_arn and port together.")
	case isGiven(rule) && isGiven(priority):
		wrong("priority", "Priority of a rule ARN", "Remove priority: rule_arn names the rule.")
	case !priority.IsNull() && !priority.IsUnknown() && (priority.ValueInt64() < 1 || priority.ValueInt64() > 50000):
		wrong("priority", "Not a priority", "Set priority to a number from 1 to 50000.")
	}
	if detail := weightsProblem(weights); detail != "" {
		wrong("initial_weights", "Not weights", detail)
	}
}

// weightsProblem returns why known weights are not valid, or "".
func weightsProblem(weights types.Map) string {
	if weights.IsNull() || weights.IsUnknown() {
		return ""
	}
	var sum int64
	for _, v := range weights.Elements() {
		w, ok := v.(types.Int64)
		if !ok || w.IsUnknown() {
			return ""
		}
		if w.ValueInt64() < 0 || w.ValueInt64() > 999 {
			return "Set each weight to a number from 0 to 999."
		}
		sum += w.ValueInt64()
	}
	if sum == 0 {
		return "Set at least one weight above 0."
	}
	return ""
}

// Read reads the action. If AWS returns that it does not exist, it reads again: one response may be
// outdated, and initial weights would reset a release.
func (d *liveWeights) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m liveWeightsModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	a, err := d.connection.open(ctx)
	if err != nil {
		addError(&resp.Diagnostics, "Cannot read the live weights", err)
		return
	}
	confirm := func(ctx context.Context) error { return d.connection.clock().Sleep(ctx, ecs.ReadLag) }
	live, err := route.ReadTwice(ctx, confirm, func() (alb.Forward, error) {
		return alb.ReadForward(ctx, a.ELB(), m.place())
	})
	if err != nil && (m.InitialWeights == nil || sluice.KindOf(err) != sluice.NotFound) {
		addError(&resp.Diagnostics, "Cannot read the live weights", err)
		return
	}
	forward, source := chooseForward(live, m.InitialWeights)
	m.setForward(forward, source)
	if source == sourceInitial {
		resp.Diagnostics.AddWarning("The initial weights apply", whyInitial(err))
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

// whyInitial returns what initial weights may reset. A data source does not know which rule it read before.
func whyInitial(missing error) string {
	if missing != nil {
		return "No such rule or listener exists. If it replaces another one during a release, for example because its " +
			"priority was changed, an apply resets the release: finish the release first."
	}
	return "The rule sends requests to no target group that initial_weights names, or also to another one. An apply moves all " +
		"requests to the initial weights: if a release runs, finish it first."
}

func (m *liveWeightsModel) place() alb.ActionPlace {
	return alb.ActionPlace{Rule: m.RuleARN.ValueString(), Listener: m.ListenerARN.ValueString(),
		Balancer: m.LoadBalancerARN.ValueString(), Port: int(m.Port.ValueInt64()),
		Priority: int(m.Priority.ValueInt64())}
}

// chooseForward returns the forward to write, and its source. It has exactly the groups that the
// initial weights name. Live weights stay, and a group that has none gets 0. The initial weights apply
// if nothing is live, or if a group that they do not name gets requests: then the configuration names
// other groups. Without initial weights, the forward is the live one.
func chooseForward(live alb.Forward, initial map[string]int64) (alb.Forward, string) {
	if initial == nil {
		return live, sourceLive
	}
	source, weights := sourceInitial, map[string]int{}
	for _, s := range live.Groups {
		if _, named := initial[s.Group]; s.Weight > 0 && !named {
			source, weights = sourceInitial, nil
			break
		}
		source, weights[s.Group] = sourceLive, s.Weight
	}
	live.Groups = nil
	for _, group := range slices.Sorted(maps.Keys(initial)) {
		weight := weights[group]
		if source == sourceInitial {
			weight = int(initial[group])
		}
		live.Groups = append(live.Groups, sluice.Share{Group: group, Weight: weight})
	}
	return live, source
}

// setForward sets the outputs.
func (m *liveWeightsModel) setForward(f alb.Forward, source string) {
	out := forwardModel{TargetGroup: []targetGroupModel{}, Stickiness: []stickinessModel{}}
	for _, s := range f.Groups {
		out.TargetGroup = append(out.TargetGroup, targetGroupModel{ARN: types.StringValue(s.Group),
			Weight: types.Int64Value(int64(s.Weight))})
	}
	if f.HasStickiness {
		out.Stickiness = append(out.Stickiness, stickinessModel{Enabled: types.BoolValue(f.Sticky),
			Duration: types.Int64Value(int64(f.StickySeconds))})
	}
	m.Source, m.Forward = types.StringValue(source), []forwardModel{out}
}
