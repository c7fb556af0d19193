package piped

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// host runs a stage on piped's metadata of the deployment. It implements [stage.Host].
type host struct {
	piped      contract.PluginServiceClient
	plugin     string
	deployment string
	prefix     string // of keys, if the deployment has several deploy targets
	start      time.Time
	tell       func(sluice.Event)
}

// maxPlainBytes is the size above which values are compressed: piped stores all metadata of a
// deployment in one record and sends the whole record at each Put.
const plainUpTo = 2048

// compressedPrefix begins a compressed value.
const squeezed = "gzip,base64:"

func (h *host) Load(ctx context.Context, key string) ([]byte, bool, error) {
	var answer *contract.GetDeploymentPluginMetadataResponse
	err := insist(ctx, func(ctx context.Context) (err error) {
		answer, err = h.piped.GetDeploymentPluginMetadata(ctx, &contract.GetDeploymentPluginMetadataRequest{
			DeploymentId: h.deployment, PluginName: h.plugin, Key: h.prefix + key})
		return err
	})
	if err != nil || !answer.GetFound() {
		return nil, false, h.failed("read", key, err)
	}
	value, err := unsqueeze(answer.GetValue())
	return value, err == nil, h.failed("read", key, err)
}

// Save returns when piped has passed the value to its control plane. From there the value survives
// piped and this process.
func (h *host) Save(ctx context.Context, key string, value []byte) error {
	text, err := squeeze(value)
	if err != nil {
		return h.failed("save", key, err)
	}
	err = insist(context.WithoutCancel(ctx), func(ctx context.Context) error {
		_, err := h.piped.PutDeploymentPluginMetadata(ctx, &contract.PutDeploymentPluginMetadataRequest{
			DeploymentId: h.deployment, PluginName: h.plugin, Key: h.prefix + key, Value: text})
		return err
	})
	return h.failed("save", key, err)
}

func (h *host) Began() time.Time { return h.start }

func (h *host) Emit(ev sluice.Event) { h.tell(ev) }

func (h *host) failed(what, key string, err error) error {
	if err == nil {
		return nil
	}
	return &sluice.Error{Op: what + " the deployment's metadata " + h.prefix + key, Resource: h.deployment, Err: saying(err),
		Next: "see the log of piped; the stage can be run again"}
}

var _ stage.Host = (*host)(nil)

func squeeze(value []byte) (string, error) {
	if len(value) <= plainUpTo && utf8.Valid(value) && !strings.HasPrefix(string(value), squeezed) {
		return string(value), nil
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(value)
	if err := errors.Join(err, w.Close()); err != nil {
		return "", err
	}
	return squeezed + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

func unsqueeze(text string) ([]byte, error) {
	packed, ok := strings.CutPrefix(text, squeezed)
	if !ok {
		return []byte(text), nil
	}
	data, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// pipedRetryFor is how long calls are retried while piped is away, and
// pipedCallTimeout how long one call may take, in the machine's time.
const (
	pipedAway   = 20 * time.Second
	pipedAnswer = 10 * time.Second
	pipedAgain  = 200 * time.Millisecond
)

// callPiped repeats a call to piped while piped cannot be reached. It makes up to three attempts if
// piped cannot reach its control plane. All calls can be repeated.
func insist(ctx context.Context, call func(context.Context) error) error {
	end := time.Now().Add(pipedAway)
	for n := 1; ; n++ {
		tried, cancel := context.WithTimeout(ctx, pipedAnswer)
		err := call(tried)
		cancel()
		again := status.Code(err) == codes.Unavailable || status.Code(err) == codes.DeadlineExceeded || n < 3 && repeatable(err)
		if err == nil || !again || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pipedAgain):
		}
	}
}

func repeatable(err error) bool {
	switch status.Code(err) {
	case codes.Unknown, codes.Internal, codes.Aborted, codes.ResourceExhausted:
		return true
	}
	return false
}

// pipedError replaces an error of piped by its message: gRPC's own text names codes that do not
// help users.
func saying(err error) error {
	if s, ok := status.FromError(err); ok && err != nil {
		return fmt.Errorf("piped: %s", s.Message())
	}
	return err
}
