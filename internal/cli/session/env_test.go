package session

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"
)

func TestASignalThatArrivesTwiceIsOne(t *testing.T) {
	var signals chan<- os.Signal
	e := Env{SignalDebounce: time.Hour, Notify: func(c chan<- os.Signal) func() { signals = c; return func() {} }}
	ctx, twice := e.HandleSignals(context.Background(), func() {})
	for range 5 { // two fit into the channel: three have been taken
		signals <- syscall.SIGTERM
	}
	<-ctx.Done()
	select {
	case <-twice:
		t.Error("it counts as two")
	default:
	}
	e.SignalDebounce = 0
	_, twice = e.HandleSignals(context.Background(), func() {})
	signals <- syscall.SIGTERM
	signals <- syscall.SIGTERM
	<-twice
}
