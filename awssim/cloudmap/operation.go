package cloudmap

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Operation is asynchronous work of Cloud Map, done after the API call was answered.
type Operation struct {
	ID       string
	Type     string // REGISTER_INSTANCE, …
	Call     string // API call that began it: RegisterInstance, …
	Status   string // SUBMITTED, PENDING, SUCCESS, FAIL
	About    string // resource that it changes; one operation at a time per resource
	Targets  map[string]string
	Code     string // of a failure
	Message  string
	Created  time.Time
	Updated  time.Time
	Creator  string // CreatorRequestId
	finished bool
}

// maxOperations is the number of operations that are kept.
const maxOperations = 2000

// SetFailFunc sets a function that decides, for each operation that ends, whether it fails. The
// function gets the API call that began the operation. nil means that no operation fails by it.
func (l *Controller) SetFailFunc(f func(tx *world.Tx, call string) bool) { l.failFunc = f }

// StartOperation starts an operation. do is its effect, at its end; a refusal of do fails the
// operation. With atOnce, or if operations take no time, the operation has ended when
// StartOperation returns.
func (l *Controller) StartOperation(tx *world.Tx, o Operation, atOnce bool,
	do func(*world.Tx) *world.Refusal) *Operation {
	s, k := stateOf(tx), tx.Settings().RegistryOperation
	n := tx.NextCount("registry operation")
	op := &o
	op.ID, op.Status, op.Created, op.Updated = tx.NewUUID("registry operation"), "SUBMITTED", tx.Now(), tx.Now()
	s.operations.Put(op.ID, op)
	s.pending[op.About] = op
	d := tx.RandomBetween(k.Min, k.Max, "registry operation", op.ID, n)
	if atOnce || d == 0 {
		l.finishOperation(tx, op, do)
		return op
	}
	tx.After(d/4, func(tx *world.Tx) { op.setStatus(tx, "PENDING") })
	tx.After(d, func(tx *world.Tx) { l.finishOperation(tx, op, do) })
	return op
}

func (o *Operation) setStatus(tx *world.Tx, status string) {
	o.Status, o.Updated = status, tx.Now()
}

func (l *Controller) finishOperation(tx *world.Tx, o *Operation, do func(*world.Tx) *world.Refusal) {
	s := stateOf(tx)
	delete(s.pending, o.About)
	if l.failFunc != nil && l.failFunc(tx, o.Call) {
		o.Code, o.Message = "INTERNAL_FAILURE", "The operation failed."
	}
	if o.Code == "" {
		if ref := do(tx); ref != nil {
			o.Code, o.Message = ref.Code, ref.Message
		}
	}
	o.finished = true
	if o.Code != "" {
		o.setStatus(tx, "FAIL")
		tx.Log("operation", o.Type, "%s failed: %s", o.About, o.Code)
	} else {
		o.setStatus(tx, "SUCCESS")
	}
	s.trimOperations()
}

func (s *state) trimOperations() {
	if s.operations.Len() <= maxOperations {
		return
	}
	for id, o := range s.operations.All() {
		if o.finished {
			s.operations.Delete(id)
			return
		}
	}
}

// PendingOperation returns the operation in progress on a resource, or nil.
func (l *Controller) PendingOperation(tx *world.Tx, about string) *Operation {
	return stateOf(tx).pending[about]
}

// Operation returns the operation with that id.
func (l *Controller) Operation(tx *world.Tx, id string) (*Operation, bool) {
	return stateOf(tx).operations.Get(id)
}

// Operations returns the operations that are kept, oldest first.
func (l *Controller) Operations(tx *world.Tx) []*Operation { return stateOf(tx).operations.Values() }
