package render

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/formatter"

	"github.com/sluice-ecs/sluice/internal/appfile/locate"
)

// evaluateJsonnet returns the JSON text of a Jsonnet file.
//
// An evaluation that Bound gave up goes on after the error, as Jsonnet cannot be stopped. It calls no function any more.
func (e Environment) evaluateJsonnet(files fs.FS, name, text string) (string, error) {
	vm := jsonnet.MakeVM()
	vm.SetTraceOut(io.Discard)
	vm.Importer(&importer{files: files, read: map[string]jsonnet.Contents{}})
	for key, value := range e.ExtStr {
		vm.ExtVar(key, value)
	}
	for key, code := range e.ExtCode {
		vm.ExtCode(key, code)
	}
	var calls sync.Mutex
	isGivenUp := false
	var failed error // of the native function that was called last
	for _, f := range e.nativeFunctions() {
		call := f.Func
		f.Func = func(args []any) (any, error) {
			calls.Lock()
			defer calls.Unlock()
			if isGivenUp {
				return nil, errors.New("the evaluation was given up")
			}
			value, err := call(args)
			failed = err
			return value, err
		}
		vm.NativeFunction(f)
	}
	node, err := jsonnet.SnippetToAST(name, text)
	if err != nil {
		return "", jsonnetProblem(name, err, nil)
	}
	var out string
	if boundErr := e.bound(func() { out, err = vm.Evaluate(node) }); boundErr != nil {
		calls.Lock()
		defer calls.Unlock()
		isGivenUp = true
		return "", problemOf(name, 1, 1, boundErr, boundErr.Error())
	}
	if err != nil {
		return "", jsonnetProblem(name, err, failed)
	}
	return out, nil
}

// FormatJsonnet returns JSON as people write Jsonnet.
func FormatJsonnet(name string, data []byte) ([]byte, error) {
	text, err := formatter.Format(name, string(data), formatter.DefaultOptions())
	return []byte(text), err
}

// EscapeTemplates returns a text that is evaluated to data, also if data has the marks of templates.
func EscapeTemplates(data []byte) []byte {
	return []byte(strings.ReplaceAll(string(data), "{{", "{{`{{`}}"))
}

// nativeFunctions returns the functions that std.native finds.
func (e Environment) nativeFunctions() []*jsonnet.NativeFunction {
	all := []*jsonnet.NativeFunction{
		{Name: "must_env", Params: ast.Identifiers{"name"}, Func: func(args []any) (any, error) {
			names, err := textsOf("must_env", args)
			if err != nil {
				return nil, err
			}
			return e.mustEnv(names[0])
		}},
		{Name: "env", Params: ast.Identifiers{"name", "default"}, Func: func(args []any) (any, error) {
			names, err := textsOf("env", args)
			if err != nil {
				return nil, err
			}
			return e.env(names...)
		}},
	}
	for _, l := range e.lookups {
		f := &jsonnet.NativeFunction{Name: l.name, Func: l.read}
		for _, name := range l.params {
			f.Params = append(f.Params, ast.Identifier(name))
		}
		all = append(all, f)
	}
	return all
}

func textsOf(function string, args []any) ([]string, error) {
	texts := make([]string, len(args))
	for i, arg := range args {
		text, ok := arg.(string)
		if !ok {
			return nil, fmt.Errorf("%s takes text, and its argument %d is not text", function, i+1)
		}
		texts[i] = text
	}
	return texts, nil
}

// jsonnetProblem returns an error of an evaluation with its place: that of the file's own code that is
// nearest to it. failed is the last error of a native function, of which Jsonnet keeps only the text.
func jsonnetProblem(name string, err, failed error) error {
	var static interface{ Loc() ast.LocationRange }
	var runtime jsonnet.RuntimeError
	switch {
	case errors.As(err, &runtime):
		file, line, column := name, 1, 1
		for _, frame := range slices.Backward(runtime.StackTrace) {
			if at := frame.Loc; at.Begin.Line > 0 && at.FileName != "" && !strings.HasPrefix(at.FileName, "<") {
				file, line, column = at.FileName, at.Begin.Line, at.Begin.Column
				break
			}
		}
		return problemOf(file, line, column, meantBy(err, failed, runtime.Msg), withoutMark(runtime.Msg))
	case errors.As(err, &static):
		at := static.Loc()
		file := name
		if at.FileName != "" {
			file = at.FileName
		}
		return problemOf(file, at.Begin.Line, at.Begin.Column, err,
			"the Jsonnet is not valid: "+strings.TrimSpace(strings.TrimPrefix(err.Error(), at.String())))
	}
	message, _, _ := strings.Cut(err.Error(), "\n") // a crash of the evaluation has a stack trace
	return problemOf(name, 1, 1, err, "the Jsonnet cannot be evaluated: "+message)
}

// meantBy returns the error of a native function if that is the one that Jsonnet reports.
func meantBy(err, failed error, message string) error {
	if failed != nil && withoutMark(message) == failed.Error() {
		return failed
	}
	return err
}

// withoutMark returns the message of a runtime error without the words that Jsonnet puts before it.
func withoutMark(message string) string { return strings.TrimPrefix(message, "RUNTIME ERROR: ") }

// importer reads what Jsonnet imports, from the folder only.
type importer struct {
	files fs.FS
	read  map[string]jsonnet.Contents
}

// Import reads a file by its name relative to the file that imports it.
func (i *importer) Import(from, name string) (jsonnet.Contents, string, error) {
	file, ok := locate.NameOf(i.files, name)
	if !ok {
		file, ok = path.Join(path.Dir(from), name), !path.IsAbs(name)
	}
	if !ok || !fs.ValidPath(file) {
		return jsonnet.Contents{}, "", fmt.Errorf("%s is outside the folder", name)
	}
	if c, ok := i.read[file]; ok {
		return c, file, nil
	}
	data, err := fs.ReadFile(i.files, file)
	var pathErr *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return jsonnet.Contents{}, "", fmt.Errorf("there is no file %s", file)
	case errors.As(err, &pathErr):
		return jsonnet.Contents{}, "", fmt.Errorf("%s: %w", file, pathErr.Err)
	case err != nil:
		return jsonnet.Contents{}, "", err
	}
	i.read[file] = jsonnet.MakeContentsRaw(data)
	return i.read[file], file, nil
}
