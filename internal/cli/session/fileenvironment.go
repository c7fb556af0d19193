package session

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-envparse"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile/render"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// fileFlags are the flags for what the files of an application may take from outside. Each has a variable of
// ecspresso, which is used if the flag is not given.
type fileFlags struct {
	envFiles        []string // --env-file, --envfile, or ECSPRESSO_ENVFILE
	extStr, extCode []string // --ext-str, --ext-code, or ECSPRESSO_EXT_STR, ECSPRESSO_EXT_CODE
	set             []string // --set: variables of a sluice.yaml
	environment     string   // --env: of a sluice.yaml
}

// environmentIn returns what the files of an application may take from outside: the variables of this process and of
// the files that --env-file names, and the external variables of Jsonnet. In ecspresso's files the variables of the files
// come first. In a sluice.yaml those of --set do, and then those of this process, as in Docker Compose.
func (f *fileFlags) environmentIn(e Env) (*render.Environment, error) {
	given := map[string]string{}
	for _, file := range e.orVariable(f.envFiles, "ECSPRESSO_ENVFILE", ",") {
		vars, err := readEnvFile(file, e.Disk.ReadFile)
		if err != nil {
			return nil, err
		}
		maps.Copy(given, vars)
	}
	set, err := parseSet(f.set)
	if err != nil {
		return nil, err
	}
	from := &render.Environment{Chosen: f.environment, Variables: func(name string) (string, bool) {
		for _, get := range []func(string) (string, bool){lookupIn(set), e.LookupEnv, lookupIn(given)} {
			if v, ok := get(name); ok {
				return v, true
			}
		}
		return "", false
	}, Bound: boundMemory(memoryLimit), Lookup: func(key string) (string, bool) {
		if v, ok := lookupIn(given)(key); ok {
			return v, true
		}
		return e.LookupEnv(key)
	}}
	from.ExtStr, err = parsePairs("--ext-str", e.orVariable(f.extStr, "ECSPRESSO_EXT_STR", "\x00"))
	if err != nil {
		return nil, err
	}
	from.ExtCode, err = parsePairs("--ext-code", e.orVariable(f.extCode, "ECSPRESSO_EXT_CODE", "\x00"))
	return from, err
}

// lookupIn returns the values of a map that are not empty.
func lookupIn(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { return values[name], values[name] != "" }
}

// EvaluateFile evaluates the Jsonnet and the templates of a file that a flag names. Jsonnet imports from its folder.
// shown is how problems name the text.
func (f *Flags) EvaluateFile(e Env, file string, data []byte) (shown string, text []byte, err error) {
	from, err := f.files.environmentIn(e)
	if err != nil {
		return "", nil, err
	}
	abs, err := e.Disk.absolute(file)
	if err != nil {
		return "", nil, err
	}
	base := filepath.Base(abs)
	shown, text, err = from.Evaluate(e.Disk.FS(filepath.Dir(abs)), base, data)
	var problem *definition.Problem
	if errors.As(err, &problem) && problem.File == base {
		problem.File = file
	}
	return strings.Replace(shown, base, file, 1), text, err
}

// orVariable returns the values of a flag, or those of an environment variable if the flag is not given.
func (e Env) orVariable(values []string, name, separator string) []string {
	if v, ok := e.LookupEnv(name); ok && len(values) == 0 {
		return strings.Split(v, separator)
	}
	return values
}

// readEnvFile returns the variables of a file with lines NAME=value.
func readEnvFile(file string, read func(string) ([]byte, error)) (map[string]string, error) {
	data, err := read(file)
	if err != nil {
		return nil, &sluice.Error{Op: "read the environment file", Resource: file, Err: err,
			Next: "give --env-file a file with lines NAME=value"}
	}
	vars, err := envparse.Parse(bytes.NewReader(data))
	var at *envparse.ParseError
	if errors.As(err, &at) {
		return nil, &sluice.Error{Op: "read the environment file",
			Resource: fmt.Sprintf("%s:%d", filepath.ToSlash(file), at.Line), Err: at.Err,
			Next: "write the line as NAME=value, with quotes around a value that has blanks"}
	}
	return vars, err
}

// parseSet returns the variables of --set.
func parseSet(values []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, pair := range values {
		name, v, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, &sluice.Error{Op: "read the flags", Resource: "--set",
				Err: fmt.Errorf("%q is not of the form NAME=value", pair), Next: "give --set NAME=value"}
		}
		if other, isTwice := pairs[name]; isTwice && other != v {
			return nil, &sluice.Error{Op: "read the flags", Resource: "--set", Err: fmt.Errorf("%s is given twice, with two values", name),
				Next: "give --set " + name + "=… once"}
		}
		pairs[name] = v
	}
	return pairs, nil
}

// parsePairs returns the pairs name=value of a flag, which a semicolon separates.
func parsePairs(flag string, values []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, value := range values {
		for pair := range strings.SplitSeq(value, ";") {
			name, v, ok := strings.Cut(pair, "=")
			if !ok || name == "" {
				return nil, &sluice.Error{Op: "read the flags", Resource: flag,
					Err: fmt.Errorf("%q is not of the form name=value", pair), Next: "give " + flag + " name=value"}
			}
			pairs[name] = v
		}
	}
	return pairs, nil
}
