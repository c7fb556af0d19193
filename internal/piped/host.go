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
	report     func(sluice.Event)
}

// maxPlainBytes is the size above which values are compressed: piped stores all metadata of a
// deployment in one record and sends the whole record at each Put.
const maxPlainBytes = 2048

// compressedPrefix begins a compressed value.
const compressedPrefix = "gzip,base64:"

func (h *host) Load(ctx context.Context, key string) ([]byte, bool, error) {
	var answer *contract.GetDeploymentPluginMetadataResponse
	err := callPiped(ctx, func(ctx context.Context) (err error) {
		answer, err = h.piped.GetDeploymentPluginMetadata(ctx, &contract.GetDeploymentPluginMetadataRequest{
			DeploymentId: h.deployment, PluginName: h.plugin, Key: h.prefix + key})
		return err
	})
	if err != nil || !answer.GetFound() {
		return nil, false, h.metadataError("read", key, err)
	}
	value, err := decompressValue(answer.GetValue())
	return value, err == nil, h.metadataError("read", key, err)
}

// Save returns when piped has passed the value to its control plane. From there the value survives
// piped and this process.
func (h *host) Save(ctx context.Context, key string, value []byte) error {
	text, err := compressValue(value)
	if err != nil {
		return h.metadataError("save", key, err)
	}
	err = callPiped(context.WithoutCancel(ctx), func(ctx context.Context) error {
		_, err := h.piped.PutDeploymentPluginMetadata(ctx, &contract.PutDeploymentPluginMetadataRequest{
			DeploymentId: h.deployment, PluginName: h.plugin, Key: h.prefix + key, Value: text})
		return err
	})
	return h.metadataError("save", key, err)
}

func (h *host) Began() time.Time { return h.start }

func (h *host) Emit(ev sluice.Event) { h.report(ev) }

// ofAllTargets returns the host of values that the deploy targets of the deployment share.
func (h *host) ofAllTargets() *host {
	all := *h
	all.prefix = ""
	return &all
}

func (h *host) metadataError(what, key string, err error) error {
	if err == nil {
		return nil
	}
	return &sluice.Error{Op: what + " the deployment's metadata " + h.prefix + key, Resource: h.deployment,
		Err:  pipedError(err),
		Next: "check the log of piped, then run the stage again"}
}

var _ stage.Host = (*host)(nil)

func compressValue(value []byte) (string, error) {
	if len(value) <= maxPlainBytes && utf8.Valid(value) && !strings.HasPrefix(string(value), compressedPrefix) {
		return string(value), nil
	}
	text, err := compressText(value)
	return compressedPrefix + text, err
}

func decompressValue(text string) ([]byte, error) {
	packed, ok := strings.CutPrefix(text, compressedPrefix)
	if !ok {
		return []byte(text), nil
	}
	return decompressText(packed)
}

// compressText returns data compressed, in base64: metadata are text.
func compressText(data []byte) (string, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	err = errors.Join(err, w.Close())
	return base64.StdEncoding.EncodeToString(b.Bytes()), err
}

func decompressText(text string) ([]byte, error) {
	r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// pipedRetryFor is how long calls are retried while piped is away, and
// pipedCallTimeout how long one call may take, in the machine's time.
const (
	pipedRetryFor    = 20 * time.Second
	pipedCallTimeout = 10 * time.Second
	pipedRetryPause  = 200 * time.Millisecond
)

// callPiped repeats a call to piped while piped cannot be reached. It makes up to three attempts if
// piped cannot reach its control plane. All calls can be repeated.
func callPiped(ctx context.Context, call func(context.Context) error) error {
	end := time.Now().Add(pipedRetryFor)
	for n := 1; ; n++ {
		tried, cancel := context.WithTimeout(ctx, pipedCallTimeout)
		err := call(tried)
		cancel()
		again := status.Code(err) == codes.Unavailable || status.Code(err) == codes.DeadlineExceeded || n < 3 &&
			isRepeatable(err)
		if err == nil || !again || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pipedRetryPause):
		}
	}
}

func isRepeatable(err error) bool {
	switch status.Code(err) {
	case codes.Unknown, codes.Internal, codes.Aborted, codes.ResourceExhausted:
		return true
	}
	return false
}

// pipedError replaces an error of piped by its message: gRPC's own text names codes that do not
// help users.
func pipedError(err error) error {
	if s, ok := status.FromError(err); ok && err != nil {
		return fmt.Errorf("piped: %s", s.Message())
	}
	return err
}
