package codedeploy

import (
	"regexp"
	"time"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxNameLength        = 100
	maxDescriptionLength = 256
	maxBatch             = 100 // BatchGetApplications, BatchGetDeploymentGroups
	maxDeploymentBatch   = 25  // BatchGetDeployments, BatchGetDeploymentTargets
	pageSize             = 100
)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_.+=,@-]+$`)

// checkName refuses a missing or invalid name. what is "Application", "DeploymentGroup" or
// "DeploymentConfig", as in CodeDeploy's error codes.
func checkName(name *string, what string) error {
	switch {
	case val(name) == "":
		return world.Refuse(what+"NameRequiredException", "%s name is required", what)
	case len(*name) > maxNameLength || !nameForm.MatchString(*name):
		return world.Refuse("Invalid"+what+"NameException",
			"Value %s at '%s name' is not valid: 1 to %d letters, digits and _.+=,@-", *name, what, maxNameLength)
	}
	return nil
}

func findApplication(tx *world.Tx, name *string) (*codedeployer.Application, error) {
	if err := checkName(name, "Application"); err != nil {
		return nil, err
	}
	a, ok := codedeployer.StateOf(tx).Applications.Get(*name)
	if !ok {
		return nil, world.Refuse("ApplicationDoesNotExistException", "No application found for name: %s", *name)
	}
	return a, nil
}

func findGroup(tx *world.Tx, app, name *string) (*codedeployer.Group, error) {
	a, err := findApplication(tx, app)
	if err != nil {
		return nil, err
	}
	if err := checkName(name, "DeploymentGroup"); err != nil {
		return nil, err
	}
	g, ok := a.Groups.Get(*name)
	if !ok {
		return nil, world.Refuse("DeploymentGroupDoesNotExistException", "No Deployment Group found for name: %s",
			*name)
	}
	return g, nil
}

var idForm = regexp.MustCompile(`^d-[A-Z0-9]{9}$`)

func findDeployment(tx *world.Tx, id *string) (*codedeployer.Deployment, error) {
	switch {
	case val(id) == "":
		return nil, world.Refuse("DeploymentIdRequiredException", "The deployment ID must be specified.")
	case !idForm.MatchString(*id):
		return nil, world.Refuse("InvalidDeploymentIdException",
			"Specified DeploymentId is not in the valid format: %s", *id)
	}
	d, ok := codedeployer.StateOf(tx).Deployments.Get(*id)
	if !ok {
		return nil, noDeployment(*id)
	}
	return d, nil
}

// pageOf returns one page of names or ids.
func pageOf(items []string, token *string) ([]string, *string, error) {
	part, next, err := wire.Page(items, token, 0, pageSize, pageSize, func(s string) string { return s })
	if err != nil {
		return nil, nil, world.Refuse("InvalidNextTokenException", "The specified next token is invalid")
	}
	if part == nil {
		part = []string{}
	}
	return part, next, nil
}

func checkBatch(n, most int) error {
	if n > most {
		return world.Refuse("BatchLimitExceededException", "The number of names or IDs must not exceed %d", most)
	}
	return nil
}

func invalidInput(format string, args ...any) error {
	return world.Refuse("InvalidInputException", format, args...)
}

// optionalTime returns t, or nil for the zero time.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// optionalText returns s, or nil if it is empty.
func optionalText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func noDeployment(id string) *world.Refusal {
	return world.Refuse("DeploymentDoesNotExistException", "The deployment %s could not be found", id)
}
