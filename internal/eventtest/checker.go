package eventtest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/eventschema"
)

// Checker checks lines of events. [NewChecker] creates it, which takes milliseconds.
type Checker struct{ schema *jsonschema.Schema }

// NewChecker returns a checker by [eventschema.Schema].
func NewChecker() (*Checker, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(eventschema.Schema()))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("events.json", doc); err != nil {
		return nil, err
	}
	schema, err := c.Compile("events.json")
	return &Checker{schema}, err
}

// Check returns why a line is no valid line of events.
func (c *Checker) Check(line []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		return err
	}
	return c.schema.Validate(doc)
}

// CheckEvent is [Checker.Check] of an event. The error contains its line.
func (c *Checker) CheckEvent(e sluice.Envelope) error {
	line, err := json.Marshal(e)
	if err == nil {
		err = c.Check(line)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	return nil
}
