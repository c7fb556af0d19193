package simtest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// Parse reads a case; errors begin with the line's number.
func Parse(text string) (rehearse.Case, error) {
	c := rehearse.Case{World: PlainWorld()}
	for i, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if err := parseLine(&c, word, strings.TrimSpace(rest)); err != nil {
			return c, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return c, nil
}

func parseLine(c *rehearse.Case, word, rest string) (err error) {
	switch word {
	case "":
	case "#":
		c.Notes = append(c.Notes, rest)
	case "seed":
		c.Seed, err = strconv.ParseUint(rest, 10, 64)
	case "world":
		return parseTraits(c, rest)
	case "old":
		c.Old = rest
	case "new":
		c.New = rest
	case "breaker":
		c.Breaker = true
	case "suspends":
		c.Suspend = true
	case "job":
		return parseJob(&c.Job, rest)
	case "away":
		c.RestartDelay, err = time.ParseDuration(rest)
	case "task-before":
		c.Before = rest
	case "task-after":
		c.After = rest
	case "outside":
		c.OutsidePolicy = rest
	case "codec":
		c.Codec = true
	case "deadline":
		c.Deadline, err = time.ParseDuration(rest)
	case "bake":
		c.Bake, err = time.ParseDuration(rest)
	case "stage":
		c.Pipeline = append(c.Pipeline, rest)
	case "fault":
		c.Faults = append(c.Faults, rest)
	case "provider":
		c.Provider = rest
	case "pipecd":
		c.PipeCD = true
	case "allow-route":
		c.AllowRoute = true
	case "exchanged-groups":
		c.Exchanged = true
	case "at", "after-stage", "after-write", "at-event", string(rehearse.Before), string(rehearse.AfterEnd):
		return parseIntervention(c, word, rest)
	case "kill":
		return parseKill(c, rest)
	case "full":
		_, err = fmt.Sscanf(rest, "row=%d for=%d", &c.FullDisk.Row, &c.FullDisk.For)
	default:
		err = fmt.Errorf("%q is not a word of a case", word)
	}
	return err
}

func parseTraits(c *rehearse.Case, rest string) error {
	for _, w := range strings.Fields(rest) {
		name, value, _ := strings.Cut(w, "=")
		if err := setTrait(&c.World, name, value); err != nil {
			return err
		}
	}
	return nil
}

func parseIntervention(c *rehearse.Case, word, rest string) (err error) {
	when, does, _ := strings.Cut(rest, " ")
	h := rehearse.Intervention{Does: does}
	switch word {
	case string(rehearse.Before), string(rehearse.AfterEnd):
		h.When = rehearse.When(word)
		h.At, err = time.ParseDuration(when)
	case "at":
		h.At, err = time.ParseDuration(when)
	case "at-event":
		h.Event = when
	default:
		of := &h.Stage
		if word == "after-write" {
			of = &h.Write
		}
		n, later, ok := strings.Cut(when, "+")
		if *of, err = strconv.Atoi(n); err == nil && ok {
			h.At, err = time.ParseDuration(later)
		}
	}
	c.Interventions = append(c.Interventions, h)
	return err
}

func parseKill(c *rehearse.Case, rest string) error {
	var when, what string
	var n int
	if _, err := fmt.Sscanf(rest, "%s %s %d", &when, &what, &n); err != nil {
		return err
	}
	c.Kills = append(c.Kills, rehearse.Kill{Row: what == "row", N: n, After: when == "after"})
	return nil
}
