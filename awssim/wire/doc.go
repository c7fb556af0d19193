// Package wire implements AWS's protocols: awsJson 1.0 and 1.1, query, ec2Query and Smithy RPC v2
// CBOR. An [API] is a value that lists its operations, methods of the form
//
//	func (s *Service) CreateTaskSet(ctx context.Context, in *ecs.CreateTaskSetInput) (*ecs.CreateTaskSetOutput, error)
//
// Wire takes the operation's name from the input's type. It decodes the input and encodes the
// output by reflection over the SDK's own types, so names and shapes are those of AWS. One [Server]
// is one endpoint for all APIs.
//
// A call enters by one of three ways: [Server.ServeHTTP] (sockets), [Server.RoundTrip] (the same
// bytes without a socket) or [Server.Call] (no bytes: the input is copied to the API). From there
// every call takes the same path: account and Region of its signature, throttling, faults and stale
// reads, the method, and one line in the world's log.
//
// The package does not verify signatures. It does not check required fields; the APIs do, see
// [Missing]. It simulates only the behaviour that all AWS services share.
//
// Start reading at [API], then Server in server.go, then handlecall.go.
package wire
