package appfile

import (
	"errors"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// Files are the files of an application, evaluated.
type Files struct {
	// Application has the definitions only if nothing in them is refused.
	Application *Application
	// Problems is why the files cannot be deployed; nil: they can.
	Problems error

	task, service *evaluatedText
	serviceName   string
}

// ProblemsOfNames is Problems without those of the task definition, if the files have a service: a command that only needs
// to know the service and where it is needs no image, and so none of the variables that name one.
func (f *Files) ProblemsOfNames() error {
	if f.Problems == nil || f.task == nil || f.Application.Service == nil {
		return f.Problems
	}
	var all []error
	for _, err := range flattened(f.Problems) {
		var p *definition.Problem
		if !errors.As(err, &p) || p.File != f.task.shown {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// flattened returns the errors of [definition.FlattenErrors].
func flattened(err error) []error {
	if joined, ok := definition.FlattenErrors(err).(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// evaluatedText is the text of a definition, and the name under which problems report it.
type evaluatedText struct {
	shown string
	data  []byte
	vars  definition.Variables // of the file that names it; nil: it has none
}

// TaskJSON returns the task definition as the request that AWS gets, or nil if the files have none that can be read.
// It does not check the values, or whether the definitions fit together.
func (f *Files) TaskJSON() ([]byte, error) {
	if f.Application.Task != nil {
		return f.Application.Task.JSON()
	}
	if f.task == nil {
		return nil, f.Problems
	}
	task, problems, err := definition.ReadTask(f.task.shown, f.task.data, f.task.vars)
	if err == nil {
		err = definition.JoinProblems(problems)
	}
	if err != nil {
		return nil, err
	}
	return task.JSON()
}

// ServiceJSON is [Files.TaskJSON] for the service definition.
func (f *Files) ServiceJSON() ([]byte, error) {
	if f.Application.Service != nil {
		return f.Application.Service.JSON()
	}
	if f.service == nil {
		return nil, f.Problems
	}
	service, problems, err := definition.ReadService(f.service.shown, f.service.data, f.serviceName, f.service.vars)
	if err == nil {
		err = definition.JoinProblems(problems)
	}
	if err != nil {
		return nil, err
	}
	if f.serviceName == placementName {
		delete(service.Given, "serviceName")
	}
	if service.Input.Cluster == nil && f.Application.Cluster != "" {
		service.SetCluster(f.Application.Cluster)
	}
	return service.JSON()
}
