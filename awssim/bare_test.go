package awssim_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
)

// bareClient sends requests that are written out already.
type bareClient struct {
	conn net.Conn
	in   *bufio.Reader
}

func newBareClient(t testing.TB, at string) *bareClient {
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	return &bareClient{c, bufio.NewReader(c)}
}

func (c *bareClient) send(request string) (status int) {
	if _, err := io.WriteString(c.conn, request); err != nil {
		return 0
	}
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode
}

func (c *bareClient) close() { _ = c.conn.Close() }
