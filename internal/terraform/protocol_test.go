package terraform

import (
	"context"
	"math/big"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// core does what terraform does with a provider, in process and through the plugin protocol.
type core struct {
	*testing.T
	server tfprotov6.ProviderServer
	schema *tfprotov6.GetProviderSchemaResponse
}

// values are attributes by name. Those that are not given are null.
type values map[string]any

// newCore returns a configured provider.
func newCore(t *testing.T, configuration values) *core {
	t.Helper()
	c := &core{T: t}
	var err error
	if c.server, err = providerserver.NewProtocol6WithError(New("test"))(); err != nil {
		t.Fatal(err)
	}
	c.schema, err = c.server.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || len(c.schema.Diagnostics) > 0 {
		t.Fatal(err, diagnosticsText(c.schema.Diagnostics))
	}
	if text := c.configure(configuration); text != "" {
		t.Fatal(text)
	}
	return c
}

// configure validates and configures the provider, and returns its diagnostics.
func (c *core) configure(configuration values) string {
	c.Helper()
	config := c.encode(c.schema.Provider, configuration)
	valid, err := c.server.ValidateProviderConfig(context.Background(),
		&tfprotov6.ValidateProviderConfigRequest{Config: config})
	if err != nil || len(valid.Diagnostics) > 0 {
		return diagnosticsText(valid.Diagnostics)
	}
	out, err := c.server.ConfigureProvider(context.Background(),
		&tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.4", Config: config})
	if err != nil {
		c.Fatal(err)
	}
	return diagnosticsText(out.Diagnostics)
}

// object returns values of the type of a schema.
func object(s *tfprotov6.Schema, of values) tftypes.Value {
	t := s.ValueType().(tftypes.Object)
	return encodeValue(t, map[string]any(of))
}

// encodeValue returns a Go value as a value of a type.
func encodeValue(t tftypes.Type, v any) tftypes.Value {
	if known, ok := v.(tftypes.Value); ok {
		return known
	}
	if v == nil {
		return tftypes.NewValue(t, nil)
	}
	switch t := t.(type) {
	case tftypes.Object:
		given, all := v.(map[string]any), map[string]tftypes.Value{}
		for name, of := range t.AttributeTypes {
			all[name] = encodeValue(of, given[name])
		}
		return tftypes.NewValue(t, all)
	case tftypes.Map:
		all := map[string]tftypes.Value{}
		for name, one := range v.(map[string]any) {
			all[name] = encodeValue(t.ElementType, one)
		}
		return tftypes.NewValue(t, all)
	}
	return tftypes.NewValue(t, v)
}

func (c *core) encode(s *tfprotov6.Schema, of values) *tfprotov6.DynamicValue {
	return c.pack(s, object(s, of))
}

func (c *core) pack(s *tfprotov6.Schema, v tftypes.Value) *tfprotov6.DynamicValue {
	c.Helper()
	d, err := tfprotov6.NewDynamicValue(s.ValueType(), v)
	if err != nil {
		c.Fatal(err)
	}
	return &d
}

func (c *core) unpack(s *tfprotov6.Schema, d *tfprotov6.DynamicValue) tftypes.Value {
	c.Helper()
	v, err := d.Unmarshal(s.ValueType())
	if err != nil {
		c.Fatal(err)
	}
	return v
}

// decode returns the attributes of an object as plain values; an unknown one is "?".
func decode(v tftypes.Value) map[string]any {
	all, out := map[string]tftypes.Value{}, map[string]any{}
	if v.IsNull() || v.As(&all) != nil {
		return nil
	}
	for name, one := range all {
		out[name] = decodeOne(one)
	}
	return out
}

func decodeOne(v tftypes.Value) any {
	var text string
	var list []tftypes.Value
	switch {
	case !v.IsKnown():
		return "?"
	case v.IsNull():
		return nil
	case v.As(&text) == nil:
		return text
	case v.As(&list) == nil:
		var texts []string
		for _, one := range list {
			s, _ := decodeOne(one).(string)
			texts = append(texts, s)
		}
		return strings.Join(texts, "\n")
	}
	return v.String()
}

// waitSchema is the schema of sluice_wait.
func (c *core) waitSchema() *tfprotov6.Schema { return c.schema.ResourceSchemas["sluice_wait"] }

// validate returns the diagnostics of a sluice_wait.
func (c *core) validate(config values) string {
	c.Helper()
	out, err := c.server.ValidateResourceConfig(context.Background(), &tfprotov6.ValidateResourceConfigRequest{
		TypeName: "sluice_wait", Config: c.encode(c.waitSchema(), config)})
	if err != nil {
		c.Fatal(err)
	}
	return diagnosticsText(out.Diagnostics)
}

// nothing is the state of a sluice_wait that does not exist.
func (c *core) nothing() tftypes.Value { return tftypes.NewValue(c.waitSchema().ValueType(), nil) }

// plan plans a sluice_wait as terraform does: what is computed keeps its prior value.
func (c *core) plan(prior tftypes.Value, config values) *tfprotov6.PlanResourceChangeResponse {
	c.Helper()
	s := c.waitSchema()
	proposed := values{}
	for name, v := range config {
		proposed[name] = v
	}
	if !prior.IsNull() {
		was := map[string]tftypes.Value{}
		if err := prior.As(&was); err != nil {
			c.Fatal(err)
		}
		for _, a := range s.Block.Attributes {
			if _, given := config[a.Name]; !given && a.Computed {
				proposed[a.Name] = was[a.Name]
			}
		}
	}
	out, err := c.server.PlanResourceChange(context.Background(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: "sluice_wait", PriorState: c.pack(s, prior), ProposedNewState: c.encode(s, proposed),
		Config: c.encode(s, config)})
	if err != nil {
		c.Fatal(err)
	}
	return out
}

// apply plans and applies a sluice_wait. It returns the new state and the diagnostics.
func (c *core) apply(prior tftypes.Value, config values) (tftypes.Value, string) {
	c.Helper()
	return c.applyPlan(context.Background(), prior, config, c.plan(prior, config))
}

func (c *core) applyPlan(ctx context.Context, prior tftypes.Value, config values,
	plan *tfprotov6.PlanResourceChangeResponse) (tftypes.Value, string) {
	c.Helper()
	if len(plan.Diagnostics) > 0 {
		return prior, diagnosticsText(plan.Diagnostics)
	}
	s := c.waitSchema()
	out, err := c.server.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{TypeName: "sluice_wait",
		PriorState: c.pack(s, prior), PlannedState: plan.PlannedState, Config: c.encode(s, config)})
	if err != nil {
		c.Error(err)
		return prior, err.Error()
	}
	return c.unpack(s, out.NewState), diagnosticsText(out.Diagnostics)
}

// destroy plans and applies the removal of a sluice_wait.
func (c *core) destroy(prior tftypes.Value) (tftypes.Value, string) {
	c.Helper()
	s := c.waitSchema()
	gone := c.pack(s, c.nothing())
	out, err := c.server.ApplyResourceChange(context.Background(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: "sluice_wait", PriorState: c.pack(s, prior), PlannedState: gone, Config: gone})
	if err != nil {
		c.Fatal(err)
	}
	return c.unpack(s, out.NewState), diagnosticsText(out.Diagnostics)
}

// validateWeights validates a sluice_live_weights as terraform does before a plan.
func (c *core) validateWeights(config values) string {
	c.Helper()
	s := c.schema.DataSourceSchemas["sluice_live_weights"]
	out, err := c.server.ValidateDataResourceConfig(context.Background(),
		&tfprotov6.ValidateDataResourceConfigRequest{TypeName: "sluice_live_weights", Config: c.encode(s, config)})
	if err != nil {
		c.Fatal(err)
	}
	return diagnosticsText(out.Diagnostics)
}

// readWeights validates and reads a sluice_live_weights. weights are those of its forward, "arn=weight".
func (c *core) readWeights(config values) (source string, weights []string, text string) {
	c.Helper()
	if text := c.validateWeights(config); text != "" {
		return "", nil, text
	}
	s := c.schema.DataSourceSchemas["sluice_live_weights"]
	out, err := c.server.ReadDataSource(context.Background(),
		&tfprotov6.ReadDataSourceRequest{TypeName: "sluice_live_weights", Config: c.encode(s, config)})
	if err != nil {
		c.Fatal(err)
	}
	text = diagnosticsText(out.Diagnostics)
	if strings.Contains(text, "ERROR: ") {
		return "", nil, text
	}
	all := map[string]tftypes.Value{}
	if err := c.unpack(s, out.State).As(&all); err != nil {
		c.Fatal(err)
	}
	source, _ = decodeOne(all["source"]).(string)
	_ = tftypes.Walk(all["forward"], func(_ *tftypes.AttributePath, v tftypes.Value) (bool, error) {
		group := map[string]tftypes.Value{}
		if v.Type().Is(tftypes.Object{}) && v.As(&group) == nil && !group["arn"].IsNull() {
			weights = append(weights, decodeOne(group["arn"]).(string)+"="+numberText(group["weight"]))
		}
		return true, nil
	})
	return source, weights, text
}

func numberText(v tftypes.Value) string {
	var n big.Float
	if v.As(&n) != nil {
		return "?"
	}
	return n.String()
}

// diagnosticsText returns diagnostics as text.
func diagnosticsText(all []*tfprotov6.Diagnostic) string {
	var lines []string
	for _, d := range all {
		lines = append(lines, d.Severity.String()+": "+d.Summary+"\n"+d.Detail)
	}
	return strings.Join(lines, "\n")
}
