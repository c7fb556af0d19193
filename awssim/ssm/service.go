// Package ssm implements the part of the API of AWS Systems Manager that definitions, lookups and ECS Exec
// need: the parameters of Parameter Store are written and read, and sessions with containers begin. Containers do not
// read parameters.
//
// Its inputs and outputs are small structs of its own. Their members have the names of the API Reference.
//
// Start reading at [NewAPI], then [Service.GetParameter].
package ssm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Types of parameters.
const (
	plainText    = "String"
	textList     = "StringList"
	secureString = "SecureString"
)

// maxNames is how many parameters GetParameters takes (API reference).
const maxNames = 10

// Service implements the API.
type Service struct{ world *world.World }

// New creates the API over w.
func New(w *world.World) *Service { return &Service{world: w} }

// NewAPI returns the API in the form that wire serves.
func NewAPI(w *world.World) wire.API {
	return wire.API{
		Name: "ssm", ServiceID: "SSM", Protocol: wire.JSON11, Target: "AmazonSSM",
		Service: New(w), Violation: "ValidationException",
		Constraints: map[string]wire.Constraint{
			"GetParameterInput.Name":   {Required: true, Length: []int{1, 2048}},
			"GetParametersInput.Names": {Required: true, Length: []int{1, maxNames}},
		},
		Known: []string{"DeleteParameter", "DescribeParameters", "GetParameterHistory", "GetParametersByPath",
			"LabelParameterVersion", "TerminateSession"},
	}
}

// state holds the parameters of a Region.
type state struct {
	parameters world.Ordered[*Parameter] // by name
	sessions   int                       // that were started
}

// Parameter is a parameter as described.
type Parameter struct {
	ARN, Name, Type, Value, Selector, DataType string
	LastModifiedDate                           time.Time
	Version                                    int64
}

func (s *Service) runStep(ctx context.Context, f func(tx *world.Tx, of *state) error) error {
	return s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		return f(tx, world.PrivateState[state](tx.Region, "ssm"))
	})
}

// find returns a parameter by its name or ARN, with ":<version>" or without.
func (s *state) find(name string, decrypt bool) *Parameter {
	if at := strings.Index(name, ":parameter/"); at >= 0 {
		name = name[at+len(":parameter"):]
		if _, ok := s.parameters.Get(name); !ok && strings.Count(name, "/") == 1 {
			name = name[1:] // a name without a slash
		}
	}
	name, selector, versioned := strings.Cut(name, ":")
	p, ok := s.parameters.Get(name)
	if !ok || versioned && selector != strconv.FormatInt(p.Version, 10) {
		return nil
	}
	out := *p
	if versioned {
		out.Selector = ":" + selector
	}
	if out.Type == secureString && !decrypt {
		out.Value = fmt.Sprintf("encrypted:%s:%d", name, p.Version)
	}
	return &out
}

// GetParameterInput is the input of GetParameter.
type GetParameterInput struct {
	Name           string
	WithDecryption bool
}

// GetParameterOutput is the output of GetParameter.
type GetParameterOutput struct{ Parameter *Parameter }

// GetParameter returns a parameter. AWS returns the error code alone.
func (s *Service) GetParameter(ctx context.Context, in *GetParameterInput) (out *GetParameterOutput, err error) {
	err = s.runStep(ctx, func(_ *world.Tx, of *state) error {
		p := of.find(in.Name, in.WithDecryption)
		if p == nil {
			return world.Refuse("ParameterNotFound", "")
		}
		out = &GetParameterOutput{Parameter: p}
		return nil
	})
	return out, err
}

// GetParametersInput is the input of GetParameters.
type GetParametersInput struct {
	Names          []string
	WithDecryption bool
}

// GetParametersOutput is the output of GetParameters.
type GetParametersOutput struct {
	Parameters        []Parameter
	InvalidParameters []string
}

// GetParameters returns parameters, and the names of those that do not exist.
func (s *Service) GetParameters(ctx context.Context, in *GetParametersInput) (*GetParametersOutput, error) {
	out := &GetParametersOutput{Parameters: []Parameter{}, InvalidParameters: []string{}}
	err := s.runStep(ctx, func(_ *world.Tx, of *state) error {
		for _, name := range in.Names {
			if p := of.find(name, in.WithDecryption); p != nil {
				out.Parameters = append(out.Parameters, *p)
			} else {
				out.InvalidParameters = append(out.InvalidParameters, name)
			}
		}
		return nil
	})
	return out, err
}

// PutParameterInput is the input of PutParameter.
type PutParameterInput struct {
	Name, Type, Value string
	Overwrite         bool
}

// PutParameterOutput is the output of PutParameter.
type PutParameterOutput struct {
	Version int64
	Tier    string
}

// PutParameter writes a parameter.
func (s *Service) PutParameter(ctx context.Context, in *PutParameterInput) (out *PutParameterOutput, err error) {
	err = s.runStep(ctx, func(tx *world.Tx, of *state) error {
		old, exists := of.parameters.Get(in.Name)
		kind := in.Type
		switch {
		case in.Name == "" || in.Value == "":
			return world.Refuse("ValidationException", "a parameter needs a name and a value")
		case exists && !in.Overwrite:
			return world.Refuse("ParameterAlreadyExists", "The parameter already exists. To overwrite this value, set "+
				"the overwrite option in the request to true.")
		case exists && kind == "":
			kind = old.Type
		case kind != plainText && kind != textList && kind != secureString:
			return world.Refuse("ValidationException", "A parameter type is required when you create a parameter.")
		}
		p := &Parameter{ARN: tx.ARN("ssm", "parameter/"+strings.TrimPrefix(in.Name, "/")), Name: in.Name, Type: kind,
			Value: in.Value, DataType: "text", LastModifiedDate: tx.Now(), Version: 1}
		if exists {
			p.Version = old.Version + 1
		}
		of.parameters.Put(in.Name, p)
		out = &PutParameterOutput{Version: p.Version, Tier: "Standard"}
		return nil
	})
	return out, err
}
