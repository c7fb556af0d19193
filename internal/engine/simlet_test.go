package engine_test

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice/awssim/balancer"
	"github.com/sluice-ecs/sluice/awssim/ec2"
	simecs "github.com/sluice-ecs/sluice/awssim/ecs"
	"github.com/sluice-ecs/sluice/awssim/elbv2"
	"github.com/sluice-ecs/sluice/awssim/sts"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

type simlet struct {
	w   *world.World
	law *balancer.Law
	srv *wire.Server
}

func (s *simlet) Do(r *http.Request) (*http.Response, error) { return s.srv.RoundTrip(r) }
func (s *simlet) HTTPClient() aws.HTTPClient                 { return s }
func (s *simlet) Balancer() *balancer.Law                    { return s.law }
func (s *simlet) World() *world.World                        { return s.w }
func (s *simlet) Config() aws.Config {
	return aws.Config{Region: "us-east-1", HTTPClient: s, BaseEndpoint: aws.String("http://127.0.0.1:1"),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "123456789012", SecretAccessKey: "s"}, nil
		})}
}

func newSimlet(o world.Options) *simlet {
	w := world.New(o)
	law := balancer.New(w)

	return &simlet{w, law, wire.New(w, simecs.Room(w), elbv2.Room(w, law), sts.Room(w), ec2.Room(w))}
}
