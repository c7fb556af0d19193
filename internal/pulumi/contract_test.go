package pulumi_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

const unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

// A preview calls AWS for nothing: it has no endpoint that responds. Unknown inputs stay unknown.
func TestPreviewNeverWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	must(t, r.sim.Inject("denied *:*"))
	in := inputs(t, unknown, map[string]any{"serviceName": unknown, "triggers": []any{unknown},
		"timeoutMs": unknown, "bakeMs": unknown, "failOnError": unknown, "awsRegion": unknown, "assumeRole": unknown, "endpoint": unknown})
	check := got(r.Check(context.Background(), &pulumirpc.CheckRequest{Urn: urn, News: in}))(t)
	if len(check.GetFailures()) > 0 {
		t.Errorf("%v", check.GetFailures())
	}
	create := got(r.Create(context.Background(), &pulumirpc.CreateRequest{Urn: urn, Properties: check.GetInputs(),
		Preview: true}))(t)
	update := got(r.Update(context.Background(), &pulumirpc.UpdateRequest{Id: "prod/web", Urn: urn, OldInputs: in,
		Olds: in, News: check.GetInputs(), Preview: true}))(t)
	for _, out := range []map[string]any{create.GetProperties().AsMap(), update.GetProperties().AsMap()} {
		for _, name := range []string{"serviceName", "status", "failureMessage", "outcome", "reasons", "rolledBackTo"} {
			if out[name] != unknown {
				t.Errorf("%s is %v", name, out[name])
			}
		}
		if out["clusterName"] != "prod" {
			t.Errorf("%v", out)
		}
	}
	if create.GetId() != "" {
		t.Errorf("a preview has the ID %s", create.GetId())
	}
}

func TestCheckNamesEachProperty(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	for _, c := range []struct {
		in   map[string]any
		want map[string]string // property to a part of the reason
	}{
		{map[string]any{}, map[string]string{"clusterName": "required", "serviceName": "required",
			"desiredTaskDef": "required without deploymentId"}},
		{map[string]any{"clusterName": 3, "serviceName": " ", "desiredTaskDef": true, "timeoutMs": "3m",
			"failOnError": "no", "assumeRole": "deploy", "endpoint": "localhost", "timeout": 3},
			map[string]string{"clusterName": "must be a string, not a number", "serviceName": "must not be empty",
				"desiredTaskDef": "not a boolean", "timeoutMs": "must be a number of milliseconds",
				"failOnError": "must be true or false", "assumeRole": "ARN of a role", "endpoint": "must be a URL",
				"timeout": "is not a property"}},
		{map[string]any{"clusterName": "prod", "serviceName": "web", "deploymentId": "d-ABC", "timeoutMs": 0},
			map[string]string{"timeoutMs": "1 or more"}},
		{map[string]any{"clusterName": "prod", "serviceName": "web", "desiredTaskDef": "web:1", "__defaults": []any{}},
			map[string]string{}},
	} {
		resp := got(r.Check(context.Background(), &pulumirpc.CheckRequest{Urn: urn,
			News: got(structpb.NewStruct(c.in))(t)}))(t)
		reasons := map[string]string{}
		for _, f := range resp.GetFailures() {
			reasons[f.GetProperty()] = f.GetReason()
		}
		for name, want := range c.want {
			if !strings.Contains(reasons[name], want) {
				t.Errorf("%s: %q, want %q", name, reasons[name], want)
			}
		}
		if len(reasons) != len(c.want) {
			t.Errorf("%v, want %v", reasons, c.want)
		}
		if in := resp.GetInputs().AsMap(); len(c.want) == 0 && (in["timeoutMs"] != nil || in["failOnError"] != true) {
			t.Errorf("defaults: %v", in)
		}
	}
}

// Diff compares inputs. The outputs of a failed update are newer than the stored inputs.
func TestDiffComparesInputs(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	old := inputs(t, "web:1", map[string]any{"triggers": map[string]any{"build": 1}})
	for _, c := range []struct {
		now      map[string]any
		ignored  []string
		changed  string
		replaces string
	}{
		{map[string]any{}, nil, "", ""},
		{map[string]any{"desiredTaskDef": "web:2"}, nil, "desiredTaskDef", ""},
		{map[string]any{"desiredTaskDef": "web:2"}, []string{"desiredTaskDef"}, "", ""},
		{map[string]any{"desiredTaskDef": unknown}, nil, "desiredTaskDef", ""},
		{map[string]any{"triggers": map[string]any{"build": 2}}, nil, "triggers", ""},
		{map[string]any{"triggers": nil}, nil, "triggers", ""},
		{map[string]any{"clusterName": "test", "serviceName": "api"}, nil, "clusterName serviceName",
			"clusterName serviceName"},
	} {
		now := got(structpb.NewStruct(old.AsMap()))(t)
		maps.Copy(now.Fields, got(structpb.NewStruct(c.now))(t).Fields)
		outputs := got(structpb.NewStruct(now.AsMap()))(t) // those of a failed update repeat the new inputs
		outputs.Fields["status"] = structpb.NewStringValue("COMPLETED")
		d := got(r.Diff(context.Background(), &pulumirpc.DiffRequest{Urn: urn, Olds: outputs, OldInputs: old, News: now,
			IgnoreChanges: c.ignored}))(t)
		if strings.Join(d.GetDiffs(), " ") != c.changed || strings.Join(d.GetReplaces(), " ") != c.replaces ||
			(d.GetChanges() == pulumirpc.DiffResponse_DIFF_SOME) != (c.changed != "") {
			t.Errorf("%v: %v", c.now, d)
		}
		if len(d.GetDetailedDiff()) != len(d.GetDiffs()) {
			t.Errorf("%v: %v", c.now, d.GetDetailedDiff())
		}
	}
}

// Read and Delete call nothing: the resource is the record of a wait.
func TestReadAndDeleteTouchNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	must(t, r.sim.Inject("denied *:*"))
	in := inputs(t, "web:1", nil)
	read := got(r.Read(context.Background(), &pulumirpc.ReadRequest{Id: "prod/web", Urn: urn, Properties: in,
		Inputs: in}))(t)
	if read.GetId() != "prod/web" || read.GetProperties().AsMap()["clusterName"] != "prod" || read.GetInputs() == nil {
		t.Errorf("%v", read)
	}
	if _, err := r.Read(context.Background(), &pulumirpc.ReadRequest{Id: "prod/web", Urn: urn}); err == nil {
		t.Error("a wait was imported")
	}
	_, err := r.Delete(context.Background(), &pulumirpc.DeleteRequest{Id: "prod/web", Urn: urn, Properties: in})
	must(t, err)
}

// The schema, the checks of the provider and the types of the Node package have the same properties.
func TestSchemaHasEachProperty(t *testing.T) {
	t.Parallel()
	r := newRig(t, worldFile)
	resp := got(r.GetSchema(context.Background(), &pulumirpc.GetSchemaRequest{}))(t)
	type kind struct{ InputProperties, Properties map[string]any }
	var schema struct {
		Name, Version string
		Resources     map[string]kind
	}
	must(t, json.Unmarshal([]byte(resp.GetSchema()), &schema))
	resource := schema.Resources["sluice:index:WaitForEcsDeployment"]
	info := got(r.GetPluginInfo(context.Background(), &emptypb.Empty{}))(t)
	if schema.Name != "sluice" || schema.Version == "" || schema.Version != info.GetVersion() {
		t.Errorf("%s %s, plugin %s", schema.Name, schema.Version, info.GetVersion())
	}
	check := got(r.Check(context.Background(), &pulumirpc.CheckRequest{Urn: urn,
		News: got(structpb.NewStruct(map[string]any{"nothing": 1}))(t)}))(t)
	reason := ""
	for _, f := range check.GetFailures() {
		if f.GetProperty() == "nothing" {
			reason = strings.TrimPrefix(f.GetReason(), "is not a property of this resource; it has ")
		}
	}
	names := slices.Sorted(slices.Values(strings.Split(reason, ", ")))
	if in := slices.Sorted(maps.Keys(resource.InputProperties)); !slices.Equal(in, names) {
		t.Errorf("inputs of the schema %q, of the provider %q", in, names)
	}
	types := string(got(os.ReadFile("../../sdk/nodejs/index.d.ts"))(t))
	for name := range resource.Properties {
		if !strings.Contains(types, "readonly "+name+": ") {
			t.Errorf("output %s has no type in the Node package", name)
		}
	}
	for name := range resource.InputProperties {
		if !strings.Contains(types, "\n  "+name+": ") && !strings.Contains(types, "\n  "+name+"?: ") {
			t.Errorf("input %s has no type in the Node package", name)
		}
	}
}

// The provider starts in less than 200 ms, and its binary is smaller than 25 MB. Other work of the machine delays
// a start, so the test judges the processor time of the provider; `make bench` measures the time that passes.
func TestStartAndSize(t *testing.T) {
	r := newRig(t, worldFile)
	best, took := time.Hour, time.Hour
	for range 5 {
		began := time.Now()
		r.start()
		_, err := r.GetPluginInfo(context.Background(), &emptypb.Empty{})
		must(t, err)
		took = min(took, time.Since(began))
		must(t, r.cmd.Process.Kill())
		<-r.ended
		best = min(best, r.cmd.ProcessState.UserTime()+r.cmd.ProcessState.SystemTime())
	}
	size := got(os.Stat(binary))(t).Size()
	t.Logf("start: %s to the first answer, %s of processor time; binary %.1f MB", took, best, float64(size)/1e6)
	if best > 200*time.Millisecond || size > 25e6 {
		t.Errorf("start %s, binary %d bytes", best, size)
	}
}
