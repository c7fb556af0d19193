package show

import (
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/sluice-ecs/sluice"
)

// WriteJSON writes v as one line of JSON. It is like encoding/json, but writes durations as [sluice.Duration] and does not
// escape characters for HTML. More options may ask for several lines.
func WriteJSON(w io.Writer, v any, more ...json.Options) error {
	durations := json.MarshalFunc(func(d time.Duration) ([]byte, error) { return sluice.Duration(d).MarshalJSON() })
	text, err := json.Marshal(v, append([]json.Options{jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false),
		json.WithMarshalers(durations)}, more...)...)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}
