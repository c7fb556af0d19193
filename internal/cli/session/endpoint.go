package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// Endpoint returns the endpoint of this command, which separates the deployments of AWS from those
// of a local AWS. It asks a local AWS for the ID of its world, and makes no call to AWS.
func (s *Session) Endpoint(ctx context.Context) journal.Endpoint {
	url := s.EndpointURL(ctx)
	if url == "" {
		return journal.Endpoint{}
	}
	return journal.Endpoint{URL: url, World: s.Env.askSim(ctx, url).World}
}

// EndpointURL returns the endpoint of ECS, or "" for AWS. If the AWS config files cannot be read, it
// is that of the flag or the environment; opening the account then fails with the reason.
func (s *Session) EndpointURL(ctx context.Context) string {
	c := account.Config{Region: s.Flags.Region, Profile: s.Flags.profile, EndpointURL: s.Flags.endpoint,
		HTTPClient: s.Env.HTTPClient, Credentials: s.Env.Credentials}
	if c.Credentials != nil && c.Region == "" {
		c.Region = "us-east-1" // given credentials: the machine's configuration is not read
	}
	url, err := c.ECSEndpoint(ctx)
	if err == nil {
		return url
	}
	return s.givenEndpoint()
}

// givenEndpoint returns the endpoint of the flag or the environment.
func (s *Session) givenEndpoint() string {
	return cmp.Or(s.Flags.endpoint, s.Env.Getenv("AWS_ENDPOINT_URL"))
}

// simState is what a local AWS reports about its world; see awssim.TimeView.
type simState struct {
	World string
	Now   time.Time
}

// simTimeout limits the request to the local AWS.
const simTimeout = 2 * time.Second

// askSim requests the state of the local AWS at an endpoint. It returns the zero value if none
// responds.
func (e Env) askSim(ctx context.Context, endpoint string) (sim simState) {
	ctx, cancel := context.WithTimeout(ctx, simTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(endpoint, "/")+"/_sluice/time", nil)
	if err != nil {
		return simState{}
	}
	resp, err := e.WebClient().Do(r)
	if err != nil {
		return simState{}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || json.NewDecoder(resp.Body).Decode(&sim) != nil {
		return simState{}
	}
	return sim
}

// EndpointText describes an endpoint for people: "AWS", or the address of a local AWS.
func EndpointText(e journal.Endpoint) string {
	switch {
	case e.Unrecorded:
		return "unknown"
	case e.IsAWS():
		return "AWS"
	}
	return e.URL
}

// formerEndpointText describes an endpoint that is not the one of this command.
func formerEndpointText(now, former journal.Endpoint) string {
	if now.URL != "" && (former.URL == now.URL || former.Unrecorded) {
		return "an earlier world of " + now.URL + ", which was reset or restarted since"
	}
	return EndpointText(former)
}

// checkEndpoint returns an error if the deployment is not one of the endpoint of this command.
func checkEndpoint(now journal.Endpoint, d journal.Deployment) error {
	if now.Has(d.Endpoint) {
		return nil
	}
	e := &sluice.Error{Op: "find the deployment", Resource: d.ID, Kind: sluice.NotFound,
		Err:  fmt.Errorf("it was at %s", formerEndpointText(now, d.Endpoint)),
		Next: "run sluice history " + d.ID + " to list its events"}
	switch {
	case d.Endpoint.IsAWS():
		e.Err = fmt.Errorf("it is in AWS, but the endpoint is %s", now.URL)
		e.Next = "unset AWS_ENDPOINT_URL, or leave --endpoint-url out"
	case d.Endpoint.URL != now.URL && !d.Endpoint.Unrecorded:
		e.Err = fmt.Errorf("it is at %s, but the endpoint is %s", d.Endpoint.URL, EndpointText(now))
		e.Next = "give --endpoint-url " + d.Endpoint.URL
	}
	return e
}
