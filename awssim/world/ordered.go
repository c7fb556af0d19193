package world

// Ordered is a table that is iterated in the order of insertion. Deleting is cheap; a deleted key
// that is put again goes to the end.
type Ordered[V any] struct {
	at      map[string]int
	rows    []row[V]
	deleted int
}

type row[V any] struct {
	key     string
	val     V
	present bool
}

// Get returns the value at key.
func (o *Ordered[V]) Get(key string) (V, bool) {
	if i, ok := o.at[key]; ok {
		return o.rows[i].val, true
	}
	var zero V
	return zero, false
}

// Put sets the value at key. An existing key keeps its position.
func (o *Ordered[V]) Put(key string, v V) {
	if i, ok := o.at[key]; ok {
		o.rows[i].val = v
		return
	}
	if o.at == nil {
		o.at = map[string]int{}
	}
	o.at[key] = len(o.rows)
	o.rows = append(o.rows, row[V]{key, v, true})
}

// Delete removes key if it exists.
func (o *Ordered[V]) Delete(key string) {
	i, ok := o.at[key]
	if !ok {
		return
	}
	delete(o.at, key)
	o.rows[i] = row[V]{}
	if o.deleted++; o.deleted > 32 && o.deleted > len(o.rows)/2 {
		o.compact()
	}
}

func (o *Ordered[V]) compact() {
	rows := make([]row[V], 0, len(o.rows)-o.deleted)
	for _, r := range o.rows {
		if r.present {
			o.at[r.key] = len(rows)
			rows = append(rows, r)
		}
	}
	o.rows, o.deleted = rows, 0
}

// Len returns the number of keys.
func (o *Ordered[V]) Len() int { return len(o.at) }

// Keys returns the keys in the order of insertion.
func (o *Ordered[V]) Keys() []string {
	keys := make([]string, 0, len(o.at))
	for _, r := range o.rows {
		if r.present {
			keys = append(keys, r.key)
		}
	}
	return keys
}

// All iterates over the table in the order of insertion. It iterates over the table as it was at
// the beginning: rows deleted during the iteration are still returned.
func (o *Ordered[V]) All() func(yield func(string, V) bool) {
	rows := o.rows
	return func(yield func(string, V) bool) {
		for _, r := range rows {
			if r.present && !yield(r.key, r.val) {
				return
			}
		}
	}
}

// Values returns the values in the order of insertion.
func (o *Ordered[V]) Values() []V {
	vals := make([]V, 0, len(o.at))
	for _, r := range o.rows {
		if r.present {
			vals = append(vals, r.val)
		}
	}
	return vals
}
