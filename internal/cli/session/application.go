package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	slashpath "path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/appfile/render"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// LoadApplication reads the application at a path. The names of its files are relative to the
// working directory, if the files are below it. --timeout replaces the timeout of its deployments.
func (s *Session) LoadApplication(path string) (*appfile.Application, error) {
	return s.loadFiles(path, func(f *appfile.Files) error { return f.Problems })
}

// LoadNames is LoadApplication for a command that only needs to know the service and where it is. The application may have
// no task definition: see [appfile.Files.ProblemsOfNames].
func (s *Session) LoadNames(path string) (*appfile.Application, error) {
	return s.loadFiles(path, (*appfile.Files).ProblemsOfNames)
}

func (s *Session) loadFiles(path string, problems func(*appfile.Files) error) (*appfile.Application, error) {
	files, err := s.ReadFiles(path)
	if err == nil {
		err = problems(files)
	}
	if err != nil {
		return nil, err
	}
	app := files.Application
	s.Notices.noteOtherRegion(s.Env.Err, s.Flags.Region, app)
	if s.Flags.timeout > 0 {
		app.Timeout, app.ProgressDeadline = s.Flags.timeout, min(app.ProgressDeadline, s.Flags.timeout)
	}
	return app, nil
}

// ReadFiles reads the files of the application at a path, also if they cannot be deployed.
func (s *Session) ReadFiles(path string) (*appfile.Files, error) {
	files, err := s.readFiles(path)
	return files, s.adviseMissing(path, err)
}

func (s *Session) readFiles(path string) (*appfile.Files, error) {
	at, err := s.Env.Disk.LocateApplication(path)
	if err != nil {
		return nil, err
	}
	from, err := s.Flags.EnvironmentOf(s.Env, at)
	if err != nil {
		return nil, err
	}
	from.Open = func(region string) (render.Remote, error) { return openLookups(s, region) }
	asked := map[string]bool{}
	variable := from.Variables
	from.Variables = func(name string) (string, bool) {
		asked[name] = true
		return variable(name)
	}
	providers, err := s.Flags.readProvidersFile(s.Env.Disk)
	if err != nil {
		return nil, err
	}
	files, err := s.readInTime(at, from, providers)
	if err == nil {
		unused := s.Flags.files.unusedVariables(asked)
		nameSetVariables(files.Problems, unused)
		if s.terminal != nil { // of several: another application may use them
			files.Application.Notes = append(files.Application.Notes, notesOnUnused(unused, asked)...)
		} else if files.Problems == nil {
			files.Problems = refuseUnused(withoutNamed(unused, at.Files, files.Application.File), asked)
		}
	}
	if at.local {
		return files, err
	}
	nameProblems(at.folder, err)
	if files != nil {
		nameProblems(at.folder, files.Problems)
		nameFiles(at.folder, files.Application)
	}
	return files, err
}

// unusedVariables returns the variables of --set that no file asked for.
func (f *fileFlags) unusedVariables(asked map[string]bool) []string {
	set, err := parseSet(f.set)
	if err != nil {
		return nil // the files were not read then
	}
	maps.DeleteFunc(set, func(name, _ string) bool { return asked[name] })
	return slices.Sorted(maps.Keys(set))
}

// withoutNamed returns the variables without those that the application file names, perhaps in another environment.
func withoutNamed(unused []string, files fs.FS, file string) []string {
	text, _ := fs.ReadFile(files, file) // a file that was evaluated can be read
	return slices.DeleteFunc(unused, func(name string) bool { return strings.Contains(string(text), "${"+name) })
}

// refuseUnused returns an error for each variable of --set that no file asked for.
func refuseUnused(unused []string, asked map[string]bool) error {
	var all []error
	for _, name := range unused {
		err := &sluice.Error{Op: "read the flags", Resource: "--set", Err: fmt.Errorf("no file uses %s", name),
			Next: fmt.Sprintf("leave --set %s out, or write ${%s} in a file", name, name)}
		if near := definition.Nearest(name, slices.Sorted(maps.Keys(asked))); near != "" {
			err.Err = fmt.Errorf("no file uses %s; did you mean %s?", name, near)
			err.Next = fmt.Sprintf("give --set %s=…", near)
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// notesOnUnused returns a note for each variable of --set that no file asked for.
func notesOnUnused(unused []string, asked map[string]bool) (notes []string) {
	for _, name := range unused {
		note := "no value of the files has the variable " + name + " of --set"
		if near := definition.Nearest(name, slices.Sorted(maps.Keys(asked))); near != "" {
			note += "; " + near + " may be meant"
		}
		notes = append(notes, note)
	}
	return notes
}

// nameSetVariables adds to each problem of a variable that is not set the unused one of --set that was meant for it.
func nameSetVariables(problems error, unused []string) {
	for _, err := range splitErrors(problems) {
		var p *definition.Problem
		if !errors.As(err, &p) || p.Unset == "" {
			continue
		}
		if near := definition.Nearest(p.Unset, unused); near != "" {
			p.Message += "; --set gives " + near
			p.Next = fmt.Sprintf("give --set %s=…, or write ${%s} here", p.Unset, near)
		} else if len(unused) > 0 {
			p.Message += "; --set gives " + definition.ListNames(unused) + ", which no file uses"
		}
	}
}

// defaultLoadLimit is [Env.LoadLimit] if that is zero.
const defaultLoadLimit = 20 * time.Second

// readInTime reads the application. The evaluation of Jsonnet cannot be stopped: if it takes too long, it goes on
// until the command has ended.
func (s *Session) readInTime(at ApplicationLocation, from *render.Environment,
	providers *appfile.ProvidersFile) (*appfile.Files, error) {
	limit := cmp.Or(s.Env.LoadLimit, defaultLoadLimit)
	type result struct {
		files *appfile.Files
		err   error
		panic any
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			r.panic = recover()
			done <- r
		}()
		r.files, r.err = appfile.ReadFiles(at.Files, at.Name, from, providers)
	}()
	select {
	case r := <-done:
		if r.panic != nil {
			panic(r.panic)
		}
		s.Secrets.Add(from.Secrets()...)
		if r.files != nil {
			s.Secrets.Add(r.files.Application.Secrets...)
		}
		return r.files, r.err
	case <-time.After(limit):
		return nil, &sluice.Error{Op: "evaluate the files", Resource: at.Name,
			Err:  fmt.Errorf("they are not evaluated after %s", limit),
			Next: "check the Jsonnet for a loop without an end, and whether AWS answers the lookups"}
	}
}

// ApplicationLocation is the folder that an application is read from. Files outside this folder
// cannot be read.
type ApplicationLocation struct {
	Files  fs.FS
	Name   string // of the application file or the folder, in files
	local  bool   // the folder is below the working directory, and file names are relative to that
	folder string // as given on the command line
	dir    string // its absolute path
}

// EnvironmentOf returns what the files of an application, which may have a root, may take from outside.
func (f *Flags) EnvironmentOf(e Env, at ApplicationLocation) (*render.Environment, error) {
	from, err := f.files.environmentIn(e)
	if err != nil {
		return nil, err
	}
	from.Dir = at.dir
	from.Root = func(root string) (fs.FS, string, error) { return e.Disk.OpenRoot(at, root) }
	return from, nil
}

func (d Disk) LocateApplication(path string) (ApplicationLocation, error) {
	abs, err := d.absolute(path)
	if err != nil {
		return ApplicationLocation{}, &sluice.Error{Op: "find the working directory", Err: err}
	}
	at, dir := ApplicationLocation{Name: ".", folder: filepath.Clean(path)}, abs
	if _, err := fs.Stat(d.FS(abs), "."); err != nil {
		at.Name, at.folder, dir = filepath.Base(abs), filepath.Dir(path), filepath.Dir(abs)
	}
	at.Files, at.dir = d.FS(dir), dir
	wd, err := d.Getwd()
	if err != nil {
		return ApplicationLocation{}, &sluice.Error{Op: "find the working directory", Err: err}
	}
	if rel, err := filepath.Rel(wd, dir); err == nil && filepath.IsLocal(rel) {
		rel = filepath.ToSlash(rel)
		at.local, at.Name, at.Files = true, slashpath.Join(rel, at.Name), folder.WithPrefix(rel, at.Files)
	}
	return at, nil
}

// nameProblems puts the given folder in front of the file names of problems. It is used for an application that is
// not below the working directory.
func nameProblems(folder string, err error) {
	for _, e := range splitErrors(err) {
		var problem *definition.Problem
		var told *sluice.Error
		switch {
		case errors.As(e, &problem):
			problem.File = inFolder(folder, problem.File)
		case errors.As(e, &told) && told.Resource != "":
			told.Resource = inFolder(folder, told.Resource)
		}
	}
}

// nameFiles puts the given folder in front of the file names of an application.
func nameFiles(folder string, app *appfile.Application) {
	app.File = inFolder(folder, app.File)
	if app.Task != nil {
		app.Task.File = inFolder(folder, app.Task.File)
	}
	if app.Service != nil {
		app.Service.File = inFolder(folder, app.Service.File)
	}
}

func inFolder(folder, file string) string { return filepath.ToSlash(filepath.Join(folder, file)) }

func (e Env) LookupEnv(key string) (string, bool) {
	v := e.Getenv(key)
	return v, v != ""
}

// IsNoApplication reports whether err means that no application file exists.
func IsNoApplication(err error) bool {
	var problem *sluice.Error
	return errors.As(err, &problem) && problem.Op == "read the application" || errors.Is(err, fs.ErrNotExist)
}

// ServiceOrGroup returns the name under which the journal has the deployments of an application. It
// is that of the service, or of the task group if there is no service.
func ServiceOrGroup(app *appfile.Application) string {
	if app.Service != nil {
		return *app.Service.Input.ServiceName
	}
	return plan.TaskGroup(app)
}

// IsTaskRun reports whether the name is that of a task group and not of a service.
func IsTaskRun(service string) bool { return strings.HasPrefix(service, plan.GroupPrefix) }
