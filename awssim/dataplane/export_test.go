package dataplane

// LimitSockets sets how many sockets of tasks are opened unasked, and in all.
func (p *Plane) LimitSockets(eager, most int64) { p.budget.eager, p.budget.limit = eager, most }

// HoldUntilFlush lets no later effect be carried out before a Flush is asked for: a busy
// machine, on which the world is ahead of the data plane.
func (p *Plane) HoldUntilFlush() {
	holding := make(chan struct{})
	p.todo.put(func() {
		close(holding)
		for !p.todo.hasFlush() {
			select {
			case <-p.todo.ready:
			case <-p.ctx.Done():
				return
			}
		}
		select {
		case p.todo.ready <- struct{}{}:
		default:
		}
	})
	<-holding
}

func (q *queue[T]) hasFlush() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, item := range q.items {
		if _, ok := any(item).(func()); ok {
			return true
		}
	}
	return false
}
