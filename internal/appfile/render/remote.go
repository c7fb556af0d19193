package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// Remote reads values of one Region of AWS for lookups. An error of kind [sluice.NotFound] is a value that does not
// exist.
type Remote interface {
	// Parameter returns a parameter of Systems Manager and its type, such as SecureString.
	Parameter(name string) (value, kind string, err error)
	// SecretARN returns the ARN of a secret of Secrets Manager.
	SecretARN(name string) (string, error)
	StackOutput(stack, key string) (string, error)
	Export(name string) (string, error)
	// State returns the text of a Terraform state at an s3 or https URL.
	State(url string) ([]byte, error)
}

// Types of parameters that are more than one text.
const (
	listType   = "StringList"
	secretType = "SecureString"
)

// Secrets returns the values that lookups have read and that are secret.
func (e *Environment) Secrets() []string { return slices.Clone(e.secrets) }

// ReadState returns the text of a Terraform state at an s3 or https URL.
func (e *Environment) ReadState(url string) ([]byte, error) {
	r, err := e.openRemote()
	if err != nil {
		return nil, err
	}
	return r.State(url)
}

// openRemote opens AWS at the first lookup. Files without lookups need no credentials.
func (e *Environment) openRemote() (Remote, error) {
	if e.remote != nil {
		return e.remote, nil
	}
	if e.Open == nil {
		return nil, errors.New("this command does not read values of AWS")
	}
	var err error
	e.remote, err = e.Open(e.region)
	return e.remote, err
}

// question is a lookup in AWS: what it is about, and the command that shows it.
type question struct{ function, what, command string }

// ask returns the value of a lookup in AWS, or an error with the next step.
func ask[T any](e *Environment, q question, read func(r Remote) (T, error)) (value T, err error) {
	r, err := e.openRemote()
	if err == nil {
		value, err = read(r)
	}
	if err == nil {
		return value, nil
	}
	where := "the Region in use"
	if e.region != "" {
		where = e.region
	}
	if sluice.KindOf(err) == sluice.NotFound {
		return value, lookupError{q.function, fmt.Errorf("%s does not exist in %s", q.what, where),
			"check its name: " + q.command}
	}
	return value, lookupError{q.function, fmt.Errorf("%s: %w", q.what, err), sluice.NextStep(err)}
}

// parameter reads a parameter once. A secret value is remembered.
func (e *Environment) parameter(function, name string) (value, kind string, err error) {
	if known, ok := e.parameters[name]; ok {
		return known[0], known[1], nil
	}
	q := question{function, "the parameter " + name, "aws ssm get-parameter --name " + name}
	got, err := ask(e, q, func(r Remote) ([2]string, error) {
		value, kind, err := r.Parameter(name)
		return [2]string{value, kind}, err
	})
	if err != nil {
		return "", "", err
	}
	if e.parameters == nil {
		e.parameters = map[string][2]string{}
	}
	e.parameters[name] = got
	if got[1] == secretType && !slices.Contains(e.secrets, got[0]) {
		e.secrets = append(e.secrets, got[0])
	}
	return got[0], got[1], nil
}

// addParameters adds ssm, and for Jsonnet ssm_list, which takes an index as the second argument.
func (e *Environment) addParameters(prefix string) {
	name := prefix + "ssm"
	read := func(function string) func(args []any) (any, error) {
		return func(args []any) (any, error) {
			texts, err := textsOf(function, args[:1])
			if err != nil {
				return nil, err
			}
			value, kind, err := e.parameter(function, texts[0])
			if err != nil {
				return nil, err
			}
			value, err = elementOf(value, kind, args[1:])
			if err != nil {
				return nil, lookupError{function, fmt.Errorf("the parameter %s: %w", texts[0], err),
					"check its value: aws ssm get-parameter --name " + texts[0]}
			}
			return value, nil
		}
	}
	e.add(lookup{name: name, params: []string{"name"}, least: 1, read: read(name), maxArgs: 2})
	e.add(lookup{name: name + "_list", params: []string{"name", "index"}, least: 2, read: read(name + "_list"),
		onlyJsonnet: true})
}

// elementOf returns the value of a parameter, or the element of a list at the index.
func elementOf(value, kind string, index []any) (string, error) {
	switch {
	case kind != listType && len(index) == 0:
		return value, nil
	case kind != listType:
		return "", errors.New("it is no list, so it takes no index")
	case len(index) == 0:
		return "", errors.New("it is a list: give the index of an element, from 0 (in Jsonnet by ssm_list)")
	}
	n := -1
	switch i := index[0].(type) {
	case int:
		n = i
	case float64:
		n = int(i)
	}
	all := strings.Split(value, ",")
	if n < 0 || n >= len(all) {
		return "", fmt.Errorf("it has no element %v; it has %d", index[0], len(all))
	}
	return all[n], nil
}

func (e *Environment) addSecrets(prefix string) {
	e.addTexts(prefix+"secretsmanager_arn", []string{"name"}, func(texts []string) question {
		return question{what: "the secret " + texts[0],
			command: "aws secretsmanager describe-secret --secret-id " + texts[0]}
	}, func(r Remote, texts []string) (string, error) { return r.SecretARN(texts[0]) })
}

func (e *Environment) addStacks(prefix string) {
	e.addTexts(prefix+"cfn_output", []string{"stack", "output"}, func(texts []string) question {
		return question{what: fmt.Sprintf("the output %s of the stack %s", texts[1], texts[0]),
			command: "aws cloudformation describe-stacks --stack-name " + texts[0]}
	}, func(r Remote, texts []string) (string, error) { return r.StackOutput(texts[0], texts[1]) })
	e.addTexts(prefix+"cfn_export", []string{"export"}, func(texts []string) question {
		return question{what: "the export " + texts[0], command: "aws cloudformation list-exports"}
	}, func(r Remote, texts []string) (string, error) { return r.Export(texts[0]) })
}

// addTexts adds a lookup whose arguments are texts. It reads each value once.
func (e *Environment) addTexts(name string, params []string, about func(texts []string) question,
	read func(r Remote, texts []string) (string, error)) {
	known := map[string]string{}
	e.add(lookup{name: name, params: params, least: len(params), read: func(args []any) (any, error) {
		texts, err := textsOf(name, args)
		if err != nil {
			return nil, err
		}
		key := strings.Join(texts, "\x00")
		if value, ok := known[key]; ok {
			return value, nil
		}
		q := about(texts)
		q.function = name
		value, err := ask(e, q, func(r Remote) (string, error) { return read(r, texts) })
		if err == nil {
			known[key] = value
		}
		return value, err
	}})
}
