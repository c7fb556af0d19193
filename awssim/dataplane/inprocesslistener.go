package dataplane

import (
	"context"
	"net"
	"sync"
)

// pipeListener is a listener without a socket.
type pipeListener struct {
	waiting chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{waiting: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipeListener) dialPipe(ctx context.Context) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.waiting <- there:
		return here, nil
	case <-p.closed:
		return nil, errRefused
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept, Close and Addr implement [net.Listener].

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipeListener) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
