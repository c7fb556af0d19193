package registry

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
const operationsKept = 2000

// SetFailFunc sets a function that decides, for each operation that ends, whether it fails. The
// function gets the API call that began the operation. nil means that no operation fails by it.
func (l *Law) Fails(f func(tx *world.Tx, call string) bool) { l.fails = f }

// StartOperation starts an operation. do is its effect, at its end; a refusal of do fails the
// operation. With atOnce, or if operations take no time, the operation has ended when
// StartOperation returns.
func (l *Law) Begin(tx *world.Tx, o Operation, atOnce bool, do func(*world.Tx) *world.Refusal) *Operation {
	s, k := stateOf(tx), tx.Knobs().RegistryOperation
	n := tx.Count("registry operation")
	op := &o
	op.ID, op.Status, op.Created, op.Updated = tx.NewUUID("registry operation"), "SUBMITTED", tx.Now(), tx.Now()
	s.operations.Put(op.ID, op)
	s.pending[op.About] = op
	d := tx.Between(k.Min, k.Max, "registry operation", op.ID, n)
	if atOnce || d == 0 {
		l.finish(tx, op, do)
		return op
	}
	tx.After(d/4, func(tx *world.Tx) { op.turn(tx, "PENDING") })
	tx.After(d, func(tx *world.Tx) { l.finish(tx, op, do) })
	return op
}

func (o *Operation) turn(tx *world.Tx, status string) {
	o.Status, o.Updated = status, tx.Now()
}

func (l *Law) finish(tx *world.Tx, o *Operation, do func(*world.Tx) *world.Refusal) {
	s := stateOf(tx)
	delete(s.pending, o.About)
	if l.fails != nil && l.fails(tx, o.Call) {
		o.Code, o.Message = "INTERNAL_FAILURE", "The operation failed."
	}
	if o.Code == "" {
		if ref := do(tx); ref != nil {
			o.Code, o.Message = ref.Code, ref.Message
		}
	}
	o.finished = true
	if o.Code != "" {
		o.turn(tx, "FAIL")
		tx.Log("operation", o.Type, "%s failed: %s", o.About, o.Code)
	} else {
		o.turn(tx, "SUCCESS")
	}
	s.trim()
}

func (s *state) trim() {
	if s.operations.Len() <= operationsKept {
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
func (l *Law) Pending(tx *world.Tx, about string) *Operation { return stateOf(tx).pending[about] }

// Operation returns the operation with that id.
func (l *Law) Operation(tx *world.Tx, id string) (*Operation, bool) {
	return stateOf(tx).operations.Get(id)
}

// Operations returns the operations that are kept, oldest first.
func (l *Law) Operations(tx *world.Tx) []*Operation { return stateOf(tx).operations.Values() }
