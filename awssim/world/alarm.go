package world

import "time"

// AlarmChanged is the change of an alarm that was added, changed, set or deleted. The object is the
// *Alarm.
const AlarmChanged ChangeKind = "alarm"

// States of an alarm.
const (
	AlarmOK           = "OK"
	AlarmRaised       = "ALARM"
	AlarmInsufficient = "INSUFFICIENT_DATA"
)

// Alarm is a CloudWatch alarm. [Tx.SetAlarm] changes its state; package cloudwatch evaluates the
// alarms that its API created.
type Alarm struct {
	ARN, Name          string
	State              string // OK, ALARM, INSUFFICIENT_DATA
	Reason, ReasonData string
	StateUpdated       time.Time // when the state was last set, even to the same
	Transitioned       time.Time // when it last changed
	Period             time.Duration
	EvaluationPeriods  int
	Deleted            bool // deleted
	Doc                any
}

// AlarmNote is one entry of the history of alarms, which outlives them.
type AlarmNote struct {
	At      time.Time
	Alarm   string // name
	Kind    string // ConfigurationUpdate, StateUpdate
	Summary string
	Data    string // JSON
}

// maxAlarmNotes is how many entries the history keeps, over all alarms.
const maxAlarmNotes = 1000

// AddAlarm adds an alarm. Without a state it gets INSUFFICIENT_DATA, as a new alarm on AWS does.
func (tx *Tx) AddAlarm(a *Alarm) {
	if a.ARN == "" {
		a.ARN = tx.ARN("cloudwatch", "alarm:"+a.Name)
	}
	if a.State == "" {
		a.State, a.Reason = AlarmInsufficient, "Unchecked: Initial alarm creation"
	}
	a.StateUpdated, a.Transitioned = tx.Now(), tx.Now()
	tx.Alarms.Put(a.Name, a)
	tx.Log("alarm", a.Name, "added, %s", a.State)
	tx.Changed(AlarmChanged, a)
}

// SetAlarm sets an alarm's state. reason is free text; data is JSON or "".
func (tx *Tx) SetAlarm(a *Alarm, state, reason, data string) {
	old := a.State
	a.State, a.Reason, a.ReasonData, a.StateUpdated = state, reason, data, tx.Now()
	if old != state {
		a.Transitioned = tx.Now()
		tx.NoteAlarm(a.Name, "StateUpdate", "Alarm updated from "+old+" to "+state, data)
		tx.Log("alarm", a.Name, "%s -> %s: %s", old, state, reason)
	}
	tx.Changed(AlarmChanged, a)
}

// DeleteAlarm deletes an alarm. Its history stays.
func (tx *Tx) DeleteAlarm(a *Alarm) {
	a.Deleted = true
	tx.Alarms.Delete(a.Name)
	tx.Log("alarm", a.Name, "deleted")
	tx.Changed(AlarmChanged, a)
}

// NoteAlarm adds an entry to the history of alarms.
func (tx *Tx) NoteAlarm(name, kind, summary, data string) {
	n := append(tx.AlarmNotes, AlarmNote{At: tx.Now(), Alarm: name, Kind: kind, Summary: summary, Data: data})
	if len(n) > 2*maxAlarmNotes {
		n = append(n[:0:0], n[len(n)-maxAlarmNotes:]...)
	}
	tx.AlarmNotes = n
}
