// Package lambda implements the part of the API of AWS Lambda that definitions need: functions are read. A
// world file has the functions, which CodeDeploy's deployments call; see codedeployer.
//
// Its inputs and outputs are small structs of its own. Start reading at [NewAPI], then [Service.GetFunction].
package lambda

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// functionsPath begins the paths of the operations on functions.
const functionsPath = "/2015-03-31/functions/"

// Service implements the API of Lambda.
type Service struct{ world *world.World }

// New creates the API over w.
func New(w *world.World) *Service { return &Service{world: w} }

// NewAPI returns the API in the form that wire serves.
func NewAPI(w *world.World) wire.API {
	return wire.API{
		Name: "lambda", ServiceID: "Lambda", Protocol: wire.REST, Route: route, Service: New(w),
		Known: []string{"CreateFunction", "DeleteFunction", "Invoke", "ListFunctions", "UpdateFunctionCode"},
	}
}

// route returns the operation of a request.
func route(method, path string, query url.Values) (string, map[string]string) {
	rest, ok := strings.CutPrefix(path, functionsPath)
	name, action, _ := strings.Cut(rest, "/")
	in := map[string]string{"FunctionName": name, "Qualifier": query.Get("Qualifier")}
	switch {
	case !ok || name == "":
		return "ListFunctions", nil
	case method == http.MethodGet && action == "":
		return "GetFunction", in
	case method == http.MethodGet && action == "configuration":
		return "GetFunctionConfiguration", in
	case method == http.MethodPost && action == "invocations":
		return "Invoke", nil
	}
	return "UpdateFunctionCode", nil
}

// GetFunctionInput is the input of GetFunction.
type GetFunctionInput struct{ FunctionName, Qualifier string }

// GetFunctionOutput is the output of GetFunction.
type GetFunctionOutput struct{ Configuration *FunctionConfiguration }

// GetFunctionConfigurationInput is the input of GetFunctionConfiguration.
type GetFunctionConfigurationInput GetFunctionInput

// FunctionConfiguration is a function as described.
type FunctionConfiguration struct {
	FunctionName, FunctionArn, Runtime, Handler, Role, Version, State, LastUpdateStatus string
	Timeout, MemorySize                                                                 int
}

// GetFunction returns a function without its code.
func (s *Service) GetFunction(ctx context.Context, in *GetFunctionInput) (*GetFunctionOutput, error) {
	of, err := s.GetFunctionConfiguration(ctx, (*GetFunctionConfigurationInput)(in))
	return &GetFunctionOutput{Configuration: of}, err
}

// GetFunctionConfiguration returns the settings of a function, by its name or ARN. It has no other version than
// $LATEST.
func (s *Service) GetFunctionConfiguration(ctx context.Context,
	in *GetFunctionConfigurationInput) (out *FunctionConfiguration, err error) {
	err = s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		name := in.FunctionName
		if parts := strings.Split(name, ":"); len(parts) >= 7 {
			name = parts[6]
		}
		arn := tx.ARN("lambda", "function:"+name)
		if _, ok := tx.Functions.Get(name); !ok || in.Qualifier != "" && in.Qualifier != "$LATEST" {
			if in.Qualifier != "" {
				arn += ":" + in.Qualifier
			}
			return &world.Refusal{Code: "ResourceNotFoundException", Status: http.StatusNotFound,
				Message: "Function not found: " + arn}
		}
		out = &FunctionConfiguration{FunctionName: name, FunctionArn: arn, Runtime: "provided.al2023",
			Handler: "bootstrap", Role: tx.Key.GlobalARN("iam", "role/"+name), Version: "$LATEST",
			State: "Active", LastUpdateStatus: "Successful", Timeout: 3, MemorySize: 128}
		return nil
	})
	return out, err
}
