package appfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile/locate"
	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// apiVersion is the API version of PipeCD files.
const apiVersion = "pipecd.dev/v1beta1"

// Evaluator evaluates files that are programs, such as Jsonnet. Package render has one.
type Evaluator interface {
	// Evaluate returns the text of a file of a folder, and the name under which problems report it. Its error is
	// a [*definition.Problem].
	Evaluate(files fs.FS, name string, data []byte) (shown string, text []byte, err error)
	// EvaluateJsonnet returns the JSON of a Jsonnet file of a folder. Its error is a [*definition.Problem].
	EvaluateJsonnet(files fs.FS, name string, data []byte) (shown string, text []byte, err error)
	// LookupEnv returns an environment variable that is set and not empty.
	LookupEnv(name string) (value string, ok bool)
	// Variable returns a variable of a sluice.yaml that the caller gives and that is not empty.
	Variable(name string) (value string, ok bool)
	// OpenRoot returns the folder that the key root of a sluice.yaml names, relative to the folder of that file, and the
	// name of the latter in it. It refuses a folder that does not contain the latter, or that files may not be read from.
	OpenRoot(root string) (files fs.FS, folder string, err error)
	// Folder returns the path on this machine of the folder of the application file, absolute. Empty: it is not known.
	Folder() string
	// EnvironmentName returns the environment of a sluice.yaml that the caller has chosen; empty: none.
	EnvironmentName() string
	// StartPlugins removes the functions of plugins, for files with lookups in a Region of AWS.
	StartPlugins(region string)
	// AddState adds the functions of a Terraform state, whose names begin with the prefix.
	AddState(prefix string, state []byte) error
	// ReadState returns the text of a Terraform state at an s3 or https URL.
	ReadState(url string) ([]byte, error)
	// AddPlugin adds the functions of any other plugin that is supported.
	AddPlugin(name, prefix string)
	// Secrets returns the values that lookups have read and that are secret.
	Secrets() []string
}

// Load reads an application. name is its file or a folder, with slashes, relative to fsys ("." is
// its root). In a folder the application file is app.pipecd.yaml, another *.pipecd.yaml, sluice.yaml or
// ecspresso's configuration, and there must be only one. Load reads definitions relative to it.
// A folder with only taskdef.json and servicedef.json is an application without a pipeline.
//
// from evaluates the files of ecspresso's format, which are refused if it is nil. Other formats do not use it.
//
// Load returns all problems of the files together, as joined [*definition.Problem]s.
func Load(fsys fs.FS, name string, from Evaluator) (*Application, error) {
	return applicationOf(ReadFiles(fsys, name, from, nil))
}

// applicationOf returns the application of files that can be deployed.
func applicationOf(files *Files, err error) (*Application, error) {
	switch {
	case err != nil:
		return nil, err
	case files.Problems != nil:
		return nil, files.Problems
	}
	return files.Application, nil
}

// LoadText is [Load] of an application file that the caller has read: its text is data. edit may remove parts of its tree
// that other programs read. more has further metric providers; nil: there are none.
func LoadText(fsys fs.FS, name string, data []byte, edit func(*definition.Source) error,
	more *ProvidersFile) (*Application, error) {
	l := newLoader(fsys, name, more)
	if err := l.parseApplication(data, nil); err != nil {
		return nil, err
	}
	if err := edit(l.src); err != nil {
		return nil, err
	}
	return applicationOf(l.readDefinitions())
}

// ProvidersFile is a file with metric providers in the shape of piped's configuration.
type ProvidersFile struct {
	Name string
	Data []byte
}

// ReadFiles reads the files of an application as [Load] does, and returns them also if they cannot be deployed. It
// returns an error only if the application file cannot be read or evaluated. more has further metric providers; nil:
// there are none.
func ReadFiles(fsys fs.FS, name string, from Evaluator, more *ProvidersFile) (*Files, error) {
	file, err := locate.File(fsys, name)
	if err != nil {
		return nil, &sluice.Error{Op: "read the application", Resource: name, Err: err, Next: nextForFolder(name, err)}
	}
	l := newLoader(fsys, file, more)
	data := []byte(onlyDefinitions)
	l.implied = file != path.Clean(name) && path.Base(file) == locate.ServiceFile
	if !l.implied {
		if data, err = l.readFile(file); err != nil {
			return nil, &sluice.Error{Op: "read the application", Resource: file, Err: locate.WithoutPath(err),
				Next: "create a regular file with this name in the folder of the application"}
		}
	}
	if err := l.parseApplication(data, from); err != nil {
		return nil, err
	}
	return l.readDefinitions()
}

func newLoader(fsys fs.FS, file string, more *ProvidersFile) *loader {
	return &loader{fsys: fsys, providersFile: more, app: &Application{File: file, Source: map[string]string{}}}
}

// parseApplication parses the application file, after its evaluation if its format is a program.
func (l *loader) parseApplication(data []byte, from Evaluator) error {
	file := l.app.File
	if locate.IsEcspresso(file, data) {
		if from == nil {
			return &sluice.Error{Op: "read the application", Resource: file,
				Err: errOnlyCommandLine, Next: "use sluice deploy"}
		}
		l.evaluator = from
	}
	shown, data, err := l.render(file, data)
	if err != nil {
		return err
	}
	l.app.Text = data
	if l.src, err = definition.Parse(shown, data); err != nil {
		return err
	}
	l.src.HideSecrets()
	l.app.src = l.src
	if l.from = from; from != nil {
		l.environment = from.EnvironmentName()
	}
	return nil
}

// readDefinitions reads the values of the application file, and the definitions that it names.
func (l *loader) readDefinitions() (*Files, error) {
	l.loadApplication()
	if l.unchosen != nil {
		return nil, l.unchosen
	}
	if l.implied {
		l.implyAccess()
		l.app.Notes = append(l.app.Notes, "there is no application file, so there is no pipeline: sluice init writes one")
	}
	if l.evaluator != nil {
		l.app.Secrets = l.evaluator.Secrets()
	}
	problems := errors.Join(definition.JoinProblems(l.problems), errors.Join(l.others...))
	if problems != nil {
		problems = definition.FlattenErrors(problems)
	}
	return &Files{Application: l.app, Problems: problems, task: l.taskText, service: l.serviceText,
		serviceName: l.serviceName}, nil
}

// errOnlyCommandLine refuses files that are programs, for callers that evaluate none.
var errOnlyCommandLine = errors.New("only the command line reads files of ecspresso")

// nextForFolder says what to do about a folder without an application file, or with several.
func nextForFolder(name string, err error) string {
	var several locate.SeveralError
	if errors.As(err, &several) {
		return "give the file of one of them: sluice plan -c " + path.Join(name, several.Found[0])
	}
	return "name the application file, or a folder with one app.pipecd.yaml or sluice.yaml"
}

// loader reads the files of one application.
type loader struct {
	fsys fs.FS
	src  *definition.Source
	app  *Application
	// evaluator evaluates the files of a format whose files are programs; nil for other formats.
	evaluator     Evaluator
	providersFile *ProvidersFile // nil: none is given
	// serviceName is the name that the application file gives the service; empty: its definition does.
	serviceName string
	ecspresso   *definition.Source   // the configuration of ecspresso that a sluice.yaml names; nil: none
	from        Evaluator            // nil: the caller gives nothing
	root        *rootFolder          // nil: definitions are in the folder of the file or below
	implied     bool                 // there is no application file
	vars        definition.Variables // nil: the files have none
	environment string               // of sluice.yaml; empty: none is chosen
	unchosen    *definition.Problem  // why no environment is chosen; nil: it is, or there are none
	// taskText and serviceText are the definitions after their evaluation; nil: they are not read.
	taskText, serviceText *evaluatedText

	problems []*definition.Problem // of the application file
	others   []error               // of the definitions
}

// readFile reads a file and records its digest.
func (l *loader) readFile(name string) ([]byte, error) { return l.readFrom(l.fsys, name, name) }

// readFrom reads a file of a folder, and records its digest under the name that people see.
func (l *loader) readFrom(files fs.FS, name, shown string) ([]byte, error) {
	data, err := fs.ReadFile(files, name)
	if err == nil {
		sum := sha256.Sum256(data)
		l.app.Source[shown] = hex.EncodeToString(sum[:])
	}
	return data, err
}

// loadApplication determines the format, checks the file against its tables and reads the values.
func (l *loader) loadApplication() {
	root := l.src.Root
	format, spec, ok := l.readEnvelope(root)
	if !ok {
		return
	}
	l.app.Format = format
	switch {
	case format == Sluice && !l.implied:
		l.useVariables(l.chooseEnvironment(root))
	case l.environment != "":
		l.refuseEnvironment(nil)
	}
	path := "spec"
	if format == Sluice || format == Ecspresso {
		path = ""
	}
	if l.unchosen != nil {
		return
	}
	c := &checker{src: l.src, format: format}
	c.checkObject(spec, specShape(format), path)
	l.problems = append(l.problems, c.problems...)
	if format == Ecspresso {
		l.fillEcspresso(spec)
	} else {
		l.fillApplication(spec)
	}
	l.notePipedKeys(c.piped)
	l.noteUnusedKeys(c.unused)
}

// refuseDefinition adds a problem if the file is a definition that an application names, and reports whether it is one.
func (l *loader) refuseDefinition(root *definition.Node) bool {
	is, at := definition.Recognize(root)
	if at == nil || root.Get("input") != nil {
		return false
	}
	p := l.src.At(at, "this is %s, not an application file", is)
	p.Next = "give the folder of the application, or its sluice.yaml"
	l.addProblem(p)
	return true
}

// readEnvelope returns the format of a file and the node under its spec.
func (l *loader) readEnvelope(root *definition.Node) (Format, *definition.Node, bool) {
	if root.Kind != definition.Map {
		l.addProblem(l.src.At(root, "an application file is a map, and this is %s", root.Kind))
		return "", nil, false
	}
	if l.evaluator != nil {
		return Ecspresso, root, true
	}
	if root.Get("kind") == nil && root.Get("apiVersion") == nil {
		return Sluice, root, !l.refuseDefinition(root)
	}
	l.checkEnvelopeKeys(root)
	format, ok := l.readFormat(root)
	if !ok {
		return "", nil, false
	}
	if spec := root.Get("spec"); values.IsGiven(spec) {
		return format, spec, true
	}
	l.addProblem(l.src.At(root, "the file has no spec").Lacks(root, "spec"))
	return "", nil, false
}

func (l *loader) addProblem(p *definition.Problem) { l.problems = append(l.problems, p) }

// hasProblemAt reports whether something was refused at this place of the file.
func (l *loader) hasProblemAt(src *definition.Source, line, column int) bool {
	return slices.ContainsFunc(l.problems, func(p *definition.Problem) bool {
		return p.File == src.File && p.Line == line && p.Column == column
	})
}

// checkEnvelopeKeys refuses keys next to spec, and another API version.
func (l *loader) checkEnvelopeKeys(root *definition.Node) {
	names, seen := []string{"apiVersion", "kind", "spec"}, map[string]bool{}
	for _, e := range root.Entries {
		switch {
		case seen[e.Key]:
			l.addProblem(l.src.AtKey(e, "%s is given twice", e.Key))
		case !slices.Contains(names, e.Key):
			p := l.src.AtKey(e, "unknown key %q next to spec", e.Key)
			p.Meant = definition.Nearest(e.Key, names)
			l.addProblem(p)
		}
		seen[e.Key] = true
	}
	v := root.Get("apiVersion")
	if !values.IsGiven(v) {
		l.addProblem(l.src.At(root, "the file has no apiVersion: PipeCD's is %s", apiVersion).Lacks(root, "apiVersion"))
	} else if v.Text != apiVersion || v.Kind != definition.Text {
		l.addProblem(l.src.At(v, "apiVersion must be %s", apiVersion))
	}
}

func (l *loader) readFormat(root *definition.Node) (Format, bool) {
	k := root.Get("kind")
	if !values.IsGiven(k) {
		p := l.src.At(root, "the file has no kind: ECSApp (PipeCD v0) or Application (PipeCD v1)")
		l.addProblem(p.Lacks(root, "kind"))
		return "", false
	}
	switch k.Text {
	case "ECSApp":
		return PipeCDv0, true
	case "Application":
		return PipeCDv1, true
	}
	p := l.src.At(k, "kind %q is not a kind for ECS: use ECSApp (PipeCD v0) or Application (PipeCD v1)", k.Text)
	p.Meant = definition.Nearest(k.Text, []string{"ECSApp", "Application"})
	l.addProblem(p)
	return "", false
}

// notePipedKeys adds a note that lists the keys that only piped uses.
func (l *loader) notePipedKeys(keys []string) {
	if len(keys) > 0 {
		l.app.Notes = append(l.app.Notes, fmt.Sprintf("ignored by "+
			"sluice (used by piped): %s", strings.Join(keys, ", ")))
	}
}

// noteUnusedKeys adds a note that lists the keys that only PipeCD's documentation has.
func (l *loader) noteUnusedKeys(keys []string) {
	if len(keys) > 0 {
		l.app.Notes = append(l.app.Notes, "without effect, in PipeCD as in sluice: "+strings.Join(keys, ", ")+
			" (PipeCD stores the deploy target in its settings of the application)")
	}
}
