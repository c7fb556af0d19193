package terraform

import (
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// typeName is the name of the provider, and the prefix of its resources.
const typeName = "sluice"

// Provider is the provider "sluice". It opens the account at the first use, not when it is configured:
// a plan of a sluice_wait needs no credentials.
type Provider struct {
	version string
	getenv  func(string) string
}

// New returns a provider that reads the environment of the process.
func New(version string) *Provider { return &Provider{version: version, getenv: os.Getenv} }

// providerModel is the configuration of the provider.
type providerModel struct {
	Region     types.String     `tfsdk:"region"`
	Profile    types.String     `tfsdk:"profile"`
	Endpoint   types.String     `tfsdk:"endpoint"`
	AssumeRole *assumeRoleModel `tfsdk:"assume_role"`
}

type assumeRoleModel struct {
	RoleARN     types.String `tfsdk:"role_arn"`
	SessionName types.String `tfsdk:"session_name"`
}

// Metadata returns the name of the provider.
func (p *Provider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = typeName, p.version
}

// Schema returns the configuration of the provider.
func (p *Provider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Waits for deployments of Amazon ECS services, and reads the weights of listener rules. " +
			"It writes nothing to AWS.",
		Attributes: map[string]schema.Attribute{
			"region": schema.StringAttribute{Optional: true,
				MarkdownDescription: "Region of AWS. Default: `AWS_REGION`, then the profile."},
			"profile": schema.StringAttribute{Optional: true,
				MarkdownDescription: "Profile of the AWS configuration files. Default: `AWS_PROFILE`, then `default`."},
			"endpoint": schema.StringAttribute{Optional: true,
				MarkdownDescription: "URL for every service of AWS, for example that of a local AWS. " +
					"Default: `AWS_ENDPOINT_URL`, then AWS's own."},
		},
		Blocks: map[string]schema.Block{
			"assume_role": schema.SingleNestedBlock{
				MarkdownDescription: "Role to assume with the credentials found.",
				Attributes: map[string]schema.Attribute{
					"role_arn": schema.StringAttribute{Optional: true, MarkdownDescription: "ARN of the role."},
					"session_name": schema.StringAttribute{Optional: true,
						MarkdownDescription: "Name of the session. Default: `sluice-` and the name of the role."},
				},
			},
		},
	}
}

// ValidateConfig refuses an assume_role block without a role.
func (p *Provider) ValidateConfig(ctx context.Context, req provider.ValidateConfigRequest,
	resp *provider.ValidateConfigResponse) {
	var m providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if m.AssumeRole != nil && (m.AssumeRole.RoleARN.IsNull() || isEmpty(m.AssumeRole.RoleARN)) {
		resp.Diagnostics.AddAttributeError(path.Root("assume_role"), "No role given",
			"Set role_arn to the ARN of the role, or remove the block assume_role.")
	}
}

// Configure prepares the connection that resources and data sources use.
func (p *Provider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var m providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	c, err := newConnection(m, p.getenv)
	if err != nil {
		addError(&resp.Diagnostics, "The provider cannot be configured", err)
		return
	}
	resp.ResourceData, resp.DataSourceData = c, c
}

// Resources returns the resources of the provider.
func (p *Provider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return &waitResource{} }}
}

// DataSources returns the data sources of the provider.
func (p *Provider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{func() datasource.DataSource { return &liveWeights{} }}
}

// isEmpty reports whether a text is known and empty.
func isEmpty(s types.String) bool { return !s.IsNull() && !s.IsUnknown() && s.ValueString() == "" }
