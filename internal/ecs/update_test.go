package ecs

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/definition"
)

func file(t *testing.T, text string) *definition.Service {
	t.Helper()
	f, err := definition.DecodeService("servicedef.yaml", []byte("serviceName: web\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func externalLive(s ecstypes.Service) *ServiceState {
	return &ServiceState{Controller: "EXTERNAL", Raw: s}
}

func TestOnlyWhatDiffersAndMayChangeIsWritten(t *testing.T) {
	was := ecstypes.Service{DesiredCount: 4, EnableExecuteCommand: true, PropagateTags: "SERVICE",
		HealthCheckGracePeriodSeconds: aws.Int32(30),
		PlacementStrategy:             []ecstypes.PlacementStrategy{{Type: "spread", Field: aws.String("host")}}}
	u := DifferingUpdate(file(t, `
deploymentController: {type: EXTERNAL}
desiredCount: 0
enableExecuteCommand: true
healthCheckGracePeriodSeconds: 60
placementStrategy: []
deploymentConfiguration: {maximumPercent: 150}
`), externalLive(was))
	slices.Sort(u.Members)
	if want := []string{"desiredCount", "healthCheckGracePeriodSeconds", "placementStrategy"}; !slices.Equal(u.Members,
		want) {
		t.Fatalf("writes %v, want %v", u.Members, want)
	}
	if *u.Values.DesiredCount != 0 || *u.Values.HealthCheckGracePeriodSeconds != 60 ||
		u.Values.PlacementStrategy == nil {
		t.Errorf("values %+v", u.Values)
	}
	back := u.Inverse(externalLive(was))
	if *back.Values.DesiredCount != 4 || *back.Values.HealthCheckGracePeriodSeconds != 30 ||
		len(back.Values.PlacementStrategy) != 1 {
		t.Errorf("the way back %+v", back.Values)
	}
	var read Update
	data, err := json.Marshal(back)
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	if err != nil || *read.Values.DesiredCount != 4 {
		t.Errorf("saved and read: %v, %+v", err, read.Values)
	}
}

func TestDesiredCountIsWrittenOnlyIfTheFileHasOne(t *testing.T) {
	u := DifferingUpdate(file(t, "deploymentController: {type: EXTERNAL}\n"),
		externalLive(ecstypes.Service{DesiredCount: 7}))
	if len(u.Members) > 0 {
		t.Errorf("writes %v", u.Members)
	}
}

func TestRollingServicesTakeMore(t *testing.T) {
	was := ecstypes.Service{DesiredCount: 2, EnableECSManagedTags: true,
		DeploymentConfiguration: &ecstypes.DeploymentConfiguration{MaximumPercent: aws.Int32(200),
			MinimumHealthyPercent: aws.Int32(100)}}
	u := DifferingUpdate(file(t, "enableECSManagedTags: false\ndeploymentConfiguration: {maximumPercent: 150}\n"),
		&ServiceState{Controller: "ECS", Raw: was})
	slices.Sort(u.Members)
	if want := []string{"deploymentConfiguration", "enableECSManagedTags"}; !slices.Equal(u.Members, want) {
		t.Fatalf("writes %v, want %v", u.Members, want)
	}
	if *u.Values.EnableECSManagedTags ||
		*u.Inverse(&ServiceState{Controller: "ECS", Raw: was}).Values.EnableECSManagedTags != true {
		t.Error("the boolean and its way back")
	}
}
