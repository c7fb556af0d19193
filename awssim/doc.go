// Package awssim is an AWS that lives in memory: the APIs that an ECS deployment
// talks to, over one simulated world in which tasks start, fail their health
// checks, drain and die as on AWS.
//
//	sim, err := awssim.New(awssim.Options{})
//	client := awsecs.NewFromConfig(sim.Config())           // in process: no sockets, no goroutines
//	at, err := sim.Listen(ctx, "127.0.0.1:4566")           // or for any client, with real traffic
//
// In process it is passive: nothing moves but when it is asked or [world.World.Advance]
// is called, and time is the clock that it was given, so that it works in virtual
// time. [Sim.Listen] adds what lives by itself: a pump that follows the clock, and
// the data plane, in which load balancers and tasks really listen on loopback.
//
// It is not an emulator of every AWS service, and no security boundary: whoever
// reaches it may do everything. It therefore listens on loopback only, and refuses
// what a web page in a browser could send.
//
// Start reading at [New], [Sim.Config] and [Sim.Listen]; the APIs are in the
// packages named after their service, what happens by itself is in scheduler and
// balancer, what is not as on AWS is in the FIDELITY files.
package awssim
