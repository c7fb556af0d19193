package account

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// maxReply is the maximum length in bytes of a response to SendRead and SendWrite.
const maxReply = 64 << 20

// signedService is a service of which sluice uses so few operations that the SDK's client for it, which adds
// megabytes to a program, is not worth it.
type signedService struct {
	sdkID string // names its endpoint in the configuration of the SDK
	host  string // before the Region in the name of its endpoint
}

// signedServices are the services of [Account.SendRead] and [Account.SendWrite], by their IAM prefix.
var signedServices = map[string]signedService{
	"cloudformation": {"CloudFormation", "cloudformation"},
	"ec2":            {"EC2", "ec2"},
	"ecr":            {"ECR", "api.ecr"},
	"lambda":         {"Lambda", "lambda"},
	"s3":             {"S3", "s3"},
	"secretsmanager": {"Secrets Manager", "secretsmanager"},
	"ssm":            {"SSM", "ssm"},
}

// namedCall is the input of a call of SendRead and SendWrite, as middleware gets it.
type namedCall struct {
	resource string
	request  *http.Request
}

// SendRead signs and sends a request to a service of signedServices, through the gate, and returns the body of the
// response. The URL of the request has path and query only. operation is that of IAM, and must be a read: the gate
// refuses any other. resource is used in errors.
func (a *Account) SendRead(ctx context.Context, service, operation, resource string, r *http.Request) ([]byte, error) {
	of, ok := signedServices[service]
	if !ok {
		return nil, fmt.Errorf("%s:%s: sluice has no client for this service", service, operation)
	}
	b := a.builder
	endpoint, err := b.endpointOf(ctx, of)
	if err != nil {
		return nil, err
	}
	stack := middleware.NewStack(operation, smithyhttp.NewStackRequest)
	for _, option := range b.apiOptions(service, &endpoint, b.shared.APIOptions) {
		if err := option(stack); err != nil {
			return nil, err
		}
	}
	s := signedCall{service: service, builder: b,
		host: cmp.Or(aws.ToString(endpoint), "https://"+of.host+"."+b.shared.Region+"."+domainOf(b.shared.Region))}
	if err := s.addTo(stack); err != nil {
		return nil, err
	}
	ctx = middleware.WithOperationName(middleware.WithServiceID(middleware.ClearStackValues(ctx), of.sdkID), operation)
	handler := middleware.DecorateHandler(smithyhttp.NewClientHandler(b.http), stack)
	out, _, err := handler.Handle(ctx, &namedCall{resource, r})
	if err != nil {
		return nil, err
	}
	body, _ := out.([]byte)
	return body, nil
}

// SendWrite is SendRead for a write that the running action permits.
func (a *Account) SendWrite(ctx context.Context, service, operation, resource string, r *http.Request) ([]byte, error) {
	return a.SendRead(ctx, service, operation, resource, r)
}

// endpointOf returns the custom endpoint of a service, or nil.
func (b *clientBuilder) endpointOf(ctx context.Context, of signedService) (*string, error) {
	for _, source := range b.shared.ConfigSources {
		named, ok := source.(interface {
			GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
		})
		if !ok {
			continue
		}
		if e, found, err := named.GetServiceBaseEndpoint(ctx, of.sdkID); err != nil || found {
			return &e, err
		}
	}
	return b.shared.BaseEndpoint, nil
}

// domainOf returns the domain of AWS's endpoints in a Region.
func domainOf(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

// signedCall builds, signs and reads one call.
type signedCall struct {
	service, host string
	builder       clientBuilder
}

// addTo adds the steps of the call to a stack that has the gate.
func (s signedCall) addTo(stack *middleware.Stack) error {
	return errors.Join(
		stack.Serialize.Add(middleware.SerializeMiddlewareFunc("SluiceRequest", s.buildRequest), middleware.After),
		stack.Finalize.Add(middleware.FinalizeMiddlewareFunc("SluiceSignature", s.sign), middleware.After),
		stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("SluiceReply", readReply), middleware.After))
}

func (s signedCall) buildRequest(ctx context.Context, in middleware.SerializeInput,
	next middleware.SerializeHandler) (out middleware.SerializeOutput, meta middleware.Metadata, err error) {
	to, err := url.Parse(s.host)
	if err != nil {
		return out, meta, err
	}
	given := in.Parameters.(*namedCall).request
	r := in.Request.(*smithyhttp.Request)
	r.Method, r.Header = given.Method, given.Header.Clone()
	r.URL = to.JoinPath()
	r.URL.Path = strings.TrimSuffix(to.Path, "/") + given.URL.Path
	r.URL.RawPath = ""
	if given.URL.RawPath != "" {
		r.URL.RawPath = strings.TrimSuffix(to.EscapedPath(), "/") + given.URL.RawPath
	}
	r.URL.RawQuery = given.URL.RawQuery
	if given.GetBody != nil {
		body, err := given.GetBody()
		if err != nil {
			return out, meta, err
		}
		data, err := io.ReadAll(body)
		if err != nil {
			return out, meta, err
		}
		if r, err = r.SetStream(bytes.NewReader(data)); err != nil {
			return out, meta, err
		}
		in.Request = r
	}
	return next.HandleSerialize(ctx, in)
}

func (s signedCall) sign(ctx context.Context, in middleware.FinalizeInput,
	next middleware.FinalizeHandler) (out middleware.FinalizeOutput, meta middleware.Metadata, err error) {
	r := in.Request.(*smithyhttp.Request)
	sum := sha256.New()
	if body := r.GetStream(); body != nil {
		if _, err := io.Copy(sum, body); err != nil {
			return out, meta, err
		}
		if err := r.RewindStream(); err != nil {
			return out, meta, err
		}
	}
	hash := hex.EncodeToString(sum.Sum(nil))
	if s.service == "s3" {
		r.Header.Set("X-Amz-Content-Sha256", hash)
	}
	who, err := s.builder.shared.Credentials.Retrieve(ctx)
	if err != nil {
		return out, meta, noCredentialsError(err, s.builder.gate.profile)
	}
	err = v4.NewSigner().SignHTTP(ctx, who, r.Request, hash, s.service, s.builder.shared.Region,
		s.builder.gate.clock.Now(), func(o *v4.SignerOptions) { o.DisableURIPathEscaping = s.service == "s3" })
	if err != nil {
		return out, meta, err
	}
	return next.HandleFinalize(ctx, in)
}

// readReply returns the body of a response, or the error that the response has.
func readReply(ctx context.Context, in middleware.DeserializeInput,
	next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
	out, meta, err := next.HandleDeserialize(ctx, in)
	if err != nil {
		return out, meta, err
	}
	reply := out.RawResponse.(*smithyhttp.Response)
	defer reply.Body.Close()
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxReply+1))
	switch {
	case err != nil:
		return out, meta, &smithyhttp.ResponseError{Response: reply, Err: err}
	case len(body) > maxReply:
		return out, meta, &smithyhttp.ResponseError{Response: reply,
			Err: &smithy.GenericAPIError{Code: "ResponseTooLarge", Message: "the response has more than 64 MiB"}}
	case reply.StatusCode >= 300:
		return out, meta, &smithyhttp.ResponseError{Response: reply, Err: replyError(reply, body)}
	}
	out.Result = body
	return out, meta, nil
}

// replyError returns the error in a response: JSON with the code in a header or in the body, or XML.
func replyError(reply *smithyhttp.Response, body []byte) error {
	var told struct{ Code, Message string }
	var inJSON struct {
		Type    string `json:"__type"`
		Code    string `json:"code"`
		Message string `json:"message"` // also "Message": names have no case here
	}
	if json.Unmarshal(body, &inJSON) == nil {
		told.Code, told.Message = cmp.Or(reply.Header.Get("X-Amzn-Errortype"), inJSON.Type, inJSON.Code), inJSON.Message
	} else {
		told.Code, told.Message = errorInXML(body)
	}
	told.Code, _, _ = strings.Cut(told.Code[strings.LastIndexByte(told.Code, '#')+1:], ":")
	region := reply.Header.Get("X-Amz-Bucket-Region")
	switch {
	case region != "" && reply.StatusCode < 400:
		told.Code, told.Message = "PermanentRedirect", "the bucket is in "+region
	case told.Code == "" && reply.StatusCode == http.StatusNotFound && len(body) == 0: // of a HEAD request
		told.Code = "NotFound"
	case told.Code == "" && reply.StatusCode == http.StatusForbidden && len(body) == 0:
		told.Code = "AccessDenied"
	}
	fault := smithy.FaultClient
	if reply.StatusCode >= 500 {
		fault = smithy.FaultServer
	}
	return &smithy.GenericAPIError{Code: told.Code, Message: told.Message, Fault: fault}
}

// errorInXML returns the first code and message of a response.
func errorInXML(body []byte) (code, message string) {
	d := xml.NewDecoder(bytes.NewReader(body))
	for {
		t, err := d.Token()
		if err != nil {
			return code, message
		}
		start, ok := t.(xml.StartElement)
		if !ok || start.Name.Local != "Code" && start.Name.Local != "Message" {
			continue
		}
		var text string
		if d.DecodeElement(&text, &start) != nil {
			return code, message
		}
		if start.Name.Local == "Code" {
			code = cmp.Or(code, text)
		} else {
			message = cmp.Or(message, text)
		}
	}
}
