package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile/locate"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// Service is a service that an argument names as CLUSTER/SERVICE, without files.
type Service struct{ Cluster, Name string }

func (s Service) String() string { return s.Cluster + "/" + s.Name }

// serviceName is CLUSTER/SERVICE (ECS API reference, CreateCluster and CreateService: up to 255 letters, numbers,
// hyphens and underscores).
var serviceName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}/[A-Za-z0-9_-]{1,255}$`)

// assignment is NAME=value.
var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// ServiceAt returns the service that an argument names. isService is false if the argument is an existing folder or
// file, the ID of a deployment, or not of the form CLUSTER/SERVICE.
func (d Disk) ServiceAt(arg string) (of Service, isService bool) {
	if !serviceName.MatchString(arg) || d.Exists(arg) {
		return Service{}, false
	}
	of.Cluster, of.Name, _ = strings.Cut(arg, "/")
	return of, true
}

// NoSuchService returns the error of a read of a service that an argument names. If AWS or the journal does not have
// the service, the argument may also be a misspelt folder.
func (d Disk) NoSuchService(of Service, err error) error {
	var problem *sluice.Error
	if sluice.KindOf(err) != sluice.NotFound || !errors.As(err, &problem) {
		return err
	}
	explained := *problem
	explained.Err = fmt.Errorf("%w; there is no folder %s either", problem.Err, of)
	if near := d.nearFolder(of.String()); near != "" {
		explained.Next = "name the folder " + near + ", or an existing service as CLUSTER/SERVICE"
	}
	return &explained
}

// adviseMissing adds to the error of an application that does not exist what was probably meant: a folder below or beside
// it, or a service of the journal.
func (s *Session) adviseMissing(path string, err error) error {
	var problem *sluice.Error
	if !IsNoApplication(err) || !errors.As(err, &problem) {
		return err
	}
	advised := *problem
	if below := applicationsBelow(err); len(below) > 0 {
		which := "one of them"
		if len(below) == 1 {
			which = "it"
		}
		advised.Next = "name " + which + ": " + s.line.commandAt(path, filepath.ToSlash(filepath.Join(path, below[0])))
		return &advised
	}
	if s.Env.Disk.Exists(path) {
		return err
	}
	near, names, beside := s.Env.Disk.nearFolder(path), s.recordedServices(path), s.Env.Disk.applicationsBeside(path)
	cluster, name, _ := strings.Cut(path, "/")
	switch {
	case assignment.MatchString(path):
		advised.Next = "give a variable of the files with --set: --set " + shellWord(withoutSecrets([]string{path})[0])
	case near != "":
		advised.Next = "name the folder " + near
	case len(names) > 0 && s.line.takesService():
		advised.Next = "name the service as CLUSTER/SERVICE: " + strings.Join(names, ", ")
	case len(beside) > 0:
		advised.Next = "name one of the applications beside it: " + definition.ListNames(beside)
	case serviceName.MatchString(path):
		advised.Next = "name the application's folder, or write its files: sluice init --cluster " + cluster + " --service " + name
	case serviceName.MatchString("x/"+path) && s.line.takesService():
		advised.Next = "name the application's folder, or the service as CLUSTER/" + path
	case serviceName.MatchString("x/" + path):
		advised.Next = "name the application's folder; status, history, logs, wait and rollback also take CLUSTER/" + path
	}
	return &advised
}

// applicationsBeside returns the folders with a sluice.yaml beside a path with a folder that does not exist.
func (d Disk) applicationsBeside(path string) (all []string) {
	parent := filepath.Dir(path)
	for _, name := range d.namesIn(parent, fs.DirEntry.IsDir) {
		if folder := filepath.Join(parent, name); d.Exists(filepath.Join(folder, "sluice.yaml")) {
			all = append(all, filepath.ToSlash(folder))
		}
	}
	return all
}

// applicationsBelow returns the folders of applications below the one that has none, relative to it.
func applicationsBelow(err error) []string {
	var none locate.NoFileError
	errors.As(err, &none)
	return none.Below
}

// recordedServices returns the services of the journal, as CLUSTER/SERVICE, that have this name. Without one, it is the
// service whose name is nearest.
func (s *Session) recordedServices(name string) []string {
	if !serviceName.MatchString("x/" + name) {
		return nil
	}
	j, err := s.FindJournal()
	if err != nil || j == nil {
		return nil
	}
	defer j.Close()
	found, err := j.Deployments(s.line.context(), journal.Filter{})
	if err != nil {
		return nil
	}
	services := serviceNames(found)
	var names []string
	for _, of := range services {
		names = append(names, of[strings.Index(of, "/")+1:])
	}
	if !slices.Contains(names, name) {
		name = definition.Nearest(name, names)
	}
	return slices.DeleteFunc(services, func(of string) bool { return !strings.HasSuffix(of, "/"+name) })
}

// serviceNames returns the services of deployments, as CLUSTER/SERVICE.
func serviceNames(of []journal.Deployment) (all []string) {
	for _, d := range of {
		if name := d.Cluster + "/" + d.Service; !IsTaskRun(d.Service) && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// noDeploymentOf returns the error if the journal has no deployment of a service that an argument names. It names the
// services whose name is near.
func (d Deployments) noDeploymentOf(ctx context.Context, of Service, err error) error {
	var problem *sluice.Error
	if !errors.Is(err, ErrNoDeployment) || !errors.As(err, &problem) {
		return err
	}
	all, listErr := d.journal.Deployments(ctx, journal.Filter{})
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	names := serviceNames(all)
	advised := *problem
	switch near := definition.Nearest(of.String(), names); {
	case near != "" && near != of.String():
		advised.Next = "name the service as CLUSTER/SERVICE: " + near
	case len(names) > 0 && near == "":
		advised.Err = fmt.Errorf("%w; it has deployments of %s", problem.Err, definition.ListNames(names))
	}
	return d.session.Env.Disk.NoSuchService(of, &advised)
}
