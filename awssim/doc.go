// Package awssim is an AWS in memory: the APIs that an ECS deployment calls, on one simulated
// world. Tasks start, fail their health checks, drain and stop as on AWS.
//
//	sim, err := awssim.New(awssim.Options{})
//	client := awsecs.NewFromConfig(sim.Config())           // in process: no sockets, no goroutines
//	at, err := sim.Listen(ctx, "127.0.0.1:4566")           // or for any client, with real traffic
//
// In process the simulator is passive: the world changes only in an API call or in
// [world.World.Advance]. Its time is that of the given clock, so it also works in virtual time.
// [Sim.Listen] adds two parts that run by themselves: a pump that follows the clock, and the data
// plane, in which load balancers and tasks listen on loopback.
//
// The package does not emulate every AWS service, and it is no security boundary: every client that
// can connect may call everything. It therefore listens on loopback only, and rejects requests that
// a web page in a browser could send.
//
// Start reading at [New], [Sim.Config] and [Sim.Listen]. Each API is in the package named after its
// service. The behaviour over time is in scheduler and balancer. The FIDELITY files list the
// differences from AWS.
package awssim
