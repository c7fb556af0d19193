package awssim

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice/awssim/wire"
)

// Endpoint is the endpoint of the clients of [Sim.Config]. No socket listens there: their requests
// stay in the process.
const Endpoint = "http://awssim.invalid"

// Config returns the configuration for SDK clients in this process. They call the APIs without a
// socket or a goroutine, as [Sim.Account] in [Sim.Region].
func (s *Sim) Config() aws.Config {
	return aws.Config{
		Region: s.Region(), HTTPClient: s.HTTPClient(), BaseEndpoint: aws.String(Endpoint), APIOptions: s.APIOptions(),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: s.Account(), SecretAccessKey: "secret", Source: "awssim"}, nil
		}),
	}
}

// HTTPClient returns a client that answers requests of SDK clients in this process, whatever their
// host. A lost reply is an error, as on a socket.
func (s *Sim) HTTPClient() aws.HTTPClient { return inProcessClient{s} }

type inProcessClient struct{ sim *Sim }

func (c inProcessClient) Do(r *http.Request) (*http.Response, error) {
	return c.sim.current.Load().server.RoundTrip(r)
}

// APIOptions returns the middlewares of [Sim.Config], for callers that build their own clients.
// Without [Options.Direct] there are none. With it there is one, at the start of the Serialize
// step, which passes the input to the API: no request is serialized, signed, retried or sent.
func (s *Sim) APIOptions() []func(*middleware.Stack) error {
	if !s.options.Direct {
		return nil
	}
	return []func(*middleware.Stack) error{func(stack *middleware.Stack) error {
		return stack.Serialize.Add(directMiddleware{s}, middleware.Before)
	}}
}

type directMiddleware struct{ sim *Sim }

func (directMiddleware) ID() string { return "awssim.Direct" }

func (d directMiddleware) HandleSerialize(ctx context.Context, in middleware.SerializeInput,
	_ middleware.SerializeHandler) (
	out middleware.SerializeOutput, meta middleware.Metadata, err error,
) {
	e := d.sim.current.Load()
	region := awsmiddleware.GetRegion(ctx)
	if region == "" {
		region = e.region
	}
	ctx = wire.WithCaller(ctx, wire.Caller{AccessKey: e.account, Account: e.account}, region)
	out.Result, err = e.server.Call(ctx, awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx),
		in.Parameters)
	if errors.Is(err, wire.ErrNoAnswer) {
		return out, meta, nil // a proxy's answer: no request id
	}
	awsmiddleware.SetRequestIDMetadata(&meta, "direct")
	return out, meta, err
}
