package memory

import (
	"context"
	"encoding/json"
	"fmt"
)

// Concern is one saved value. Each read returns a copy: a change of it has no effect before it is
// saved.
type Concern[T any] struct {
	memory  *Memory
	key     string
	version int // of the saved form
	// earlier lists the rows of an earlier version of sluice that have the value.
	earlier func(*T) []earlierPart
}

// record is the saved form of a concern.
type record struct {
	Version int `json:"v"`
	// HasEarlier says that the deployment also has rows of an earlier version of sluice. If any
	// record says no, there are none.
	HasEarlier bool            `json:"earlier,omitempty"`
	Value      json.RawMessage `json:"value"`
}

// Find returns the value, and whether it was ever saved.
func (c Concern[T]) Find(ctx context.Context) (v T, ok bool, err error) {
	r, err := c.memory.loadRow(ctx, c.key)
	switch {
	case err != nil:
		return v, false, err
	case r.found:
		v, err = c.decode(r.data)
		return v, err == nil, err
	}
	if earlier, err := c.memory.hasEarlier(ctx); err != nil || !earlier {
		return v, false, err
	}
	if ok, err = readParts(ctx, c.memory, c.earlier(&v)); err != nil || !ok {
		return v, false, err
	}
	data, err := c.encode(v, true)
	if err == nil {
		c.memory.keepEarlier(c.key, data)
	}
	return v, err == nil, err
}

// Load returns the value, or its zero value if it was never saved.
func (c Concern[T]) Load(ctx context.Context) (T, error) {
	v, _, err := c.Find(ctx)
	return v, err
}

// Save saves the value in the place of the one before.
func (c Concern[T]) Save(ctx context.Context, v T) error {
	earlier, err := c.memory.hasEarlier(ctx)
	if err != nil {
		return err
	}
	data, err := c.encode(v, earlier)
	if err != nil {
		return &saveError{fmt.Errorf("encode the value %s: %w", c.key, err)}
	}
	return c.memory.saveRow(ctx, c.key, data)
}

// Update loads the value, changes it and saves it.
func (c Concern[T]) Update(ctx context.Context, change func(*T)) error {
	v, err := c.Load(ctx)
	if err != nil {
		return err
	}
	change(&v)
	return c.Save(ctx, v)
}

func (c Concern[T]) encode(v T, earlier bool) ([]byte, error) {
	value, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(record{Version: c.version, HasEarlier: earlier, Value: value})
}

func (c Concern[T]) decode(data []byte) (v T, err error) {
	var r record
	if err = json.Unmarshal(data, &r); err == nil {
		if r.Version != c.version {
			err = fmt.Errorf("it has version %d, and this version of sluice reads version %d: use the sluice that "+
				"saved it", r.Version, c.version)
		} else {
			err = json.Unmarshal(r.Value, &v)
		}
	}
	if err != nil {
		return v, fmt.Errorf("read the saved value %s: %w", c.key, err)
	}
	c.memory.noteEarlier(r.HasEarlier)
	return v, nil
}

// Text is a saved text without a version.
type Text struct {
	memory *Memory
	key    string
}

// Load returns the text; it is empty if it was never saved.
func (t Text) Load(ctx context.Context) (string, error) {
	r, err := t.memory.loadRow(ctx, t.key)
	return string(r.data), err
}

// Save saves the text in the place of the one before.
func (t Text) Save(ctx context.Context, text string) error {
	return t.memory.saveRow(ctx, t.key, []byte(text))
}
