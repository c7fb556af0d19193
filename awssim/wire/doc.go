// Package wire speaks AWS's protocols for rooms: awsJson 1.0 and 1.1, query,
// ec2Query and Smithy RPC v2 CBOR. A [Room] is a value with methods
//
//	func (s *Service) CreateTaskSet(ctx context.Context, in *ecs.CreateTaskSetInput) (*ecs.CreateTaskSetOutput, error)
//
// that lists them; wire takes the operation's name from the input's type, decodes
// the input and encodes the output by reflection over the SDK's own types, so
// that names and shapes are AWS's by construction. One [Server] is one endpoint for all rooms.
//
// Three ways in, one way through: [Server.ServeHTTP] (sockets),
// [Server.RoundTrip] (the same bytes without a socket) and [Server.Call] (no
// bytes at all: the input is copied to the room). Each call passes the account
// and Region of its signature, throttling, faults and stale reads, the method,
// and one line in the world's log.
//
// It verifies no signatures, checks no required members (rooms do, see
// [Missing]) and knows no AWS behaviour beyond what every service shares.
//
// Start reading at [Room], then Server in server.go, then pass.go.
package wire
