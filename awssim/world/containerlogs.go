package world

import (
	"fmt"
	"slices"
	"time"
)

const (
	// maxEvents is how many of the newest events a log stream keeps.
	maxEvents = 10_000
	// maxStreams is how many of the newest streams a log group keeps.
	maxStreams = 10_000
	// maxMessageBytes is the most bytes that an event holds; longer lines are cut off. (Amazon
	// CloudWatch Logs, "quotas")
	maxMessageBytes = 1 << 20
)

// LogGroup is a CloudWatch log group.
type LogGroup struct {
	ARN, Name string // the ARN without ":*"
	CreatedAt time.Time
	// RetentionDays is how long events are kept; 0: without limit.
	RetentionDays int
	Streams       Ordered[*LogStream] // by name
	Doc           any
}

// LogStream holds the events of one source. It keeps a bounded number of the newest.
type LogStream struct {
	Group     *LogGroup
	ARN, Name string
	CreatedAt time.Time
	// Events are sorted by their own times, then by arrival.
	Events   []LogEvent
	Ingested time.Time // last arrival, or zero
	arrived  int
}

// LogEvent is one message.
type LogEvent struct {
	Seq      int       // order of arrival in its stream, from 1
	At       time.Time // its own time, in milliseconds
	Ingested time.Time
	Message  string
}

// ContainerLog is a container's awslogs configuration.
type ContainerLog struct {
	Group, Prefix, Region string // Region: empty means the Region of the task
	CreateGroup           bool   // awslogs-create-group
}

// AddLogGroup creates a log group.
func (tx *Tx) AddLogGroup(name string) *LogGroup {
	g := &LogGroup{ARN: tx.ARN("logs", "log-group:"+name), Name: name, CreatedAt: tx.Now()}
	tx.LogGroups.Put(name, g)
	tx.Log("log group", name, "created")
	return g
}

// AddLogStream creates a stream in a group. Beyond maxStreams it deletes the oldest stream.
func (tx *Tx) AddLogStream(g *LogGroup, name string) *LogStream {
	s := &LogStream{Group: g, ARN: g.ARN + ":log-stream:" + name, Name: name, CreatedAt: tx.Now()}
	g.Streams.Put(name, s)
	if g.Streams.Len() > maxStreams {
		for oldest := range g.Streams.All() {
			g.Streams.Delete(oldest)
			break
		}
	}
	return s
}

// WriteEvent adds an event at its own time, which may be earlier than that of existing events.
func (tx *Tx) WriteEvent(s *LogStream, at time.Time, message string) {
	if len(message) > maxMessageBytes {
		message = message[:maxMessageBytes]
	}
	s.arrived++
	s.Ingested = tx.Now()
	e := LogEvent{Seq: s.arrived, At: at.UTC().Truncate(time.Millisecond), Ingested: tx.Now(), Message: message}
	i := len(s.Events)
	for i > 0 && s.Events[i-1].At.After(e.At) {
		i--
	}
	s.Events = slices.Insert(s.Events, i, e)
	if len(s.Events) >= 2*maxEvents {
		s.Events = append(s.Events[:0:0], s.Events[len(s.Events)-maxEvents:]...)
	}
}

// RetainedEvents returns the events that the group's retention keeps.
func (s *LogStream) RetainedEvents(now time.Time) []LogEvent {
	events := s.Events
	if len(events) > maxEvents {
		events = events[len(events)-maxEvents:]
	}
	if d := s.Group.RetentionDays; d > 0 {
		since := now.AddDate(0, 0, -d)
		i, _ := slices.BinarySearchFunc(events, since, func(e LogEvent, t time.Time) int { return e.At.Compare(t) })
		events = events[i:]
	}
	return events
}

// Print writes a line of a container's output to its log stream <prefix>/<container>/<task id>. The
// line is lost if the container has no log, or if its group does not exist and may not be created.
func (tx *Tx) Print(t *Task, container, line string) {
	for _, c := range t.Containers {
		if c.Spec.Name != container {
			continue
		}
		if s := tx.openStream(t, c); s != nil {
			tx.WriteEvent(s, tx.Now(), line)
		}
		return
	}
}

// LacksLogGroup reports whether output would go to a group of this Region that does not exist and
// may not be created.
func (tx *Tx) LacksLogGroup(to *ContainerLog) bool {
	if to == nil || to.Group == "" || to.CreateGroup || to.Region != "" && to.Region != tx.Key.Region {
		return false
	}
	_, ok := tx.LogGroups.Get(to.Group)
	return !ok
}

func (tx *Tx) openStream(t *Task, c *Container) *LogStream {
	to := c.Spec.Log
	if to == nil || to.Group == "" || to.Region != "" && to.Region != tx.Key.Region {
		return nil
	}
	g, ok := tx.LogGroups.Get(to.Group)
	if !ok {
		if !to.CreateGroup {
			return nil
		}
		g = tx.AddLogGroup(to.Group)
	}
	name := c.RuntimeID
	if to.Prefix != "" {
		name = to.Prefix + "/" + c.Spec.Name + "/" + t.ID
	}
	s, ok := g.Streams.Get(name)
	if !ok {
		s = tx.AddLogStream(g, name)
	}
	return s
}

// outputState says how much of its modelled output a container has printed.
type outputState uint8

const (
	outputNone outputState = iota
	outputStarted
	outputEnded
)

// PrintModelled prints the modelled output of a task's containers that is due: when they started,
// and when they ended by themselves. Programs of the host print their own output.
func (tx *Tx) PrintModelled(t *Task) {
	for _, c := range t.Containers {
		if !c.Behaviour.IsModelled() {
			continue
		}
		if c.printed == outputNone && c.Status != "PENDING" && c.RuntimeID != "" {
			c.printed = outputStarted
			tx.printLines(t, c, c.Behaviour.StartOutput())
		}
		if c.printed == outputStarted && c.Status == "STOPPED" {
			c.printed = outputEnded
			if c.ExitCode != nil && t.SignalledAt.IsZero() {
				tx.printLines(t, c, c.Behaviour.ExitOutput(*c.ExitCode))
			}
		}
	}
}

func (tx *Tx) printLines(t *Task, c *Container, lines []string) {
	for _, l := range lines {
		tx.Print(t, c.Spec.Name, l)
	}
}

func (e LogEvent) String() string {
	return fmt.Sprintf("%s %s", e.At.Format(time.RFC3339Nano), e.Message)
}
