package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	providerschema "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// awsStandIn is the provider "aws" of the tests. It has as much of aws_ecs_task_definition,
// aws_ecs_service and aws_lb_listener_rule as examples/terraform uses. It calls the local AWS.
type awsStandIn struct {
	ecs *awsecs.Client
	elb *awselb.Client
}

// newStandIn returns a provider for the AWS at AWS_ENDPOINT_URL.
func newStandIn() *awsStandIn { return newStandInAt(os.Getenv("AWS_ENDPOINT_URL")) }

func newStandInAt(url string) *awsStandIn {
	cfg := aws.Config{Region: "us-east-1", BaseEndpoint: aws.String(url),
		Credentials: credentials.NewStaticCredentialsProvider("123456789012", "sim", "")}
	return &awsStandIn{ecs: awsecs.NewFromConfig(cfg), elb: awselb.NewFromConfig(cfg)}
}

func (p *awsStandIn) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "aws"
}

func (p *awsStandIn) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = providerschema.Schema{Attributes: map[string]providerschema.Attribute{
		"region": providerschema.StringAttribute{Optional: true}}}
}

func (p *awsStandIn) Configure(_ context.Context, _ provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	resp.ResourceData = p
}

func (p *awsStandIn) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return &definitionResource{} },
		func() resource.Resource { return &serviceResource{} },
		func() resource.Resource { return &ruleResource{} },
	}
}

func (p *awsStandIn) DataSources(context.Context) []func() datasource.DataSource { return nil }

// configured is a resource that receives the provider.
type configured struct{ aws *awsStandIn }

func (r *configured) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	r.aws, _ = req.ProviderData.(*awsStandIn)
}

var replaced = []planmodifier.String{stringplanmodifier.RequiresReplace()}

// definitionResource is aws_ecs_task_definition. Every change registers another revision.
type definitionResource struct{ configured }

type definitionModel struct {
	Family       types.String `tfsdk:"family"`
	Needs        []string     `tfsdk:"requires_compatibilities"`
	NetworkMode  types.String `tfsdk:"network_mode"`
	CPU          types.String `tfsdk:"cpu"`
	Memory       types.String `tfsdk:"memory"`
	Containers   types.String `tfsdk:"container_definitions"`
	ARN          types.String `tfsdk:"arn"`
	RevisionText types.String `tfsdk:"revision"`
}

func (r *definitionResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "aws_ecs_task_definition"
}

func (r *definitionResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	given := schema.StringAttribute{Required: true, PlanModifiers: replaced}
	kept := schema.StringAttribute{Computed: true,
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{"family": given,
		"requires_compatibilities": schema.ListAttribute{Optional: true, ElementType: types.StringType},
		"network_mode":             given, "cpu": given, "memory": given, "container_definitions": given,
		"arn": kept, "revision": kept}}
}

func (r *definitionResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m definitionModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	var list []struct {
		Name, Image  string
		PortMappings []struct{ ContainerPort int32 }
	}
	if err := json.Unmarshal([]byte(m.Containers.ValueString()), &list); err != nil {
		resp.Diagnostics.AddError("container_definitions", err.Error())
		return
	}
	in := &awsecs.RegisterTaskDefinitionInput{Family: m.Family.ValueStringPointer(),
		NetworkMode: ecstypes.NetworkMode(m.NetworkMode.ValueString()), Cpu: m.CPU.ValueStringPointer(),
		Memory: m.Memory.ValueStringPointer(), RequiresCompatibilities: []ecstypes.Compatibility{"FARGATE"}}
	for _, c := range list {
		one := ecstypes.ContainerDefinition{Name: aws.String(c.Name), Image: aws.String(c.Image)}
		for _, p := range c.PortMappings {
			one.PortMappings = append(one.PortMappings, ecstypes.PortMapping{ContainerPort: aws.Int32(p.ContainerPort)})
		}
		in.ContainerDefinitions = append(in.ContainerDefinitions, one)
	}
	out, err := r.aws.ecs.RegisterTaskDefinition(ctx, in)
	if err != nil {
		resp.Diagnostics.AddError("RegisterTaskDefinition", err.Error())
		return
	}
	m.ARN = types.StringPointerValue(out.TaskDefinition.TaskDefinitionArn)
	m.RevisionText = types.StringValue(fmt.Sprint(out.TaskDefinition.Revision))
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

func (r *definitionResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (r *definitionResource) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {
}

func (r *definitionResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {
}

// serviceResource is aws_ecs_service. It does not wait.
type serviceResource struct{ configured }

type serviceModel struct {
	Name       types.String `tfsdk:"name"`
	Cluster    types.String `tfsdk:"cluster"`
	Definition types.String `tfsdk:"task_definition"`
	Count      types.Int32  `tfsdk:"desired_count"`
	LaunchType types.String `tfsdk:"launch_type"`
	Steady     types.Bool   `tfsdk:"wait_for_steady_state"`
	Triggers   types.Map    `tfsdk:"triggers"`
	Network    *struct {
		Subnets []string `tfsdk:"subnets"`
	} `tfsdk:"network_configuration"`
	Balancer *struct {
		Group     types.String `tfsdk:"target_group_arn"`
		Container types.String `tfsdk:"container_name"`
		Port      types.Int32  `tfsdk:"container_port"`
	} `tfsdk:"load_balancer"`
	Breaker *struct {
		Enable   types.Bool `tfsdk:"enable"`
		Rollback types.Bool `tfsdk:"rollback"`
	} `tfsdk:"deployment_circuit_breaker"`
}

func (r *serviceResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "aws_ecs_service"
}

func (r *serviceResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	text, number := schema.StringAttribute{Optional: true}, schema.Int32Attribute{Optional: true}
	on := schema.BoolAttribute{Optional: true}
	given := schema.StringAttribute{Required: true, PlanModifiers: replaced}
	block := func(of map[string]schema.Attribute) schema.Block { return schema.SingleNestedBlock{Attributes: of} }
	resp.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{"name": given, "cluster": given, "task_definition": text,
			"desired_count": number, "launch_type": text, "wait_for_steady_state": on,
			"triggers": schema.MapAttribute{Optional: true, ElementType: types.StringType}},
		Blocks: map[string]schema.Block{
			"network_configuration": block(map[string]schema.Attribute{
				"subnets": schema.ListAttribute{Optional: true, ElementType: types.StringType}}),
			"load_balancer": block(map[string]schema.Attribute{"target_group_arn": text, "container_name": text,
				"container_port": number}),
			"deployment_circuit_breaker": block(map[string]schema.Attribute{"enable": on, "rollback": on}),
		}}
}

func (m serviceModel) configuration() *ecstypes.DeploymentConfiguration {
	if m.Breaker == nil {
		return nil
	}
	return &ecstypes.DeploymentConfiguration{DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{
		Enable: m.Breaker.Enable.ValueBool(), Rollback: m.Breaker.Rollback.ValueBool()}}
}

func (r *serviceResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m serviceModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	in := &awsecs.CreateServiceInput{Cluster: m.Cluster.ValueStringPointer(), ServiceName: m.Name.ValueStringPointer(),
		TaskDefinition: m.Definition.ValueStringPointer(), DesiredCount: m.Count.ValueInt32Pointer(),
		LaunchType: "FARGATE", DeploymentConfiguration: m.configuration(),
		NetworkConfiguration: &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{
			Subnets: m.Network.Subnets}}}
	if m.Balancer != nil {
		in.LoadBalancers = []ecstypes.LoadBalancer{{TargetGroupArn: m.Balancer.Group.ValueStringPointer(),
			ContainerName: m.Balancer.Container.ValueStringPointer(), ContainerPort: m.Balancer.Port.ValueInt32Pointer()}}
	}
	if _, err := r.aws.ecs.CreateService(ctx, in); err != nil {
		resp.Diagnostics.AddError("CreateService", err.Error())
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

// Read sets the task definition that AWS returns, which after a rollback is the previous one.
func (r *serviceResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m serviceModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	out, err := r.aws.ecs.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: m.Cluster.ValueStringPointer(),
		Services: []string{m.Name.ValueString()}})
	switch {
	case err != nil:
		resp.Diagnostics.AddError("DescribeServices", err.Error())
		return
	case len(out.Services) == 0 || aws.ToString(out.Services[0].Status) == "INACTIVE":
		resp.State.RemoveResource(ctx)
		return
	}
	m.Definition = types.StringPointerValue(out.Services[0].TaskDefinition)
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

func (r *serviceResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state serviceModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	_, err := r.aws.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: m.Cluster.ValueStringPointer(),
		Service: m.Name.ValueStringPointer(), TaskDefinition: m.Definition.ValueStringPointer(),
		DesiredCount: m.Count.ValueInt32Pointer(), ForceNewDeployment: !m.Triggers.Equal(state.Triggers),
		DeploymentConfiguration: m.configuration()})
	if err != nil {
		resp.Diagnostics.AddError("UpdateService", err.Error())
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

func (r *serviceResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m serviceModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	_, err := r.aws.ecs.DeleteService(ctx, &awsecs.DeleteServiceInput{Cluster: m.Cluster.ValueStringPointer(),
		Service: m.Name.ValueStringPointer(), Force: aws.Bool(true)})
	var gone *ecstypes.ServiceNotFoundException // the answer to the first attempt was lost, and the SDK made another
	if err != nil && !errors.As(err, &gone) {
		resp.Diagnostics.AddError("DeleteService", err.Error())
	}
}

// ruleResource is aws_lb_listener_rule with one action, a forward.
type ruleResource struct{ configured }

type ruleModel struct {
	Listener  types.String `tfsdk:"listener_arn"`
	Priority  types.Int32  `tfsdk:"priority"`
	ARN       types.String `tfsdk:"arn"`
	Condition *struct {
		Path *struct {
			Values []string `tfsdk:"values"`
		} `tfsdk:"path_pattern"`
	} `tfsdk:"condition"`
	Action *struct {
		Type    types.String `tfsdk:"type"`
		Forward *struct {
			Groups []ruleGroup `tfsdk:"target_group"`
		} `tfsdk:"forward"`
	} `tfsdk:"action"`
}

type ruleGroup struct {
	ARN    types.String `tfsdk:"arn"`
	Weight types.Int32  `tfsdk:"weight"`
}

func (r *ruleResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "aws_lb_listener_rule"
}

func (r *ruleResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	text := schema.StringAttribute{Optional: true}
	block := func(of map[string]schema.Attribute, in map[string]schema.Block) schema.Block {
		return schema.SingleNestedBlock{Attributes: of, Blocks: in}
	}
	resp.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"listener_arn": schema.StringAttribute{Required: true, PlanModifiers: replaced},
			"priority":     schema.Int32Attribute{Required: true},
			"arn": schema.StringAttribute{Computed: true,
				PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}},
		Blocks: map[string]schema.Block{
			"condition": block(nil, map[string]schema.Block{"path_pattern": block(map[string]schema.Attribute{
				"values": schema.ListAttribute{Optional: true, ElementType: types.StringType}}, nil)}),
			"action": block(map[string]schema.Attribute{"type": text}, map[string]schema.Block{
				"forward": block(nil, map[string]schema.Block{"target_group": schema.SetNestedBlock{
					NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
						"arn": text, "weight": schema.Int32Attribute{Optional: true}}}}})}),
		}}
}

func (m ruleModel) actions() []elbtypes.Action {
	config := &elbtypes.ForwardActionConfig{}
	for _, g := range m.Action.Forward.Groups {
		config.TargetGroups = append(config.TargetGroups, elbtypes.TargetGroupTuple{
			TargetGroupArn: g.ARN.ValueStringPointer(), Weight: g.Weight.ValueInt32Pointer()})
	}
	return []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, ForwardConfig: config}}
}

func (m ruleModel) conditions() []elbtypes.RuleCondition {
	return []elbtypes.RuleCondition{{Field: aws.String("path-pattern"),
		PathPatternConfig: &elbtypes.PathPatternConditionConfig{Values: m.Condition.Path.Values}}}
}

func (r *ruleResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m ruleModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	out, err := r.aws.elb.CreateRule(ctx, &awselb.CreateRuleInput{ListenerArn: m.Listener.ValueStringPointer(),
		Priority: m.Priority.ValueInt32Pointer(), Actions: m.actions(), Conditions: m.conditions()})
	if err != nil {
		resp.Diagnostics.AddError("CreateRule", err.Error())
		return
	}
	m.ARN = types.StringPointerValue(out.Rules[0].RuleArn)
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

func (r *ruleResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m ruleModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	out, err := r.aws.elb.DescribeRules(ctx, &awselb.DescribeRulesInput{RuleArns: []string{m.ARN.ValueString()}})
	var missing *elbtypes.RuleNotFoundException
	switch {
	case errors.As(err, &missing):
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		resp.Diagnostics.AddError("DescribeRules", err.Error())
		return
	}
	i := slices.IndexFunc(out.Rules[0].Actions, func(a elbtypes.Action) bool { return a.ForwardConfig != nil })
	m.Action.Forward.Groups = nil
	for _, g := range out.Rules[0].Actions[i].ForwardConfig.TargetGroups {
		m.Action.Forward.Groups = append(m.Action.Forward.Groups, ruleGroup{
			types.StringPointerValue(g.TargetGroupArn), types.Int32PointerValue(g.Weight)})
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

func (r *ruleResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state ruleModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("arn"), &state.ARN)...)
	_, err := r.aws.elb.ModifyRule(ctx, &awselb.ModifyRuleInput{RuleArn: state.ARN.ValueStringPointer(),
		Actions: m.actions(), Conditions: m.conditions()})
	if err != nil {
		resp.Diagnostics.AddError("ModifyRule", err.Error())
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

func (r *ruleResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m ruleModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if _, err := r.aws.elb.DeleteRule(ctx,
		&awselb.DeleteRuleInput{RuleArn: m.ARN.ValueStringPointer()}); err != nil {
		resp.Diagnostics.AddError("DeleteRule", err.Error())
	}
}
