package pulumi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/printable"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// Values of the output status.
const (
	completed = "COMPLETED"
	failed    = "FAILED"
)

// outputNames are the outputs that only a wait knows.
var outputNames = []string{"status", "failureMessage", "outcome", "reasons", "rolledBackTo"}

// Check adds the defaults, and says what is wrong with each property.
func (p *provider) Check(_ context.Context, r *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	if err := checkType(r.GetType(), r.GetUrn()); err != nil {
		return nil, err
	}
	in, failures := checkInputs(r.GetNews())
	return &pulumirpc.CheckResponse{Inputs: in, Failures: failures}, nil
}

// Diff compares the inputs. After a failed update the state has the old inputs and the new outputs, so outputs
// are not compared. A stored outcome other than success waits again.
func (p *provider) Diff(_ context.Context, r *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	olds := r.GetOldInputs()
	if olds == nil {
		olds = r.GetOlds() // an old engine: the outputs repeat the inputs
	}
	olds, news := plainStruct(olds), plainStruct(r.GetNews())
	changed, replaces := diffInputs(olds, news, r.GetIgnoreChanges())
	out := &pulumirpc.DiffResponse{Changes: pulumirpc.DiffResponse_DIFF_NONE, Diffs: changed, Replaces: replaces,
		DetailedDiff: map[string]*pulumirpc.PropertyDiff{}, HasDetailedDiff: true}
	for _, name := range changed {
		out.DetailedDiff[name] = &pulumirpc.PropertyDiff{InputDiff: true,
			Kind: diffKind(olds.GetFields()[name], news.GetFields()[name], slices.Contains(replaces, name))}
	}
	if plainValue(r.GetOlds().GetFields()["status"]).GetStringValue() == failed {
		out.Diffs = append(out.Diffs, "status")
		out.DetailedDiff["status"] = &pulumirpc.PropertyDiff{Kind: pulumirpc.PropertyDiff_UPDATE}
	}
	if len(out.Diffs) > 0 {
		out.Changes = pulumirpc.DiffResponse_DIFF_SOME
	}
	return out, nil
}

func diffKind(old, now *structpb.Value, replaces bool) pulumirpc.PropertyDiff_Kind {
	kind := pulumirpc.PropertyDiff_UPDATE
	switch {
	case isAbsent(old):
		kind = pulumirpc.PropertyDiff_ADD
	case isAbsent(now):
		kind = pulumirpc.PropertyDiff_DELETE
	}
	if replaces {
		kind++ // each kind is followed by the same one with a replacement
	}
	return kind
}

// Create waits. In a preview it does not: the outcome is unknown then.
func (p *provider) Create(ctx context.Context, r *pulumirpc.CreateRequest) (*pulumirpc.CreateResponse, error) {
	if r.GetPreview() {
		return &pulumirpc.CreateResponse{Properties: previewOutputs(r.GetProperties())}, nil
	}
	in := newInputs(r.GetProperties())
	id := in.id()
	out, err := p.wait(ctx, call{urn: r.GetUrn(), id: id, timeout: r.GetTimeout(), inputs: in})
	if err != nil {
		return nil, err
	}
	return &pulumirpc.CreateResponse{Id: id, Properties: out}, nil
}

// Update waits again, as Create does.
func (p *provider) Update(ctx context.Context, r *pulumirpc.UpdateRequest) (*pulumirpc.UpdateResponse, error) {
	if r.GetPreview() {
		return &pulumirpc.UpdateResponse{Properties: previewOutputs(r.GetNews())}, nil
	}
	in := newInputs(r.GetNews())
	// The same revision is deployed once more: its earlier success does not count.
	again := !isEqual(plainValue(r.GetOldInputs().GetFields()["triggers"]), in.plain.GetFields()["triggers"])
	out, err := p.wait(ctx, call{urn: r.GetUrn(), id: r.GetId(), timeout: r.GetTimeout(), inputs: in, again: again})
	if err != nil {
		return nil, err
	}
	return &pulumirpc.UpdateResponse{Properties: out}, nil
}

// Read returns the stored state: it is the record of a wait, which AWS does not have.
func (p *provider) Read(_ context.Context, r *pulumirpc.ReadRequest) (*pulumirpc.ReadResponse, error) {
	if len(r.GetProperties().GetFields()) == 0 {
		return nil, status.Error(codes.InvalidArgument,
			"a wait cannot be imported: declare the resource, and pulumi up waits")
	}
	return &pulumirpc.ReadResponse{Id: r.GetId(), Properties: r.GetProperties(), Inputs: r.GetInputs()}, nil
}

// Delete removes the resource from the state only. The service and its deployments stay as they are.
func (p *provider) Delete(context.Context, *pulumirpc.DeleteRequest) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

// id returns the ID of the resource, cluster/service. An ID is shown, so it has no secrets.
func (i inputs) id() string {
	name := func(key string) string { return sluice.ARNName(i.plain.GetFields()[key].GetStringValue()) }
	return i.hide.Replace(name("clusterName") + "/" + name("serviceName"))
}

// previewOutputs repeats the inputs. What only a wait knows is unknown.
func previewOutputs(in *structpb.Struct) *structpb.Struct {
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	maps.Copy(out.Fields, in.GetFields())
	for _, name := range outputNames {
		out.Fields[name] = structpb.NewStringValue(unknown)
	}
	return out
}

// call is a Create or an Update that waits.
type call struct {
	urn, id string
	timeout float64 // customTimeouts, in seconds; 0: none
	inputs  inputs
	again   bool // the revision was perhaps deployed before
}

// wait waits for the deployment and returns the outputs. If the deployment did not succeed and failOnError is set,
// the error keeps the resource in the state, and the next update waits again.
func (p *provider) wait(ctx context.Context, c call) (*structpb.Struct, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.stopping, func() { cancel(context.Cause(p.stopping)) })()
	r := c.inputs.newRequest()
	r.JustStarted = c.again
	if c.timeout > 0 {
		r.Timeout = time.Duration(c.timeout * float64(time.Second))
	}
	r.Report = func(line string) {
		p.log(ctx, c.urn, pulumirpc.LogSeverity_INFO, true, c.inputs.hide.Replace(line))
	}
	r.Report(startText(r))
	got, err := p.judge.Wait(ctx, r)
	if err != nil {
		return nil, c.inputs.errorStatus(ctx, err)
	}
	checkRevision(r, &got)
	out := c.inputs.newOutputs(got)
	if got.Succeeded() {
		return out, nil
	}
	message := out.GetFields()["failureMessage"].GetStringValue()
	if !c.inputs.plain.GetFields()["failOnError"].GetBoolValue() {
		p.log(ctx, c.urn, pulumirpc.LogSeverity_WARNING, false, message)
		return out, nil
	}
	kept, err := status.New(codes.Unknown, message).WithDetails(&pulumirpc.ErrorResourceInitFailed{Id: c.id,
		Properties: out, Inputs: c.inputs.sent, Reasons: []string{message}})
	if err != nil {
		return nil, err
	}
	return nil, kept.Err()
}

func startText(r watch.Request) string {
	what := "the deployment " + r.Deployment
	if r.Deployment == "" {
		what = sluice.RevisionOf(r.TaskDefinition)
	}
	limit := ""
	if r.Timeout > 0 {
		limit = fmt.Sprintf(", at most %s", r.Timeout)
	}
	return fmt.Sprintf("waiting for %s of %s/%s%s", what, sluice.ARNName(r.Cluster), sluice.ARNName(r.Service), limit)
}

// checkRevision turns a success into a failure if the named deployment deployed another revision than the one
// that must serve.
func checkRevision(r watch.Request, got *watch.Result) {
	want := sluice.RevisionOf(r.TaskDefinition)
	if !got.Succeeded() || r.Deployment == "" || !strings.Contains(want, ":") || got.Revision == want {
		return
	}
	got.Outcome = sluice.Failed
	got.Detail = fmt.Sprintf("deployment %s deployed %s, not %s", r.Deployment, got.Revision, want)
	got.Message = got.Detail + "\nnext: give the deployment of " + want + ", or no deploymentId"
	got.Reasons = []string{got.Detail}
}

// newOutputs returns the inputs and the outcome. Texts of the outcome have no secrets.
func (i inputs) newOutputs(got watch.Result) *structpb.Struct {
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	maps.Copy(out.Fields, i.sent.GetFields())
	text := func(s string) *structpb.Value { return structpb.NewStringValue(i.hide.Replace(printable.Text(s))) }
	reasons := make([]*structpb.Value, 0, len(got.Reasons))
	for _, reason := range got.Reasons {
		reasons = append(reasons, text(reason))
	}
	state := failed
	if got.Succeeded() {
		state = completed
	}
	out.Fields["status"] = structpb.NewStringValue(state)
	out.Fields["failureMessage"] = text(got.Message)
	out.Fields["outcome"] = structpb.NewStringValue(string(got.Outcome))
	out.Fields["reasons"] = structpb.NewListValue(&structpb.ListValue{Values: reasons})
	out.Fields["rolledBackTo"] = text(got.RolledBackTo)
	return out
}

// errorStatus returns an error without a verdict. The engine keeps the state as it was, so the next update waits
// again.
func (i inputs) errorStatus(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return status.Error(codes.Canceled, context.Cause(ctx).Error()+
			"; the deployment continues, and the next pulumi up waits for it again")
	}
	text := err.Error()
	if next := sluice.NextStep(err); next != "" {
		text += "\nnext: " + flagWords.Replace(next)
	}
	return status.Error(codes.Unknown, i.hide.Replace(printable.Text(text)))
}

// flagWords replaces the flags of the command line in an advice with inputs and variables.
var flagWords = strings.NewReplacer(
	"give --region", "set awsRegion",
	"give --profile", "set AWS_PROFILE",
	"set --profile", "set AWS_PROFILE",
	"set by --endpoint-url", "set by endpoint",
	"point --endpoint-url at", "set endpoint to the URL of",
)
