package rehearse

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Parse reads a case; errors begin with the line's number.
func Parse(text string) (Case, error) {
	c := Case{World: PlainWorld()}
	for i, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if err := c.parseLine(word, strings.TrimSpace(rest)); err != nil {
			return c, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return c, nil
}

func (c *Case) parseLine(word, rest string) (err error) {
	switch word {
	case "":
	case "#":
		c.Notes = append(c.Notes, rest)
	case "seed":
		c.Seed, err = strconv.ParseUint(rest, 10, 64)
	case "world":
		return c.parseTraits(rest)
	case "old":
		c.Old = rest
	case "new":
		c.New = rest
	case "breaker":
		c.Breaker = true
	case "suspends":
		c.Suspend = true
	case "job":
		return c.Job.parseWords(rest)
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
	case "stage":
		c.Pipeline = append(c.Pipeline, rest)
	case "fault":
		c.Faults = append(c.Faults, rest)
	case "at", "after-stage", "after-write", "at-event":
		return c.parseIntervention(word, rest)
	case "kill":
		return c.parseKill(rest)
	case "full":
		_, err = fmt.Sscanf(rest, "row=%d for=%d", &c.FullDisk.Row, &c.FullDisk.For)
	default:
		err = fmt.Errorf("%q is not a word of a case", word)
	}
	return err
}

func (c *Case) parseTraits(rest string) error {
	for _, w := range strings.Fields(rest) {
		name, value, _ := strings.Cut(w, "=")
		if err := c.World.setTrait(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (c *Case) parseIntervention(word, rest string) (err error) {
	when, does, _ := strings.Cut(rest, " ")
	h := Intervention{Does: does}
	switch word {
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

func (c *Case) parseKill(rest string) error {
	var when, what string
	var n int
	if _, err := fmt.Sscanf(rest, "%s %s %d", &when, &what, &n); err != nil {
		return err
	}
	c.Kills = append(c.Kills, Kill{Row: what == "row", N: n, After: when == "after"})
	return nil
}
