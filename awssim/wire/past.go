package wire

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// maxCreationAge is how long the creation time of an object is kept: longer than the age of any
// stale read.
const maxCreationAge = 10 * time.Minute

// creations holds the creation times of recent objects.
type creations struct {
	at    map[string]time.Time
	order []string
}

// noteCreation records the creation of objects whose reads do not return their creation time.
func noteCreation(tx *world.Tx, c world.Change) {
	switch o := c.Object.(type) {
	case *world.Service:
		regionStateOf(tx).recordCreation(o.ARN, o.CreatedAt, tx.Now())
	case *world.TaskSet:
		regionStateOf(tx).recordCreation(o.ARN, o.CreatedAt, tx.Now())
	case *world.Task:
		regionStateOf(tx).recordCreation(o.ARN, o.CreatedAt, tx.Now())
	case *world.Instance:
		regionStateOf(tx).recordCreation(o.ID, o.At, tx.Now())
	}
}

func (s *regionState) recordCreation(id string, at, now time.Time) {
	b := &s.creations
	if id == "" || b.at[id].Equal(at) || now.Sub(at) > maxCreationAge {
		return
	}
	for len(b.order) > 0 && now.Sub(b.at[b.order[0]]) > maxCreationAge {
		delete(b.at, b.order[0])
		b.order = b.order[1:]
	}
	if b.at == nil {
		b.at = map[string]time.Time{}
	}
	if _, ok := b.at[id]; !ok {
		b.order = append(b.order, id)
	}
	b.at[id] = at
}

// rememberObjects stores each object of an answer, so that another request for the object can be
// answered from the past too.
func (s *regionState) rememberObjects(c *call, a answer) {
	if a.ref != nil {
		return
	}
	out := a.out.Elem()
	for i := range out.NumField() {
		for _, x := range objectsIn(out.Field(i)) {
			if id := identityOf(x); id != "" {
				keepAnswer(&s.objects, objectKey(c.op.name, x, id), answer{at: a.at, out: x})
			}
		}
	}
}

func objectKey(operation string, x reflect.Value, id string) string {
	return operation + " " + x.Type().Name() + " " + id
}

// objectsIn returns the objects in a field of an answer.
func objectsIn(v reflect.Value) (all []reflect.Value) {
	switch {
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			all = append(all, v.Index(i))
		}
	case v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct:
		all = append(all, v.Elem())
	}
	return all
}

// identityOf returns the identity of an object within its Region: its ARN, or the id of a
// deployment or an instance. It returns "" if the object has neither.
func identityOf(v reflect.Value) string {
	name := v.Type().Name()
	fields := []string{name + "Arn", "Arn", "DeploymentId"}
	if strings.Contains(name, "Instance") {
		fields = append(fields, "Id")
	}
	if name == "Failure" {
		return ""
	}
	for _, field := range fields {
		f := v.FieldByName(field)
		if f.IsValid() && f.Type() == reflect.TypeFor[*string]() && !f.IsNil() {
			return f.Elem().String()
		}
	}
	return ""
}

// creationTime returns when an object was created, if the object or the world shows it.
func (s *regionState) creationTime(v reflect.Value) (time.Time, bool) {
	for _, field := range []string{"CreatedAt", "CreateTime", "RegisteredAt"} {
		f := v.FieldByName(field)
		if f.IsValid() && f.Type() == reflect.TypeFor[*time.Time]() && !f.IsNil() {
			return *f.Interface().(*time.Time), true
		}
	}
	at, ok := s.creations.at[identityOf(v)]
	return at, ok
}

// pastReader answers requests with the state of an earlier time.
type pastReader struct {
	*regionState
	operation string
	in        reflect.Value
	absent    func(id string) *world.Refusal // of the operation; nil: it has none
	now       time.Time
	age       time.Duration
	changed   bool     // the answer differs from the new one
	missing   []string // identities of objects that did not exist
}

// answerFromObjects answers a stale read for which no earlier answer is stored.
func (s *Server) answerFromObjects(tx *world.Tx, c *call, p *callDecision, fresh answer) {
	if p.age <= 0 || fresh.ref != nil {
		return
	}
	w := &pastReader{regionState: regionStateOf(tx), operation: c.op.name, in: c.in.Elem(),
		absent: c.api.Missing[c.op.name], now: tx.Now(), age: p.age}
	out := reflect.New(c.op.out)
	out.Elem().Set(fresh.out.Elem())
	for i := range out.Elem().NumField() {
		if out.Elem().Type().Field(i).IsExported() {
			w.rewriteMember(out.Elem().Field(i))
		}
	}
	switch {
	case !w.changed:
		return
	case len(w.missing) > 0 && w.absent != nil:
		p.pastAnswer = &answer{at: w.now.Add(-w.age), ref: w.absent(w.missing[0])}
		return
	}
	w.addFailures(out.Elem())
	p.pastAnswer = &answer{at: w.now.Add(-w.age), out: out}
}

// rewriteMember changes a field of an answer to its earlier value.
func (w *pastReader) rewriteMember(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		w.rewriteList(v)
	case reflect.Map:
		w.rewriteMap(v)
	case reflect.Pointer:
		if len(objectsIn(v)) == 0 || w.absent == nil {
			return
		}
		then, there := w.objectAsOf(v.Elem())
		if !there {
			return // the whole answer is a refusal
		}
		to := reflect.New(v.Type().Elem())
		to.Elem().Set(then)
		v.Set(to)
	}
}

func (w *pastReader) rewriteList(v reflect.Value) {
	list := reflect.MakeSlice(v.Type(), 0, v.Len())
	for i := range v.Len() {
		x := v.Index(i)
		switch x.Kind() {
		case reflect.String:
			if at, ok := w.creations.at[x.String()]; ok && w.isTooNew(at) {
				w.changed = true
				continue
			}
		case reflect.Struct:
			then, there := w.objectAsOf(x)
			if !there {
				continue
			}
			x = then
		}
		list = reflect.Append(list, x)
	}
	if !v.IsNil() {
		v.Set(list)
	}
}

func (w *pastReader) rewriteMap(v reflect.Value) {
	if v.IsNil() || v.Type().Key().Kind() != reflect.String {
		return
	}
	kept := reflect.MakeMap(v.Type())
	for _, key := range v.MapKeys() {
		if at, ok := w.creations.at[key.String()]; ok && w.isTooNew(at) {
			w.changed = true
			continue
		}
		kept.SetMapIndex(key, v.MapIndex(key))
	}
	v.Set(kept)
}

func (w *pastReader) isTooNew(at time.Time) bool { return w.now.Sub(at) < w.age }

// objectAsOf returns an object as it was; false if it did not exist.
func (w *pastReader) objectAsOf(x reflect.Value) (reflect.Value, bool) {
	id := identityOf(x)
	if id == "" {
		return x, true
	}
	if at, ok := w.creationTime(x); ok && w.isTooNew(at) {
		w.changed, w.missing = true, append(w.missing, id)
		return x, false
	}
	a, ok := recallAnswer(&w.objects, objectKey(w.operation, x, id), w.now, w.age)
	if !ok {
		return w.withoutYounger(x), true
	}
	w.changed = true
	then := reflect.New(x.Type()).Elem()
	then.Set(a.out)
	// The stored answer may lack tags that this request includes.
	if tags := then.FieldByName("Tags"); tags.IsValid() {
		tags.Set(x.FieldByName("Tags"))
	}
	return then, true
}

// withoutYounger returns an object that no earlier answer contains: in its present state, without
// the task sets that are younger.
func (w *pastReader) withoutYounger(x reflect.Value) reflect.Value {
	sets := x.FieldByName("TaskSets")
	if !sets.IsValid() || sets.Kind() != reflect.Slice {
		return x
	}
	then := reflect.New(x.Type()).Elem()
	then.Set(x)
	missing := w.missing
	w.rewriteList(then.FieldByName("TaskSets"))
	w.missing = missing
	return then
}

// addFailures adds the requested objects that did not exist to the failures of an answer that has
// such a list.
func (w *pastReader) addFailures(out reflect.Value) {
	list := out.FieldByName("Failures")
	if !list.IsValid() || list.Kind() != reflect.Slice {
		return
	}
	all := reflect.AppendSlice(reflect.MakeSlice(list.Type(), 0, 0), list)
	for _, id := range w.missing {
		if !w.isAskedFor(id) {
			continue
		}
		f := reflect.New(list.Type().Elem()).Elem()
		arn, reason := id, "MISSING"
		f.FieldByName("Arn").Set(reflect.ValueOf(&arn))
		f.FieldByName("Reason").Set(reflect.ValueOf(&reason))
		all = reflect.Append(all, f)
	}
	list.Set(all)
}

// isAskedFor reports whether a list of the request has an object's ARN or its name.
func (w *pastReader) isAskedFor(id string) bool {
	for i := range w.in.NumField() {
		names, ok := w.in.Field(i).Interface().([]string)
		if ok && slices.ContainsFunc(names, func(n string) bool { return n == id || strings.HasSuffix(id, "/"+n) }) {
			return true
		}
	}
	return false
}
