package autoscaler

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Scheduled changes a target's bounds once or repeatedly. A nil bound is kept unchanged.
type Scheduled struct {
	Name, Schedule string
	Min, Max       *int
	Start, End     time.Time // zero: from now, for ever
	CreatedAt      time.Time
	Doc            any

	at    time.Time
	every time.Duration
	next  world.Event
}

// ReadSchedule parses at(yyyy-mm-ddThh:mm:ss), in a zone, and rate(n unit). Both results are zero
// for cron(…), which is stored and never carried out.
func ReadSchedule(text string, zone *time.Location) (at time.Time, every time.Duration, err error) {
	kind, rest, ok := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	if !ok || !strings.HasSuffix(text, ")") {
		return at, 0, fmt.Errorf("schedule %q is none of at(…), rate(…) and cron(…)", text)
	}
	switch kind {
	case "at":
		at, err = time.ParseInLocation("2006-01-02T15:04:05", rest, zone)
		return at, 0, err
	case "rate":
		every, err = parseRate(rest)
		return at, every, err
	case "cron":
		return at, 0, nil
	}
	return at, 0, fmt.Errorf("schedule %q is none of at(…), rate(…) and cron(…)", text)
}

func parseRate(text string) (time.Duration, error) {
	number, unit, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(number)
	units := []struct {
		name string
		d    time.Duration
	}{{"minute", time.Minute}, {"hour", time.Hour}, {"day", 24 * time.Hour}}
	for _, u := range units {
		if strings.TrimSuffix(unit, "s") == u.name && err == nil && n > 0 {
			return time.Duration(n) * u.d, nil
		}
	}
	return 0, fmt.Errorf("rate(%s) is not a number of minutes, hours or days", text)
}

// AddScheduled adds a scheduled action to a target. It replaces an action of the same name.
func (s *Controller) AddScheduled(tx *world.Tx, t *Target, a *Scheduled, at time.Time, every time.Duration) {
	if old, ok := t.Scheduled.Get(a.Name); ok {
		tx.Cancel(old.next)
	}
	a.at, a.every = at, every
	t.Scheduled.Put(a.Name, a)
	switch {
	case !at.IsZero() && at.After(tx.Now()):
		s.scheduleNext(tx, t, a, at)
	case every > 0:
		first := tx.Now()
		if a.Start.After(first) {
			first = a.Start
		}
		s.scheduleNext(tx, t, a, first.Add(every))
	}
}

// RemoveScheduled deletes a scheduled action.
func (s *Controller) RemoveScheduled(tx *world.Tx, t *Target, a *Scheduled) {
	tx.Cancel(a.next)
	t.Scheduled.Delete(a.Name)
}

func (s *Controller) scheduleNext(tx *world.Tx, t *Target, a *Scheduled, at time.Time) {
	if !a.End.IsZero() && at.After(a.End) {
		return
	}
	a.next = tx.At(at, func(tx *world.Tx) {
		s.runScheduled(tx, t, a)
		if a.every > 0 {
			s.scheduleNext(tx, t, a, tx.Now().Add(a.every))
		}
	})
}

// runScheduled sets the bounds, unless scheduled scaling is suspended. A missed run is not repeated
// later.
func (s *Controller) runScheduled(tx *world.Tx, t *Target, a *Scheduled) {
	if t.Suspended.Scheduled {
		return
	}
	lo, hi := t.Min, t.Max
	if a.Min != nil {
		lo = *a.Min
	}
	if a.Max != nil {
		hi = *a.Max
	}
	s.SetBounds(tx, t, lo, max(lo, hi), t.Suspended)
}
