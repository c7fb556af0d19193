package mode

import (
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// refuseController rejects a file whose deployment controller differs from that of the running
// service. AWS switches some controllers in place (ECS API Reference, UpdateService).
func refuseController(app *appfile.Application, live plan.AWSState) error {
	s, want := live.Service, controllerOf(app)
	if s == nil || live.ServiceStatus() == "INACTIVE" {
		return nil
	}
	have := plan.ControllerECS
	if s.DeploymentController != nil && s.DeploymentController.Type != "" {
		have = string(s.DeploymentController.Type)
	}
	if have == want {
		return nil
	}
	return &sluice.Error{Op: "plan", Resource: aws.ToString(s.ServiceArn), Kind: sluice.Conflict,
		Err:  fmt.Errorf("the service has deployment controller %s, but the file requests %s", have, want),
		Next: switchController(app, s, have, want)}
}

// switchController returns the next step for a service whose deployment controller is not the one of its file.
func switchController(app *appfile.Application, s *ecstypes.Service, have, want string) string {
	cluster, service := ServiceNames(app)
	keep := fmt.Sprintf("set `deploymentController: {type: %s}` in the service definition", have)
	command := fmt.Sprintf("aws ecs update-service --cluster %s --service %s --deployment-controller type=%s", cluster, service,
		want)
	switch {
	case want == plan.ControllerECS:
		return keep + ". Or switch it in place while no deployment runs: " + command
	case want == plan.ControllerCodeDeploy:
		return keep + ": AWS switches no service to CODE_DEPLOY, so only a new service can have it"
	case have != plan.ControllerECS:
		return "switch it in place while no deployment runs: " + command
	}
	if only := keepsECS(s); only != "" {
		return keep + ": AWS switches no service with " + only
	}
	return "switch it in place while no deployment runs. Its running tasks become a task set, which you delete later: " +
		command + withoutProtection(s.DeploymentConfiguration)
}

// keepsECS returns the feature of a service for which AWS refuses another controller than ECS, and which no setting of
// its deployments turns off; or "" (ECS API Reference, UpdateService, deploymentController).
func keepsECS(s *ecstypes.Service) string {
	for _, d := range s.Deployments {
		switch {
		case d.ServiceConnectConfiguration != nil && d.ServiceConnectConfiguration.Enabled:
			return "Service Connect"
		case len(d.VpcLatticeConfigurations) > 0:
			return "VPC Lattice"
		}
	}
	if c := s.DeploymentConfiguration; c != nil && c.Strategy != "" && c.Strategy != ecstypes.DeploymentStrategyRolling {
		return "strategy " + string(c.Strategy)
	}
	return ""
}

// withoutProtection returns the option that turns off what only the controller ECS supports: circuit breaker, alarms
// and early success. AWS refuses the switch of a service that has one of them.
func withoutProtection(c *ecstypes.DeploymentConfiguration) string {
	off := map[string]any{}
	if c == nil {
		return ""
	}
	if b := c.DeploymentCircuitBreaker; b != nil && b.Enable {
		off["deploymentCircuitBreaker"] = map[string]any{"enable": false, "rollback": false}
	}
	if a := c.Alarms; a != nil && a.Enable {
		off["alarms"] = map[string]any{"alarmNames": []string{}, "enable": false, "rollback": false}
	}
	if e := c.EarlySuccessCriteria; e != nil && e.Enable {
		off["earlySuccessCriteria"] = map[string]any{"enable": false}
	}
	if len(off) == 0 {
		return ""
	}
	text, _ := json.Marshal(off) // maps of texts and booleans always have a JSON form
	return " --deployment-configuration '" + string(text) + "'"
}
